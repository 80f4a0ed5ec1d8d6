// Which NICs a life has, on which networks, and whether each is to have a claim. Pure.
// The VM's template and the VMI are joined: an interface that left one and not the other is still there, and one that is new in the
// template is wanted before the VMI has it. "absent" is not there.
import { takesPart } from "../../api/claims/claim-choice.ts";
import { definitionKeyOf, type VmInterface, type VmiSpec, type VmNetwork } from "../../api/claims/kubevirt.ts";
import type { Persistence } from "../../cni/config/persistence.ts";
import type { FamilyFacts } from "./facts.ts";
import type { Life } from "./owners.ts";

export interface WantedNic {
  /** The network's name in the VM's spec. */
  readonly nic: string;
  /** namespace/name of the definition; undefined for the pod network. */
  readonly definition?: string;
  /** `spec.network` of its claim; undefined where the definition is not known. */
  readonly network: string | undefined;
  /** "no": nothing new, and an address that nothing else keeps may go. "wait": not known, nothing is made or taken away. */
  readonly verdict: "yes" | "no" | "wait";
  /** In a sentence, where the definition asks for what cannot be. */
  readonly problem: string;
}

/** An entry for every NIC that is there, also where it can have no claim: what it has already is not taken away for that. */
export function wantedOf(life: Life, facts: FamilyFacts): readonly WantedNic[] {
  const isIn = takesPart(life.vm, life.vmi, facts.gate.needsLabel);
  return present(life).map((network) => {
    const found = wantedNic(network, facts);
    return { ...found, verdict: verdictOf(found.verdict, isIn, facts) };
  });
}

function verdictOf(byDefinition: WantedNic["verdict"], isIn: boolean, { gate }: FamilyFacts): WantedNic["verdict"] {
  if (gate.gate === "unknown") return "wait";
  return gate.gate === "off" || !isIn ? "no" : byDefinition;
}

function wantedNic(network: VmNetwork, facts: FamilyFacts): WantedNic {
  const { name: nic, multus } = network;
  const unknown = { nic, network: undefined, verdict: "wait", problem: "" } as const;
  if (multus === undefined) {
    return facts.primary === undefined ? unknown : { nic, ...judged(facts.primary) };
  }
  if (multus.default === true) return { ...unknown, verdict: "no" };
  const definition = definitionKeyOf(network, facts.namespace)!;
  const found = facts.definitionOf(definition);
  return { definition, ...(typeof found === "string" ? unknown : { nic, ...judged(found) }) };
}

function judged({ network, isAllowed, problem }: Persistence): Pick<WantedNic, "network" | "verdict" | "problem"> {
  return { network: network === "" ? undefined : network, verdict: isAllowed ? "yes" : "no", problem };
}

/** The networks of template and VMI that are not absent there; those that are the same in both once. */
function present({ vm, vmi }: Life): readonly VmNetwork[] {
  const all = [...plugged(vm?.spec?.template?.spec), ...plugged(vmi?.spec)];
  return firstOfEach(all, ({ name, multus }) => `${name} ${multus?.networkName ?? ""}`);
}

export function firstOfEach<T>(all: readonly T[], keyOf: (each: T) => string): readonly T[] {
  const keys = all.map(keyOf);
  return all.filter((_, index) => keys.indexOf(keys[index]!) === index);
}

function plugged(spec: VmiSpec | undefined): readonly VmNetwork[] {
  return networksOf(spec).filter(({ name }) => interfaceOf(spec, name)?.state !== "absent");
}

/** The guest's VMI lists it, or still shows it in its status: KubeVirt takes it out of both when it is detached. */
export function isStillInGuest({ vmi }: Life, nic: string): boolean {
  const isListed = networksOf(vmi?.spec).some(({ name }) => name === nic);
  if (!isListed) return false;
  const isAbsent = interfaceOf(vmi?.spec, nic)?.state === "absent";
  return !isAbsent || (vmi?.status?.interfaces ?? []).some(({ name }) => name === nic);
}

/** Others write these: what is no network with a name is passed over. */
export function networksOf(spec: VmiSpec | undefined): readonly VmNetwork[] {
  const listed: unknown = spec?.networks;
  if (!Array.isArray(listed)) return [];
  return (listed as readonly (Partial<VmNetwork> | null)[]).filter(
    (each): each is VmNetwork =>
      typeof each?.name === "string" &&
      each.name !== "" &&
      (each.multus === undefined || typeof each.multus.networkName === "string"),
  );
}

function interfaceOf(spec: VmiSpec | undefined, nic: string): VmInterface | undefined {
  const listed: unknown = spec?.domain?.devices?.interfaces;
  return Array.isArray(listed)
    ? ((listed as readonly (VmInterface | null)[]).find((each) => each?.name === nic) ?? undefined)
    : undefined;
}
