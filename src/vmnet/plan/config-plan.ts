// What a network config needs: which holds it keeps, which pass to another of its NICs, which addresses are to be taken
// and which released. Pure and level-triggered: whoever carries it out plans again until nothing is left to do, and the
// last plan says the status. Promised: a NIC that has a hold keeps it, whatever became of its pool; nothing is released
// that one of its NICs could use; nothing is taken for a MAC that another network config has in the same network.
import type { NicStatus } from "../../api/vmnet/network-config.ts";
import type { Domain } from "../../ipam/ledger.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { type Address, equal, parseAddress } from "../../net/address.ts";
import { attempt } from "../../net/coded-error.ts";
import { NetError } from "../../net/error.ts";
import type { Mac } from "../../net/mac.ts";
import { type PoolPlan, reservationFor } from "../rules/pool-plan.ts";
import type { NicPlan } from "../rules/read-network-config.ts";
import { keptUntilMs } from "./keeping.ts";
import { readMac } from "./machine-nics.ts";
import { byAddress, describeNicOwner, type NetworkFacts, type NicHold, type NicOwner } from "./nic-hold.ts";
import { judgeWanted, reservedFor } from "./wanted.ts";

/** An entry that can be read. Of two with one MAC in one network only the first can. */
interface NicAsk extends NicPlan {
  readonly fault?: undefined;
  /** Why it gets nothing new; what it has it keeps. */
  readonly barred?: string;
}

/** One that cannot: it is shown with the sentence, and stops no other. */
interface BadNic {
  readonly fault: string;
  readonly networkName?: string | undefined;
  readonly macAddress?: string | undefined;
}

export interface ConfigFacts {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly isPaused: boolean;
  /** As in the spec, in its order. */
  readonly nics: readonly (NicAsk | BadNic)[];
  /** What its status shows. */
  readonly shown: readonly DeepReadonly<NicStatus>[];
  /** By namespace/name; every network that a NIC names. */
  readonly networks: ReadonlyMap<string, NetworkFacts>;
  /** Holds of this config; what cools is not among them. */
  readonly own: readonly NicHold[];
  /** Left by a config of the same name that is gone, or recorded by Harvester for one of its MACs; cooling ones too. */
  readonly left: readonly NicHold[];
  /** Who else has the MAC in the network; what cools, and what is `left`, does not count. */
  readonly macHolder: (domain: Domain, mac: Mac) => NicHold | undefined;
  /** What the last try said: index of the NIC -> sentence. */
  readonly refusals?: ReadonlyMap<number, string>;
}

export type Want =
  | {
      readonly kind: "exactly";
      readonly address: Address;
      readonly pool: PoolPlan;
      /** It was its own, and cools. */
      readonly early: boolean;
      /** If it is not to be had any more, another will do. */
      readonly orAny: boolean;
    }
  /** The first pool that has one. */
  | { readonly kind: "any"; readonly pools: readonly PoolPlan[]; readonly preferred?: Address };

export interface TakeStep {
  readonly index: number;
  readonly owner: NicOwner;
  readonly domain: Domain;
  readonly want: Want;
}

export interface PassStep {
  readonly hold: NicHold;
  readonly to: NicOwner;
}

interface ReleaseStep {
  readonly hold: NicHold;
  readonly why: string;
}

export interface NicView {
  readonly networkName: string;
  readonly macAddress: string;
  readonly state: "Allocated" | "Pending" | "Unmanaged";
  readonly address?: string;
  /** Why it is not as it was asked for. */
  readonly message?: string;
}

export interface ConfigPlan {
  readonly passes: readonly PassStep[];
  readonly takes: readonly TakeStep[];
  readonly releases: readonly ReleaseStep[];
  readonly nics: readonly NicView[];
  /** A pool is not ready yet: nothing is known to be wrong, so nothing is said. */
  readonly isWaiting: boolean;
}

