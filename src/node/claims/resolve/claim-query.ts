// Whether an interface may go by a claim, and what is known of it before the API server is asked. Pure.
import { addressesAnnotation, primaryClaimAnnotation } from "../../../api/claims/claim-marks.ts";
import { nicOf, type VirtualMachineInstance } from "../../../api/claims/kubevirt.ts";
import { launchedBy, type Launched } from "../../../api/claims/launcher-pod.ts";
import { readRequested } from "../../../api/claims/requested-addresses.ts";
import type { Persistence } from "../../../cni/config/persistence.ts";
import { CniError, errorCodes } from "../../../cni/error.ts";
import { type Selection, selectionsOf } from "../../../cni/selection.ts";
import type { PodFacts } from "../../request/pods.ts";

export interface ClaimWish {
  readonly pod: PodFacts;
  readonly interfaceName: string;
  readonly reference: string | undefined;
  /** The VMI of a launcher; undefined: it is another pod. */
  readonly launched: Launched | undefined;
  readonly selections: readonly Selection[];
  readonly selection: Selection | undefined;
  readonly persistence: Persistence;
}

/** Undefined: nothing points to a claim. Throws CniError: 7, an unreadable annotation; 101, a claim named twice. */
export function wishOf(pod: PodFacts | undefined, interfaceName: string, persistence: Persistence) {
  if (pod === undefined) return undefined;
  const selections = selectionsOf(pod);
  const selection = selections.find((each) => each.interfaceName === interfaceName);
  const launcher = launchedBy(pod.object.metadata);
  const launched = launcher?.name === "" ? undefined : launcher;
  const primary = persistence.isPrimary ? pod.annotations[primaryClaimAnnotation] : undefined;
  const reference = selection?.claim ?? (primary === "" ? undefined : primary);
  if (reference === undefined && launched === undefined) return undefined;
  const wish: ClaimWish = { pod, interfaceName, reference, launched, selections, selection, persistence };
  if (launched === undefined) assertNamedOnce(wish);
  return wish;
}

/** One claim is one attachment. A launcher's interface finds its NIC otherwise: its references may be wrong. */
function assertNamedOnce({ pod, selections, interfaceName, reference }: ClaimWish): void {
  const first = selections.find(({ claim }) => claim !== undefined && claim === reference);
  if (first === undefined || first.interfaceName === interfaceName) return;
  const interfaces = `its interfaces ${first.interfaceName} and ${interfaceName}`;
  const what = `pod ${pod.namespace}/${pod.name} names the IPAMClaim ${reference} for ${interfaces}, and a claim is for one`;
  throw new CniError(errorCodes.refused, `${what}: make a claim for each, and the pod anew.`);
}

/** The VM's network that the interface belongs to. A primary network takes the place of the pod network. */
export function nicFor(wish: ClaimWish, { spec = {} }: Pick<VirtualMachineInstance, "spec">): string | undefined {
  if (wish.persistence.isPrimary) return spec.networks?.find((each) => each.pod !== undefined)?.name;
  return nicOf(wish.interfaceName, wish.selections, wish.pod.namespace, spec)?.name;
}

/** What network.kubevirt.io/addresses asks for this NIC. Code 7 where it cannot be read. */
export function requestedFor(nic: string, { pod }: Pick<ClaimWish, "pod">): readonly string[] {
  const text = pod.annotations[addressesAnnotation];
  const { addresses, problem } = readRequested(text, nic);
  if (problem === "") return addresses;
  const what = `the annotation ${addressesAnnotation} of pod ${pod.namespace}/${pod.name} is ${JSON.stringify(text)}`;
  const remedy = 'write a list of addresses for each network, like {"blue": ["10.0.0.7"]}, on the VM';
  throw new CniError(errorCodes.badConfiguration, `${what}: ${remedy}.`);
}
