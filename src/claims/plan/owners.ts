// Who of a family can own claims (lives, each with its own UID), and each one's NICs and networks. Names come back,
// UIDs do not. Pure. Usually there is one: the VM with its VMI, or a VMI without a VM. Two where a name was used again:
// a VM, and the VMI that an earlier one left. The VM's template and the VMI are joined: an interface that left only one
// of them is still there, and one that is new in the template is wanted before the VMI has it. "absent" is not there.
import { takesPart } from "../../api/claims/claim-choice.ts";
import * as kubevirt from "../../api/claims/kubevirt.ts";
import type { Persistence } from "../../cni/config/persistence.ts";
import type { FamilyFacts } from "./facts.ts";

export interface Life {
  readonly uid: string;
  readonly kind: "VirtualMachine" | "VirtualMachineInstance";
  /** "gone": the VM is not there, and a VMI still says that it is its. */
  readonly phase: "alive" | "deleting" | "gone";
  readonly vm?: kubevirt.VirtualMachine;
  readonly vmi?: kubevirt.VirtualMachineInstance;
}

export function livesOf({ vm, vmi }: Pick<FamilyFacts, "vm" | "vmi">): readonly Life[] {
  const machine = uidOf(vm) === undefined ? undefined : vm;
  const instance = uidOf(vmi) === undefined ? undefined : vmi;
  if (machine === undefined) return instance === undefined ? [] : [lifeOfInstance(instance)];
  const life: Life = { uid: uidOf(machine)!, kind: "VirtualMachine", phase: phaseOf(machine), vm: machine };
  if (instance === undefined) return [life];
  const controller = controllerOf(instance);
  // A VM deleted with orphans: the reference falls before the VM does, and its claims are still the VMI's.
  const isIts = controller === life.uid || (controller === undefined && life.phase === "deleting");
  return isIts ? [{ ...life, vmi: instance }] : [life, lifeOfInstance(instance)];
}

function lifeOfInstance(vmi: kubevirt.VirtualMachineInstance): Life {
  const controller = controllerOf(vmi);
  if (controller !== undefined) return { uid: controller, kind: "VirtualMachine", phase: "gone", vmi };
  return { uid: uidOf(vmi)!, kind: "VirtualMachineInstance", phase: phaseOf(vmi), vmi };
}

function controllerOf({ metadata }: kubevirt.VirtualMachineInstance): string | undefined {
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

function phaseOf({ metadata }: { readonly metadata: kubevirt.KubevirtMetadata }): "alive" | "deleting" {
  return metadata.deletionTimestamp === undefined ? "alive" : "deleting";
}

function uidOf(object: { readonly metadata: kubevirt.KubevirtMetadata } | undefined): string | undefined {
  const uid = object?.metadata.uid;
  return uid === "" ? undefined : uid;
}

export interface WantedNic {
  /** The network's name in the VM's spec. */
  readonly nic: string;
  /** namespace/name of the definition; undefined for the pod network. */
  readonly definition?: string;
  /** `spec.network` of its claim; undefined where the definition is not known. */
  readonly network: string | undefined;
  /** "no": nothing new, and an address that nothing else keeps may go. "wait": unknown, nothing is made or taken. */
  readonly outcome: "yes" | "no" | "wait";
  /** In a sentence, where the definition asks for what cannot be. */
  readonly problem: string;
}

/** An entry for every NIC, also for one that can have no claim: it does not lose what it has for that. */
export function wantedOf(life: Life, facts: FamilyFacts): readonly WantedNic[] {
  const isIn = takesPart(life.vm, life.vmi, facts.gate.needsLabel);
  return present(life).map((network) => {
    const found = wantedNic(network, facts);
    return { ...found, outcome: outcomeOf(found.outcome, isIn, facts) };
  });
}

function outcomeOf(byDefinition: WantedNic["outcome"], isIn: boolean, { gate }: FamilyFacts): WantedNic["outcome"] {
  if (gate.gate === "unknown") return "wait";
  return gate.gate === "off" || !isIn ? "no" : byDefinition;
}

function wantedNic(network: kubevirt.VmNetwork, facts: FamilyFacts): WantedNic {
  const { name: nic, multus } = network;
  const unknown = { nic, network: undefined, outcome: "wait", problem: "" } as const;
  if (multus === undefined) {
    return facts.primary === undefined ? unknown : { nic, ...judged(facts.primary) };
  }
  if (multus.default === true) return { ...unknown, outcome: "no" };
  const definition = kubevirt.definitionKeyOf(network, facts.namespace)!;
  const found = facts.definitionOf(definition);
  return { definition, ...(typeof found === "string" ? unknown : { nic, ...judged(found) }) };
}

function judged({ network, isAllowed, problem }: Persistence): Pick<WantedNic, "network" | "outcome" | "problem"> {
  return { network: network === "" ? undefined : network, outcome: isAllowed ? "yes" : "no", problem };
}

/** The networks of template and VMI that are not absent there; those that are the same in both once. */
function present({ vm, vmi }: Life): readonly kubevirt.VmNetwork[] {
  const all = [...plugged(vm?.spec?.template?.spec), ...plugged(vmi?.spec)];
  return firstOfEach(all, ({ name, multus }) => `${name} ${multus?.networkName ?? ""}`);
}

export function firstOfEach<T>(all: readonly T[], keyOf: (each: T) => string): readonly T[] {
  const keys = all.map(keyOf);
  return all.filter((_, index) => keys.indexOf(keys[index]!) === index);
}

function plugged(spec: kubevirt.VmiSpec | undefined): readonly kubevirt.VmNetwork[] {
  return networksOf(spec).filter(({ name }) => interfaceOf(spec, name)?.state !== "absent");
}

/** The guest's VMI lists it, or still shows it in its status: KubeVirt takes it out of both when it is detached. */
export function isStillInGuest({ vmi }: Life, nic: string): boolean {
  const isListed = networksOf(vmi?.spec).some(({ name }) => name === nic);
  if (!isListed) return false;
  const isAbsent = interfaceOf(vmi?.spec, nic)?.state === "absent";
  return !isAbsent || (vmi?.status?.interfaces ?? []).some(({ name }) => name === nic);
}

/** Others write these: an entry that is no network with a name is passed over. */
export function networksOf(spec: kubevirt.VmiSpec | undefined): readonly kubevirt.VmNetwork[] {
  const listed: unknown = spec?.networks;
  if (!Array.isArray(listed)) return [];
  return (listed as readonly (Partial<kubevirt.VmNetwork> | null)[]).filter(
    (each): each is kubevirt.VmNetwork =>
      typeof each?.name === "string" &&
      each.name !== "" &&
      (each.multus === undefined || typeof each.multus.networkName === "string"),
  );
}

function interfaceOf(spec: kubevirt.VmiSpec | undefined, nic: string): kubevirt.VmInterface | undefined {
  const listed: unknown = spec?.domain?.devices?.interfaces;
  return Array.isArray(listed)
    ? ((listed as readonly (kubevirt.VmInterface | null)[]).find((each) => each?.name === nic) ?? undefined)
    : undefined;
}