export function planConfig(facts: ConfigFacts): ConfigPlan {
  if (facts.isPaused) return planPaused(facts);
  const { nics } = facts;
  const given = assign(facts);
  const takes: TakeStep[] = [];
  let isWaiting = false;
  const views = nics.map((nic, index): NicView => {
    if (nic.fault !== undefined) return badView(nic);
    const held = given.holds.get(index);
    const reply = held === undefined ? ask(facts, nic, index) : askOther(facts, nic, index, held);
    if (reply.kind === "take") takes.push(stepOf(facts, nic, index, reply.want));
    isWaiting ||= reply.kind === "wait";
    return viewOf(nic, held, reply);
  });
  // An entry that cannot be read may be the one that a hold belongs to, unless another entry has its MAC.
  const isReadable = nics.every(({ fault }) => fault === undefined);
  const asked = new Set(nics.flatMap((nic) => (nic.fault === undefined ? [identityOf(nic)] : [])));
  const spare = given.spare.filter((hold) => isReadable || asked.has(identityOfHold(hold)));
  const releases = spare.map((hold) => ({ hold, why: "no NIC of its network config has it any more" }));
  return { passes: given.passes, takes, releases, nics: views, isWaiting };
}

function planPaused(facts: ConfigFacts): ConfigPlan {
  const message = `vmnetcfg ${facts.namespace}/${facts.name} was administratively disabled`;
  const views = facts.nics.map((nic): NicView => {
    if (nic.fault !== undefined) return badView(nic);
    const shown = shownAddress(facts, nic)?.toString();
    return { ...labelOf(nic), state: "Pending", message, ...(shown !== undefined && { address: shown }) };
  });
  const releases = facts.own.map((hold) => ({ hold, why: "its network config is paused" }));
  return { passes: [], takes: [], releases, nics: views, isWaiting: false };
}

interface Assignment {
  /** Index of the NIC -> its hold. */
  readonly holds: ReadonlyMap<number, NicHold>;
  readonly passes: readonly PassStep[];
  /** Of nobody here. */
  readonly spare: readonly NicHold[];
}

/** Which hold is which NIC's: by its MAC; else that of the one MAC it replaces; else what a namesake left. */
function assign(facts: ConfigFacts): Assignment {
  const holds = new Map<number, NicHold>();
  const passes: PassStep[] = [];
  const asks = facts.nics.flatMap((nic, index) => (nic.fault === undefined ? [{ nic, index }] : []));
  const wantedMacs = new Set(asks.map(({ nic }) => identityOf(nic)));
  const spare = new Set(facts.own);
  const open = () => asks.filter(({ index }) => !holds.has(index));
  const pass = (index: number, nic: NicAsk, hold: NicHold) => {
    const to = ownerOf(facts, nic);
    passes.push({ hold, to });
    holds.set(index, { ...hold, owner: to });
  };
  for (const { nic, index } of asks) {
    const hold = bestOf(
      facts,
      nic,
      facts.own.filter((each) => isAt(each, nic) && each.owner.nic === nic.mac),
    );
    if (hold === undefined) continue;
    holds.set(index, hold);
    spare.delete(hold);
  }
  for (const [domain, waiting] of Map.groupBy(open(), ({ nic }) => nic.network.domain)) {
    const unasked = [...spare].filter((each) => each.domain === domain && !wantedMacs.has(identityOfHold(each)));
    const [first] = waiting;
    const [hold] = unasked;
    if (first === undefined || hold === undefined || waiting.length > 1 || unasked.length > 1) continue;
    if (!fits(facts, first.nic, hold) || facts.macHolder(domain, first.nic.mac) !== undefined) continue;
    pass(first.index, first.nic, hold);
    spare.delete(hold);
  }
  const left = new Set(facts.left.filter(({ cooling }) => cooling === undefined).toSorted(byAddress));
  const isFree = ({ network, mac }: NicAsk) => facts.macHolder(network.domain, mac) === undefined;
  // All with its MAC, wherever they are: a MAC has one address in a network. What is too much is released as its own.
  for (const { nic, index } of asks) {
    for (const hold of left) {
      if (!isAt(hold, nic) || hold.owner.nic !== nic.mac || !isFree(nic)) continue;
      left.delete(hold);
      if (holds.has(index)) passes.push({ hold, to: ownerOf(facts, nic) });
      else pass(index, nic, hold);
    }
  }
  // One of another MAC only where it is kept for whoever comes by this name.
  const isKept = (hold: NicHold) => keptUntilMs(hold.note) !== undefined && !wantedMacs.has(identityOfHold(hold));
  for (const { nic, index } of open()) {
    const hold = [...left].find((each) => isAt(each, nic) && isKept(each) && fits(facts, nic, each));
    if (hold === undefined || !isFree(nic)) continue;
    left.delete(hold);
    pass(index, nic, hold);
  }
  return { holds, passes, spare: [...spare] };
}

