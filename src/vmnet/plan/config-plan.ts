// What a network config needs: which holds it keeps, which pass to another of its NICs, which addresses are to be taken
// and which released. Pure and level-triggered: whoever carries it out plans again until nothing is left to do, and the
// last plan says the status. Promised: a NIC that has a hold keeps it, whatever became of its pool; nothing is released
// that one of its NICs could use; nothing is taken for a MAC that another network config has in the same network. Each
// NIC has one address of each family that the pools of its network offer: a slot for each (nic-slot.ts).
import type { Domain } from "../../ipam/ledger.ts";
import { ask, askOther, type Reply, type Want } from "./asking.ts";
import { assign, type PassStep } from "./assignment.ts";
import type { NicHold, NicOwner } from "./nic-hold.ts";
import * as slots from "./nic-slot.ts";

export interface TakeStep {
  /** Of its slot: where a refusal is noted. */
  readonly slot: string;
  readonly family: slots.Family;
  readonly owner: NicOwner;
  readonly domain: Domain;
  readonly want: Want;
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
  readonly ipv6Address?: string;
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

export function planConfig(facts: slots.ConfigFacts): ConfigPlan {
  if (facts.isPaused) return planPaused(facts);
  const { nics } = facts;
  const given = assign(facts);
  const takes: TakeStep[] = [];
  let isWaiting = false;
  const views = nics.map((nic, index): NicView => {
    if (nic.fault !== undefined) return badView(nic);
    const filled = slots.families.map((family): Filled => {
      const slot = { nic, index, family };
      const held = given.holds.get(slots.slotKey(slot));
      const reply = held === undefined ? ask(facts, slot) : askOther(facts, slot, held);
      if (reply.kind === "take") takes.push(stepOf(facts, slot, reply.want));
      isWaiting ||= reply.kind === "wait";
      return { family, held, reply };
    });
    return viewOf(nic, filled);
  });
  // An entry that cannot be read may be the one that a hold belongs to, unless another entry has its MAC.
  const isReadable = nics.every(({ fault }) => fault === undefined);
  const asked = new Set(nics.flatMap((nic) => (nic.fault === undefined ? [slots.identityOf(nic)] : [])));
  const spare = given.spare.filter((hold) => isReadable || asked.has(slots.identityOfHold(hold)));
  const releases = spare.map((hold) => ({ hold, why: "no NIC of its network config has it any more" }));
  return { passes: given.passes, takes, releases, nics: views, isWaiting };
}

function planPaused(facts: slots.ConfigFacts): ConfigPlan {
  const message = `vmnetcfg ${facts.namespace}/${facts.name} was administratively disabled`;
  const views = facts.nics.map((nic, index): NicView => {
    if (nic.fault !== undefined) return badView(nic);
    const [address, ipv6Address] = slots.families.map((family) =>
      slots.shownAddress(facts, { nic, index, family })?.toString(),
    );
    return {
      ...labelOf(nic),
      state: "Pending",
      message,
      ...(address !== undefined && { address }),
      ...(ipv6Address !== undefined && { ipv6Address }),
    };
  });
  const releases = facts.own.map((hold) => ({ hold, why: "its network config is paused" }));
  return { passes: [], takes: [], releases, nics: views, isWaiting: false };
}

/** One slot, with what it has and what becomes of it. */
interface Filled {
  readonly family: slots.Family;
  readonly held: NicHold | undefined;
  readonly reply: Reply;
}

/** Allocated: every family that is offered is there. A sentence of IPv6 says so, unless it holds for both. */
function viewOf(nic: slots.NicAsk, filled: readonly Filled[]): NicView {
  const [v4, v6] = filled.map(({ held }) => held?.address.toString());
  const [why4, why6] = filled.map(({ reply }) => (reply.kind === "refused" ? reply.message : undefined));
  const shown = {
    ...labelOf(nic),
    ...(v4 !== undefined && { address: v4 }),
    ...(v6 !== undefined && { ipv6Address: v6 }),
  };
  const said = [why4, why6 === undefined || why6 === why4 ? undefined : `IPv6: ${why6}`].filter(Boolean);
  if (said.length > 0) return { ...shown, state: "Pending", message: said.join(" ") };
  const isDone = ({ held, reply }: Filled) => held !== undefined || reply.kind === "none" || reply.kind === "unmanaged";
  if (!filled.every(isDone)) return { ...shown, state: "Pending" };
  return { ...shown, state: filled.some(({ held }) => held !== undefined) ? "Allocated" : "Unmanaged" };
}

const labelOf = ({ network, mac }: slots.NicAsk) => ({ networkName: network.key, macAddress: mac });

function badView({ fault, networkName = "", macAddress = "" }: slots.BadNic): NicView {
  return { networkName, macAddress, state: "Pending", message: fault };
}

function stepOf(facts: slots.ConfigFacts, slot: slots.NicSlot, want: Want): TakeStep {
  const { nic, family } = slot;
  return {
    slot: slots.slotKey(slot),
    family,
    owner: slots.ownerOf(facts, nic),
    domain: nic.network.domain,
    want,
  };
}
