// What a slot of a NIC asks for that has no hold, or the wrong one: an address of a pool, or a sentence that says why
// it gets none. Pure. A network offers IPv6 where one of its pools does; a NIC that asks for none there has none.
import { type Address, equal } from "../../net/address.ts";
import { familyOf, type PoolPlan } from "../rules/pool-plan.ts";
import { describeNicOwner, type NetworkFacts, type NicHold } from "./nic-hold.ts";
import * as slots from "./nic-slot.ts";
import { judgeWanted, reservedFor } from "./wanted.ts";

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
  /** The first pool that has one; all of them have the family. */
  | { readonly kind: "any"; readonly pools: readonly PoolPlan[]; readonly preferred?: Address };

export type Reply =
  /** It has what it asks for. */
  | { readonly kind: "settled" }
  /** The network has no addresses of this family. */
  | { readonly kind: "none" }
  | { readonly kind: "take"; readonly want: Want }
  | { readonly kind: "wait" }
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "unmanaged" };

/** A slot without a hold. */
export function ask(facts: slots.ConfigFacts, slot: slots.NicSlot): Reply {
  const { nic, family } = slot;
  const network = facts.networks.get(nic.network.key);
  const wanted = slots.wantedOf(slot);
  if (family === 6 && wanted === undefined && !offersIpv6(network)) return { kind: "none" };
  if (network === undefined || network.pools.length + network.faults.length === 0) return unmanaged(nic, network);
  const refusal = nic.barred ?? facts.refusals?.get(slots.slotKey(slot));
  if (refusal !== undefined) return refused(refusal);
  const holder = facts.macHolder(nic.network.domain, nic.mac);
  if (holder !== undefined) {
    const who = `${describeNicOwner(holder.owner)} at ${holder.address}`;
    return refused(
      `the MAC ${nic.mac} is in use in the network ${nic.network.key} by ${who}: give one of the two NICs another MAC.`,
    );
  }
  const reserved = reservedFor(network, nic.mac, family);
  if (reserved !== undefined && wanted !== undefined && !equal(reserved.address, wanted))
    return refused(
      `ippl ${reserved.pool.key} reserves ${reserved.address} for ${nic.mac}: ask for that, or for none, not for ${wanted}.`,
    );
  if (reserved !== undefined) return exactly(network, reserved.address, reserved.pool, false, false);
  if (wanted !== undefined) return askWanted(facts, slot, network, wanted);
  const back = facts.left.find(
    (each) => each.cooling !== undefined && slots.isAt(each, slot) && each.owner.nic === nic.mac,
  );
  const backPool = back && poolOf(network, back.address);
  if (back !== undefined && backPool !== undefined) return exactly(network, back.address, backPool, true, true);
  return any(network, slot, slots.shownAddress(facts, slot));
}

/** A slot that has an address, and may ask for another. */
export function askOther(facts: slots.ConfigFacts, slot: slots.NicSlot, held: NicHold): Reply {
  const { nic } = slot;
  const wanted = slots.wantedOf(slot);
  if (wanted === undefined || equal(wanted, held.address)) return { kind: "settled" };
  const network = facts.networks.get(nic.network.key);
  if (network === undefined || network.pools.length === 0) return { kind: "settled" };
  const refusal = nic.barred ?? facts.refusals?.get(slots.slotKey(slot));
  const reply = refusal === undefined ? askWanted(facts, slot, network, wanted) : refused(refusal);
  return reply.kind === "refused" ? refused(`${reply.message} Until then it keeps ${held.address}.`) : reply;
}

function offersIpv6(network: NetworkFacts | undefined): boolean {
  return network?.pools.some(({ plan }) => plan.ipv6 !== undefined) === true;
}

function askWanted(facts: slots.ConfigFacts, slot: slots.NicSlot, network: NetworkFacts, wanted: Address): Reply {
  const judged = judgeWanted(network, slot.nic.mac, wanted);
  if ("message" in judged) return refused(judged.message);
  const isBack = facts.left.some(
    (each) => each.cooling !== undefined && slots.isAt(each, slot) && equal(each.address, wanted),
  );
  return exactly(network, wanted, judged.pool, isBack, false);
}

function unmanaged({ network }: slots.NicAsk, facts: NetworkFacts | undefined): Reply {
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

function any(network: NetworkFacts, { nic, family }: slots.NicSlot, preferred: Address | undefined): Reply {
  const offering = network.pools.filter(({ plan }) => family === 4 || plan.ipv6 !== undefined);
  const open = offering.filter(({ plan, isDeleting, isAdopted }) => !plan.paused && !isDeleting && isAdopted);
  const pools = open.map(({ plan }) => plan);
  if (pools.length > 0) return { kind: "take", want: { kind: "any", pools, ...(preferred && { preferred }) } };
  const why = notReady(
    network,
    offering.map(({ plan }) => plan),
  );
  return why ?? refused(network.faults[0] ?? `the network ${nic.network.key} has no pool that gives addresses.`);
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
  return pools.find(({ plan }) => familyOf(plan, address)?.usable.has(address) === true)?.plan;
}

const refused = (message: string): Reply => ({ kind: "refused", message });