type Reply =
  | { readonly kind: "settled" }
  | { readonly kind: "take"; readonly want: Want }
  | { readonly kind: "wait" }
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "unmanaged"; readonly message?: string };

/** A NIC without a hold. */
function ask(facts: ConfigFacts, nic: NicAsk, index: number): Reply {
  const network = facts.networks.get(nic.network.key);
  if (network === undefined || network.pools.length + network.faults.length === 0) return unmanaged(nic, network);
  const refusal = nic.barred ?? facts.refusals?.get(index);
  if (refusal !== undefined) return refused(refusal);
  const holder = facts.macHolder(nic.network.domain, nic.mac);
  if (holder !== undefined) {
    const who = `${describeNicOwner(holder.owner)} at ${holder.address}`;
    return refused(
      `the MAC ${nic.mac} is in use in the network ${nic.network.key} by ${who}: give one of the two NICs another MAC.`,
    );
  }
  const reserved = reservedFor(network, nic.mac);
  if (reserved !== undefined && nic.wanted !== undefined && !equal(reserved.address, nic.wanted))
    return refused(
      `ippl ${reserved.pool.key} reserves ${reserved.address} for ${nic.mac}: ask for that, or for none, not for ${nic.wanted}.`,
    );
  if (reserved !== undefined) return exactly(network, reserved.address, reserved.pool, false, false);
  if (nic.wanted !== undefined) return askWanted(facts, nic, network, nic.wanted);
  const back = facts.left.find((each) => each.cooling !== undefined && isAt(each, nic) && each.owner.nic === nic.mac);
  const backPool = back && poolOf(network, back.address);
  if (back !== undefined && backPool !== undefined) return exactly(network, back.address, backPool, true, true);
  return any(network, nic, shownAddress(facts, nic));
}

function askWanted(facts: ConfigFacts, nic: NicAsk, network: NetworkFacts, wanted: Address): Reply {
  const judged = judgeWanted(network, nic.mac, wanted);
  if ("message" in judged) return refused(judged.message);
  const isBack = facts.left.some(
    (each) => each.cooling !== undefined && isAt(each, nic) && equal(each.address, wanted),
  );
  return exactly(network, wanted, judged.pool, isBack, false);
}

/** A NIC that has an address, and may ask for another. */
function askOther(facts: ConfigFacts, nic: NicAsk, index: number, held: NicHold): Reply {
  const { wanted } = nic;
  if (wanted === undefined || equal(wanted, held.address)) return { kind: "settled" };
  const network = facts.networks.get(nic.network.key);
  if (network === undefined || network.pools.length === 0) return { kind: "settled" };
  const refusal = nic.barred ?? facts.refusals?.get(index);
  const reply = refusal === undefined ? askWanted(facts, nic, network, wanted) : refused(refusal);
  return reply.kind === "refused" ? refused(`${reply.message} Until then it keeps ${held.address}.`) : reply;
}

function unmanaged({ network }: NicAsk, facts: NetworkFacts | undefined): Reply {
  if (facts?.isDefined !== false) return { kind: "unmanaged" };
  return {
    kind: "refused",
    message: `there is no NetworkAttachmentDefinition ${network.key}: make it, or correct networkName.`,
  };
}

function exactly(network: NetworkFacts, address: Address, pool: PoolPlan, early: boolean, orAny: boolean): Reply {
  const why = notReady(network, [pool]);
  return why ?? { kind: "take", want: { kind: "exactly", address, pool, early, orAny } };
}

