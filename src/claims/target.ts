// A VM, or a VMI without one, as the owner that claims are for: its UID, its NICs, and the pods that run it. Pure.
import {
  createdByLabelName,
  definitionKeyOf,
  launcherLabelName,
  launcherValue,
  nicOf,
  type VmiSpec,
} from "../api/kubevirt.ts";
import { readNetworkStatus, statusAnnotation } from "../api/network-status.ts";
import type { Persistence } from "../cni/persistence.ts";
import { type Selection, selectionsOf } from "../cni/selection.ts";
import type { HoldUser } from "../ipam/ledger.ts";
import type { OwnerReference } from "../kube/meta.ts";
import { controllerReference } from "../kube/owner.ts";
import { type Pod, virtualMachineInstances, virtualMachines } from "../ledger/resources.ts";
import type { ClaimsSnapshot, Instance } from "./snapshot.ts";

export interface TargetNic {
  /** The network's name in the VM's spec. */
  readonly nic: string;
  /** namespace/name */
  readonly definition: string;
}

export interface Target {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly kind: "VirtualMachine" | "VirtualMachineInstance";
  readonly reference: OwnerReference;
  /** The VMI that runs, by UID. */
  readonly instance?: string;
  readonly isDeleting: boolean;
  readonly nics: readonly TargetNic[];
  /** Of the VMI, and of the VM without one. */
  readonly spec: VmiSpec;
}

type Seen = Pick<ClaimsSnapshot, "machines" | "instances">;

/** Undefined: there is no such VM, and no such VMI. `primary`: the definition that takes the pod network's place there. */
export function targetOf(
  { machines, instances }: Seen,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  persistence: ReadonlyMap<string, Persistence>,
): Target | undefined {
  const machine = machines.get(`${namespace}/${name}`);
  const instance = instances.get(`${namespace}/${name}`);
  const owner = machine ?? instance;
  if (owner === undefined) return undefined;
  const running = instance !== undefined && isOf(instance, machine?.metadata.uid) ? instance : undefined;
  const spec = machine?.spec?.template?.spec ?? running?.spec ?? {};
  return {
    namespace,
    name,
    uid: owner.metadata.uid ?? "",
    kind: machine === undefined ? "VirtualMachineInstance" : "VirtualMachine",
    reference:
      machine === undefined
        ? controllerReference(virtualMachineInstances, instance!)
        : controllerReference(virtualMachines, machine),
    ...(running?.metadata.uid !== undefined && { instance: running.metadata.uid }),
    isDeleting: owner.metadata.deletionTimestamp !== undefined,
    nics: nicsOf(spec, namespace, persistence),
    spec: running?.spec ?? spec,
  };
}

/** A VMI without a VM is its own. */
function isOf({ metadata }: Instance, machine: string | undefined): boolean {
  return machine === undefined || (metadata.ownerReferences ?? []).some(({ uid }) => uid === machine);
}

function nicsOf(spec: VmiSpec, namespace: string, persistence: ReadonlyMap<string, Persistence>): TargetNic[] {
  const primary = [...persistence].find(([key, each]) => key.startsWith(`${namespace}/`) && each.isPrimary)?.[0];
  return (spec.networks ?? []).flatMap((network): TargetNic[] => {
    const definition = network.pod === undefined ? definitionKeyOf(network, namespace) : primary;
    return definition === undefined || network.multus?.default === true ? [] : [{ nic: network.name, definition }];
  });
}

export function isOver({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

/** The UID of the VMI that a launcher pod runs; undefined: it is no launcher. */
export function instanceOf({ metadata }: Pod): string | undefined {
  if (metadata.labels?.[launcherLabelName] !== launcherValue) return undefined;
  const owner = (metadata.ownerReferences ?? []).find(({ controller }) => controller === true);
  return owner?.uid ?? metadata.labels[createdByLabelName];
}

/** Launcher pods of the target that have not ended. */
export function launchersOf({ pods }: Pick<ClaimsSnapshot, "pods">, { namespace, instance }: Target): Pod[] {
  if (instance === undefined) return [];
  return [...pods.values()].filter(
    (pod) => pod.metadata.namespace === namespace && !isOver(pod) && instanceOf(pod) === instance,
  );
}

/** The interfaces of a launcher pod that are of this NIC: in its selection, or in what the multi-network plugin says of it. */
export function interfacesOf(pod: Pod, nic: string, namespace: string, spec: VmiSpec): string[] {
  const elements = selectionsIn(pod);
  const told = (readNetworkStatus(statusAnnotation(pod.metadata.annotations)) ?? []).map((each) => each.interface);
  const all = new Set([...elements.map(({ interfaceName }) => interfaceName), ...told.filter((each) => each !== "")]);
  return [...all].filter((each) => nicOf(each, elements, namespace, spec)?.name === nic);
}

/** One that cannot be read selects nothing that could be told. */
function selectionsIn({ metadata }: Pod): Selection[] {
  const { namespace = "", name = "", annotations = {} } = metadata;
  try {
    return selectionsOf({ namespace, name, annotations });
  } catch {
    return [];
  }
}

export function userOf({ metadata, spec }: Pod): HoldUser {
  return { uid: metadata.uid ?? "", name: metadata.name ?? "", node: spec?.nodeName ?? "" };
}

/** Of the pods that a hold lists, those that are there and have not ended. */
export function livingUsers(
  { pods }: Pick<ClaimsSnapshot, "pods">,
  namespace: string,
  users: readonly HoldUser[] = [],
): Pod[] {
  return users.flatMap(({ uid, name }) => {
    const pod = pods.get(`${namespace}/${name}`);
    return pod === undefined || pod.metadata.uid !== uid || isOver(pod) ? [] : [pod];
  });
}
