// Who of a family can own claims: lives, each with a UID of its own. Names come back, UIDs do not. Pure.
// Usually there is one: the VM with its VMI, or a VMI without a VM. Two where a name was used again: a VM, and the VMI that an earlier one left.
import type { KubevirtMetadata, VirtualMachine, VirtualMachineInstance } from "../../api/claims/kubevirt.ts";
import type { FamilyFacts } from "./facts.ts";

export interface Life {
  readonly uid: string;
  readonly kind: "VirtualMachine" | "VirtualMachineInstance";
  /** "gone": the VM is not there, and a VMI still says that it is its. */
  readonly phase: "alive" | "deleting" | "gone";
  readonly vm?: VirtualMachine;
  readonly vmi?: VirtualMachineInstance;
}

export function livesOf({ vm, vmi }: Pick<FamilyFacts, "vm" | "vmi">): readonly Life[] {
  const machine = uidOf(vm) === undefined ? undefined : vm;
  const instance = uidOf(vmi) === undefined ? undefined : vmi;
  if (machine === undefined) return instance === undefined ? [] : [lifeOfInstance(instance)];
  const life: Life = { uid: uidOf(machine)!, kind: "VirtualMachine", phase: phaseOf(machine), vm: machine };
  if (instance === undefined) return [life];
  const controller = controllerOf(instance);
  // A VM that is deleted with orphans: the reference falls before the VM does, and the VMI is still what its claims are for.
  const isIts = controller === life.uid || (controller === undefined && life.phase === "deleting");
  return isIts ? [{ ...life, vmi: instance }] : [life, lifeOfInstance(instance)];
}

function lifeOfInstance(vmi: VirtualMachineInstance): Life {
  const controller = controllerOf(vmi);
  if (controller !== undefined) return { uid: controller, kind: "VirtualMachine", phase: "gone", vmi };
  return { uid: uidOf(vmi)!, kind: "VirtualMachineInstance", phase: phaseOf(vmi), vmi };
}

function controllerOf({ metadata }: VirtualMachineInstance): string | undefined {
  return metadata.ownerReferences?.find(({ kind, controller }) => kind === "VirtualMachine" && controller === true)
    ?.uid;
}

const revisionName = /^revision-start-vm-(.+)-\d+$/;

/** The UIDs under which claims of a life's VMI may have been recorded: its own, and that of the VM that started it. */
export function formerUids({ vmi }: Life): readonly string[] {
  const origin = revisionName.exec(vmi?.status?.virtualMachineRevisionName ?? "")?.[1];
  return [uidOf(vmi), origin].filter((uid) => uid !== undefined);
}

const collectorsFinalizer = "foregroundDeletion";

/** A guest may run or start. Not if deletion waits for dependents alone: claim and VMI would wait for each other. */
export function hasInstance({ vmi }: Life): boolean {
  if (vmi === undefined) return false;
  const { deletionTimestamp, finalizers = [] } = vmi.metadata;
  const isOnlyCollected = finalizers.length > 0 && finalizers.every((each) => each === collectorsFinalizer);
  return deletionTimestamp === undefined || !isOnlyCollected;
}

function phaseOf({ metadata }: { readonly metadata: KubevirtMetadata }): "alive" | "deleting" {
  return metadata.deletionTimestamp === undefined ? "alive" : "deleting";
}

function uidOf(object: { readonly metadata: KubevirtMetadata } | undefined): string | undefined {
  const uid = object?.metadata.uid;
  return uid === "" ? undefined : uid;
}