function any(network: NetworkFacts, { network: { key } }: NicAsk, preferred: Address | undefined): Reply {
  const open = network.pools.filter(({ plan, isDeleting, isAdopted }) => !plan.paused && !isDeleting && isAdopted);
  const pools = open.map(({ plan }) => plan);
  if (pools.length > 0) return { kind: "take", want: { kind: "any", pools, ...(preferred && { preferred }) } };
  const why = notReady(
    network,
    network.pools.map(({ plan }) => plan),
  );
  return why ?? refused(network.faults[0] ?? `the network ${key} has no pool that gives addresses.`);
}

function notReady(network: NetworkFacts, pools: readonly PoolPlan[]): Reply | undefined {
  const found = network.pools.filter(({ plan }) => pools.includes(plan));
  const paused = found.find(({ plan }) => plan.paused);
  const leaving = found.find(({ isDeleting }) => isDeleting);
  if (found.some(({ isAdopted, isDeleting, plan }) => !isAdopted && !isDeleting && !plan.paused))
    return { kind: "wait" };
  if (paused !== undefined)
    return refused(`ippl ${paused.plan.key} was administratively disabled: resume it (spec.paused).`);
  if (leaving !== undefined) return refused(`ippl ${leaving.plan.key} is being deleted: make another for its network.`);
  return undefined;
}

function poolOf({ pools }: NetworkFacts, address: Address): PoolPlan | undefined {
  return pools.find(({ plan }) => plan.ipv4.usable.has(address))?.plan;
}

function viewOf(nic: NicAsk, held: NicHold | undefined, reply: Reply): NicView {
  const label = labelOf(nic);
  const address = held && { address: held.address.toString() };
  if (reply.kind === "refused") return { ...label, ...address, state: "Pending", message: reply.message };
  if (held !== undefined) return { ...label, ...address, state: "Allocated" };
  if (reply.kind === "unmanaged") return { ...label, state: "Unmanaged" };
  return { ...label, state: "Pending" };
}

function badView({ fault, networkName = "", macAddress = "" }: BadNic): NicView {
  return { networkName, macAddress, state: "Pending", message: fault };
}

function stepOf(facts: ConfigFacts, nic: NicAsk, index: number, want: Want): TakeStep {
  return { index, owner: ownerOf(facts, nic), domain: nic.network.domain, want };
}

/** Of several holds of one NIC: the one that it asks for, else the one that was shown, else the lowest. */
function bestOf(facts: ConfigFacts, nic: NicAsk, holds: readonly NicHold[]): NicHold | undefined {
  const shown = shownAddress(facts, nic);
  const is = (address: Address | undefined) =>
    holds.find((each) => address !== undefined && equal(each.address, address));
  return is(nic.wanted) ?? is(shown) ?? holds.toSorted(byAddress)[0];
}

function shownAddress({ shown }: ConfigFacts, { network, mac }: NicAsk): Address | undefined {
  const found = shown.find((each) => each.networkName === network.key && readMac(each.macAddress) === mac);
  const text = found?.allocatedIPAddress ?? "";
  return text === "" ? undefined : attempt(NetError, () => parseAddress(text));
}

const isAt = (hold: NicHold, { network }: NicAsk): boolean => hold.domain === network.domain;
const labelOf = ({ network, mac }: NicAsk) => ({ networkName: network.key, macAddress: mac });
const identityOf = ({ network, mac }: NicAsk): string => `${network.domain} ${mac}`;
const identityOfHold = ({ domain, owner }: NicHold): string => `${domain} ${owner.nic}`;
const refused = (message: string): Reply => ({ kind: "refused", message });

/** It is what the NIC asks for, or it asks for none; and no pool keeps it for another, or another for the NIC. */
function fits({ networks }: ConfigFacts, { network, mac, wanted }: NicAsk, { address }: NicHold): boolean {
  if (wanted !== undefined && !equal(wanted, address)) return false;
  return (networks.get(network.key)?.pools ?? []).every(({ plan: { ipv4 } }) => {
    const kept = ipv4.reservations.find((each) => equal(each.address, address));
    const own = reservationFor(ipv4, mac);
    return (kept === undefined || kept.mac === mac) && (own === undefined || equal(own.address, address));
  });
}

function ownerOf({ uid, namespace, name }: ConfigFacts, { mac }: NicAsk): NicOwner {
  return { kind: "nic", uid, namespace, name, nic: mac };
}
