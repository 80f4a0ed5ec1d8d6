// Virtual machines whose address moves with them: their launcher pods on the default network. The first pod of a VM
// takes an address of its node; every other one is told the same by the annotation that the reconciler of live
// migration writes. Pure.
import {
  launcherLabelName,
  launcherValue,
  migratableAnnotationName,
  migrationLabelName,
  type VmiSpec,
} from "../../api/claims/kubevirt.ts";
import { launchedBy } from "../../api/claims/launcher-pod.ts";
import { type FoundNetwork, podNetworksAnnotation, readPodNetwork } from "../../cluster/pod-network.ts";
import { hasEnded, type Pod } from "../../cluster/resources.ts";
import type { CniResult } from "../../cni/result.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import type { PodFacts } from "../request/pods.ts";

export interface MovingVm {
  /** Of the VirtualMachineInstance, in the pod's namespace. */
  readonly name: string;
  /** Made for a migration: it has the VM's address, and no other. */
  readonly isTarget: boolean;
  /** The VM's addresses and MAC, as far as the pod says them already. */
  readonly network: FoundNetwork | undefined;
}

/** Undefined: an address of its own, like any pod's. */
export function movingVmOf({ annotations, object }: PodFacts): MovingVm | undefined {
  if (annotations[migratableAnnotationName] === undefined) return undefined;
  const launched = launchedBy(object.metadata);
  if (launched === undefined || launched.name === "") return undefined;
  const isTarget = object.metadata.labels?.[migrationLabelName] !== undefined;
  return { name: launched.name, isTarget, network: readPodNetwork(annotations[podNetworksAnnotation]) };
}

/** The launcher of a migration, whether or not its address moves. */
export function isMigrationTarget({ object }: PodFacts): boolean {
  return launchedBy(object.metadata) !== undefined && object.metadata.labels?.[migrationLabelName] !== undefined;
}

/** The guest is on a bridge with the pod's interface, and asks OVN's DHCP for the address. Unknown counts as yes. */
export function hasBridge(spec: VmiSpec | undefined): boolean {
  const network = spec?.networks?.find(({ pod }) => pod !== undefined)?.name;
  const own = spec?.domain?.devices?.interfaces?.find(({ name }) => name === network);
  return own === undefined || own.bridge !== undefined;
}

export function resultOf({ addresses, gateways }: FoundNetwork, dns: CniResult["dns"]): CniResult {
  const ips = addresses.map((address) => {
    const gateway = gateways.find(({ family }) => family === address.address.family);
    return { address, ...(gateway && { gateway }) };
  });
  return { interfaces: [], ips, routes: [], dns };
}

const keeperKind = "virtualmachineinstance";

/** Who keeps a hold after its pod: the journal has it in the hold's note. */
export function keeperOf({ name }: MovingVm): string {
  return `${keeperKind}/${name}`;
}

export function isKeptByVm(keeper: string | undefined): boolean {
  return keeper?.startsWith(`${keeperKind}/`) === true;
}

export const launcherSelector = `${launcherLabelName}=${launcherValue}`;

/** The addresses that living launcher pods say they have. */
export function addressesInUse(pods: readonly DeepReadonly<Pod>[]): ReadonlySet<string> {
  const living = pods.filter((pod) => !hasEnded(pod));
  const networks = living.map(({ metadata }) => readPodNetwork(metadata.annotations?.[podNetworksAnnotation]));
  return new Set(networks.flatMap((each) => each?.addresses.map(({ address }) => `${address}`) ?? []));
}
