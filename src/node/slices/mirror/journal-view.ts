// What the journal has of one slice: holds, free and cooling addresses, and the piece that a node gives up when it is asked to lend. Pure.
// Promised of a piece: aligned, wholly free, as large as asked for if possible, from the end of the tightest gap: pods get the lowest addresses.
import type { Hold } from "../../../ipam/ledger.ts";
import { type JournalGrant, usableOf } from "../../../ledger/journal/grant.ts";
import type { Journal } from "../../../ledger/journal/journal.ts";
import { type Address, bitsOf } from "../../../net/address.ts";
import { prefixesOf } from "../../../net/cover.ts";
import type { IntervalSet } from "../../../net/interval-set.ts";
import { comparePrefixes, contains, Prefix } from "../../../net/prefix.ts";
import { grantAround } from "./node-report.ts";

export interface SliceView {
  readonly holds: readonly Hold[];
  readonly free: IntervalSet;
  /** When the last address of it has cooled down; undefined: none cools. */
  readonly coolsUntilMs?: number;
}

export function viewOf(journal: Journal, grant: JournalGrant, nowMs: number): SliceView {
  const { domain, slice } = grant;
  const siblings = journal.grants().filter((each) => each.domain === domain);
  const holds = Array.from(journal.holdsOf(domain)).filter((hold) => grantAround(siblings, hold)?.key === grant.key);
  const cooling = Array.from(journal.coolingOf(domain)).filter(
    ({ address, untilMs }) => untilMs > nowMs && contains(slice, address),
  );
  const busy = [...holds, ...cooling].map(({ address }) => address);
  const coolsUntilMs = Math.max(...cooling.map(({ untilMs }) => untilMs));
  return { holds, free: freeOf(grant, busy), ...(cooling.length > 0 && { coolsUntilMs }) };
}

/** For any pod, now. `busy`: held, or cooling down. A grant that nothing is handed out of has nothing free. */
export function freeOf(grant: JournalGrant, busy: Iterable<Address>): IntervalSet {
  const free = usableOf([grant]);
  for (const address of busy) free.delete({ first: address, last: address });
  return free;
}

/** Undefined: nothing is free. `addresses`: at most so many. */
export function pieceOf(free: IntervalSet, addresses: number): Prefix | undefined {
  const gaps = [...free].flatMap((each) => prefixesOf(each));
  if (addresses < 1) return undefined;
  const wantedBits = Math.floor(Math.log2(addresses));
  const enough = gaps.filter(({ hostBits }) => hostBits >= wantedBits);
  const byTightness = (a: Prefix, b: Prefix) => b.length - a.length || comparePrefixes(b, a);
  const byWidth = (a: Prefix, b: Prefix) => a.length - b.length || comparePrefixes(b, a);
  const [best] = enough.length > 0 ? enough.toSorted(byTightness) : gaps.toSorted(byWidth);
  return best && Prefix.around(best.last, bitsOf(best.family) - Math.min(best.hostBits, wantedBits));
}
