// Which hold is which NIC's: by its MAC; else that of the one MAC that it replaces; else what a namesake left. Pure.
// Promised: a NIC whose MAC was changed keeps its addresses of both families, also where only one of them has passed.
import { equal } from "../../net/address.ts";
import type { Address } from "../../net/address.ts";
import { familyOf, reservationFor } from "../rules/pool-plan.ts";
import { keptUntilMs } from "./keeping.ts";
import { byAddress, type NicHold, type NicOwner } from "./nic-hold.ts";
import * as slots from "./nic-slot.ts";

export interface PassStep {
  readonly hold: NicHold;
  readonly to: NicOwner;
}

interface Assignment {
  /** Slot -> its hold. */
  readonly holds: ReadonlyMap<string, NicHold>;
  readonly passes: readonly PassStep[];
  /** Of nobody here. */
  readonly spare: readonly NicHold[];
}

export function assign(facts: slots.ConfigFacts): Assignment {
  const { own, macHolder } = facts;
  const holds = new Map<string, NicHold>();
  const passes: PassStep[] = [];
  /** Slot -> whose it was before it passed. */
  const former = new Map<string, string>();
  const asks = facts.nics.flatMap((nic, index) => (nic.fault === undefined ? [{ nic, index }] : []));
  const all = asks.flatMap((ask) => slots.families.map((family) => ({ ...ask, family })));
  const wantedMacs = new Set(asks.map(({ nic }) => slots.identityOf(nic)));
  const spare = new Set(own);
  const has = (index: number, family: slots.Family) => holds.has(slots.slotKey({ index, family }));
  const pass = (slot: slots.NicSlot, hold: NicHold) => {
    const to = slots.ownerOf(facts, slot.nic);
    passes.push({ hold, to });
    holds.set(slots.slotKey(slot), { ...hold, owner: to });
    former.set(slots.slotKey(slot), hold.owner.nic);
  };
  for (const slot of all) {
    const hold = bestOf(
      facts,
      slot,
      own.filter((each) => slots.isAt(each, slot) && each.owner.nic === slot.nic.mac),
    );
    if (hold === undefined) continue;
    holds.set(slots.slotKey(slot), hold);
    spare.delete(hold);
  }
  for (const [domain, here] of Map.groupBy(asks, ({ nic }) => nic.network.domain)) {
    const unasked = [...spare].filter((each) => each.domain === domain && !wantedMacs.has(slots.identityOfHold(each)));
    if (new Set(unasked.map(({ owner }) => owner.nic)).size !== 1) continue;
    const bare = here.filter(({ index }) => slots.families.every((family) => !has(index, family)));
    for (const family of slots.families) {
      // Where one has nothing at all it is that one; else one of the two may have passed already.
      const waiting = bare.length > 0 ? bare : here.filter(({ index }) => !has(index, family));
      const [first, ...others] = waiting;
      const [hold, ...more] = unasked.filter(({ address }) => address.family === family);
      if (first === undefined || hold === undefined || others.length + more.length > 0) continue;
      const slot = { ...first, family };
      if (!fits(facts, slot, hold) || macHolder(domain, first.nic.mac) !== undefined) continue;
      pass(slot, hold);
      spare.delete(hold);
    }
  }
  const left = new Set(facts.left.filter(({ cooling }) => cooling === undefined).toSorted(byAddress));
  const isFree = ({ network, mac }: slots.NicAsk) => macHolder(network.domain, mac) === undefined;
  // All with its MAC, wherever they are: a MAC has one address of a family. What is too much is released as its own.
  for (const slot of all) {
    for (const hold of left) {
      if (!slots.isAt(hold, slot) || hold.owner.nic !== slot.nic.mac || !isFree(slot.nic)) continue;
      left.delete(hold);
      if (has(slot.index, slot.family)) passes.push({ hold, to: slots.ownerOf(facts, slot.nic) });
      else pass(slot, hold);
    }
  }
  // One of another MAC only where it is kept for whoever comes by this name; both families of one MAC together.
  const isKept = (hold: NicHold) => keptUntilMs(hold.note) !== undefined && !wantedMacs.has(slots.identityOfHold(hold));
  for (const slot of all) {
    if (has(slot.index, slot.family) || !isFree(slot.nic)) continue;
    const fitting = [...left].filter((each) => slots.isAt(each, slot) && isKept(each) && fits(facts, slot, each));
    const before = former.get(slots.slotKey({ ...slot, family: 4 }));
    const hold = fitting.find(({ owner }) => owner.nic === before) ?? fitting[0];
    if (hold === undefined) continue;
    left.delete(hold);
    pass(slot, hold);
  }
  return { holds, passes, spare: [...spare] };
}

/** Of several holds of one slot: the one that it asks for, else the one that was shown, else the lowest. */
function bestOf(facts: slots.ConfigFacts, slot: slots.NicSlot, holds: readonly NicHold[]): NicHold | undefined {
  const is = (address: Address | undefined) =>
    holds.find((each) => address !== undefined && equal(each.address, address));
  return is(slots.wantedOf(slot)) ?? is(slots.shownAddress(facts, slot)) ?? holds.toSorted(byAddress)[0];
}

/** It is what the NIC asks for, or it asks for none; and no pool keeps it for another, or another for the NIC. */
function fits({ networks }: slots.ConfigFacts, slot: slots.NicSlot, { address }: NicHold): boolean {
  const { network, mac } = slot.nic;
  const wanted = slots.wantedOf(slot);
  if (wanted !== undefined && !equal(wanted, address)) return false;
  return (networks.get(network.key)?.pools ?? []).every(({ plan }) => {
    const family = familyOf(plan, address);
    const kept = family?.reservations.find((each) => equal(each.address, address));
    const own = family && reservationFor(family, mac);
    return (kept === undefined || kept.mac === mac) && (own === undefined || equal(own.address, address));
  });
}
