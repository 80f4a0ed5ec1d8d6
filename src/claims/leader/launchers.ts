// A pod as a plan wants it: which NICs of the VM are attached to it. Pure.
import { primaryClaimAnnotation } from "../../api/claims/claim-marks.ts";
import { hashedInterfaceName, type NicElement, nicOf, type VmiSpec } from "../../api/claims/kubevirt.ts";
import { launchedBy } from "../../api/claims/launcher-pod.ts";
import { readNetworkStatus, statusAnnotation } from "../../api/network-status.ts";
import { hasEnded, type Pod } from "../../cluster/resources.ts";
import { CniError } from "../../cni/error.ts";
import { type Selection, selectionsOf } from "../../cni/selection.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import type { LauncherNic, LauncherPod } from "../plan/facts.ts";

/** By what the NIC of an interface is found. */
export interface NicNames {
  /** Of the VMI, then of the VM's template: what one has dropped, the other may still have. */
  readonly specs: readonly VmiSpec[];
  /** Of claims: NICs that no spec has any more and that a pod may still have. */
  readonly nics: readonly string[];
}

const firstInterface = "eth0";

export function launcherPodOf(pod: DeepReadonly<Pod>, names: NicNames): LauncherPod {
  const { namespace = "", name = "", uid = "", annotations = {} } = pod.metadata;
  const { selections, problem } = readSelections({ namespace, name, annotations });
  const launched = launchedBy(pod.metadata);
  const elements = [...selections, ...reported(annotations, selections)];
  const nics = elements
    .filter(({ interfaceName }) => interfaceName !== firstInterface)
    .map((each): LauncherNic => nicFrom(each, nameOf(each.interfaceName, elements, namespace, names)));
  return {
    uid,
    name,
    node: pod.spec?.nodeName ?? "",
    vmiUid: launched?.uid ?? "",
    isOver: hasEnded(pod),
    nics: launched === undefined ? nics : [...nics, firstNic(annotations, selections, names)],
    hasStatus: readNetworkStatus(statusAnnotation(annotations)) !== undefined,
    ...(problem !== undefined && { problem }),
  };
}

type Element = NicElement & { readonly claim?: string };

function nicFrom({ interfaceName, claim, namespace, name }: Element, nic: string | undefined): LauncherNic {
  const definition = namespace === "" || name === "" ? undefined : `${namespace}/${name}`;
  return {
    nic,
    interfaceName,
    ...(definition !== undefined && { definition }),
    ...(claim !== undefined && { claim }),
  };
}

/** The pod network, or the one that takes its place: it is in no element, and every launcher has it. */
function firstNic(
  annotations: Readonly<Record<string, string>>,
  selections: readonly Selection[],
  { specs }: NicNames,
): LauncherNic {
  const networks = specs.flatMap((spec) => spec.networks ?? []);
  const nic = networks.find(({ pod, multus }) => pod !== undefined || multus?.default === true)?.name;
  const selected = selections.find(({ interfaceName }) => interfaceName === firstInterface)?.claim;
  const claim = selected ?? annotations[primaryClaimAnnotation];
  return { nic, interfaceName: firstInterface, ...(claim !== undefined && claim !== "" && { claim }) };
}

function readSelections(pod: Parameters<typeof selectionsOf>[0]): { selections: Selection[]; problem?: string } {
  try {
    return { selections: selectionsOf(pod) };
  } catch (error) {
    if (!(error instanceof CniError)) throw error;
    return { selections: [], problem: error.message };
  }
}

/** Reported and not asked for: being unplugged. A swapped NIC is both: it has its old address until plugged anew. */
function reported(annotations: Readonly<Record<string, string>>, selections: readonly Selection[]): Element[] {
  const keyOf = ({ namespace, name, interfaceName }: Element) => `${interfaceName} ${namespace}/${name}`;
  const asked = new Set(selections.map(keyOf));
  return (readNetworkStatus(statusAnnotation(annotations)) ?? []).flatMap((status) => {
    if (status.isDefault || status.interface === "") return [];
    const slash = status.network.indexOf("/");
    const place = { namespace: status.network.slice(0, Math.max(slash, 0)), name: status.network.slice(slash + 1) };
    const element = { ...place, interfaceName: status.interface };
    // A plugin that names its network otherwise than by its definition says nothing of which it is.
    const isAskedFor = () => selections.some(({ interfaceName }) => interfaceName === status.interface);
    const isOther = place.namespace === "" ? !isAskedFor() : !asked.has(keyOf(element));
    return isOther ? [element] : [];
  });
}

function nameOf(
  interfaceName: string,
  elements: readonly Element[],
  namespace: string,
  { specs, nics }: NicNames,
): string | undefined {
  for (const spec of specs) {
    const network = nicOf(interfaceName, elements, namespace, spec);
    if (network !== undefined) return network.name;
  }
  return nics.find((nic) => hashedInterfaceName(nic) === interfaceName);
}
