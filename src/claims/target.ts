// A VM, or a VMI without one, as the owner that claims are for: its UID, its NICs, and the pods that run it. Pure.
import { definitionKeyOf, type VmiSpec } from "../api/kubevirt.ts";
import { launchedBy } from "../api/launcher-pod.ts";
import type { Persistence } from "../cni/persistence.ts";
import type { HoldUser } from "../ipam/ledger.ts";
import type { Pod } from "../ledger/resources.ts";
import { isPodOver, launcherPodOf } from "./launchers.ts";
import { type Life, livesOf } from "./plan/lives.ts";
import type { ClaimsSnapshot } from "./snapshot.ts";

interface TargetNic {
  /** The network's name in the VM's spec. */
  readonly nic: string;
  /** namespace/name */
  readonly definition: string;
}

export interface Target extends Life {
  readonly namespace: string;
  readonly name: string;
  readonly nics: readonly TargetNic[];
}

/** Undefined: there is no such VM, and no VMI without one. */
export function targetOf(
  { machines, instances }: Pick<ClaimsSnapshot, "machines" | "instances">,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  persistence: ReadonlyMap<string, Persistence>,
): Target | undefined {
  const vm = machines.get(`${namespace}/${name}`);
  const vmi = instances.get(`${namespace}/${name}`);
  const [life] = livesOf({ ...(vm && { vm }), ...(vmi && { vmi }) });
  if (life === undefined || life.phase === "gone") return undefined;
  const spec = life.vm?.spec?.template?.spec ?? life.vmi?.spec ?? {};
  return { ...life, namespace, name, nics: nicsOf(spec, namespace, persistence) };
}

function nicsOf(spec: VmiSpec, namespace: string, persistence: ReadonlyMap<string, Persistence>): TargetNic[] {
  const primary = [...persistence].find(([key, each]) => key.startsWith(`${namespace}/`) && each.isPrimary)?.[0];
  return (spec.networks ?? []).flatMap((network): TargetNic[] => {
    const definition = network.pod === undefined ? definitionKeyOf(network, namespace) : primary;
    return definition === undefined || network.multus?.default === true ? [] : [{ nic: network.name, definition }];
  });
}

/** Launcher pods of the target that have not ended, and have the NIC. */
export function usersOf({ pods }: Pick<ClaimsSnapshot, "pods">, target: Target, nic: string): HoldUser[] {
  const { namespace, vm, vmi } = target;
  if (vmi === undefined) return [];
  const { uid: instance } = vmi.metadata;
  const spec = vmi.spec ?? vm?.spec?.template?.spec ?? {};
  return [...pods.values()]
    .filter(
      (pod) => pod.metadata.namespace === namespace && !isPodOver(pod) && launchedBy(pod.metadata)?.uid === instance,
    )
    .map((pod) => launcherPodOf(pod, { specs: [spec], nics: [nic] }))
    .filter(({ nics }) => nics.some((each) => each.nic === nic))
    .map(({ uid, name, node }) => ({ uid, name, node }));
}

/** Of the pods that a hold lists, those that are there and have not ended. */
export function livingUsers(
  { pods }: Pick<ClaimsSnapshot, "pods">,
  namespace: string,
  users: readonly HoldUser[] = [],
): Pod[] {
  return users.flatMap(({ uid, name }) => {
    const pod = pods.get(`${namespace}/${name}`);
    return pod === undefined || pod.metadata.uid !== uid || isPodOver(pod) ? [] : [pod];
  });
}
