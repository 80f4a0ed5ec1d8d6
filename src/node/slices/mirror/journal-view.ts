// The journal's view of one slice: holds, free and cooling addresses, the piece that a node gives up when asked to
// lend; and how its IPPool shows that: entries, word, and the patch that brings the object there. Pure. Promised of a
// piece: aligned, wholly free, as large as asked for if possible, from the end of the tightest gap: pods get the lowest
// addresses. Of a patch: only the daemon's own keys, where they differ. An unreadable entry stays: it may be anybody's.
import { readAllocationKey } from "../../../api/pools/allocation-key.ts";
import { writeAllocations } from "../../../api/pools/allocations.ts";
import type { PoolAllocation } from "../../../api/pools/ip-pool.ts";
import { parseRange } from "../../../api/pools/range.ts";
import { type NodeWord, nodeWordAnnotation, writeNodeWord } from "../../../api/slices/slice-grant.ts";
import type { Hold } from "../../../ipam/ledger.ts";
import { isEqual } from "../../../kube/conditions.ts";
import { type JournalGrant, usableOf } from "../../../ledger/journal/grant.ts";
import type { Journal } from "../../../ledger/journal/journal.ts";
import { type Address, bitsOf } from "../../../net/address.ts";
import { prefixesOf } from "../../../net/cover.ts";
import type { IntervalSet } from "../../../net/interval-set.ts";
import { comparePrefixes, contains, Prefix } from "../../../net/prefix.ts";

export interface SliceView {
  readonly holds: readonly Hold[];
  readonly free: IntervalSet;
  /** When its last address has cooled down; undefined: none cools. */
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

/** For any pod, now. `busy`: held, or cooling down. A grant that hands nothing out has nothing free. */
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

/** JSON has no larger whole numbers; a slice of IPv6 has more addresses. */
const most = BigInt(Number.MAX_SAFE_INTEGER);

export interface WordFacts {
  /** The journal's id. */
  readonly journal: string;
  readonly grant: JournalGrant;
  readonly used: number;
  readonly free: IntervalSet;
  readonly short: number;
}

export function wordOf({ journal, grant, used, free, short }: WordFacts): NodeWord {
  const { generation, serial, sealed, moved, gives } = grant;
  const size = free.size;
  return {
    journal,
    generation,
    serial,
    sealed,
    moved: moved.map(String),
    ...(gives && { gives: { ask: gives.ask, block: String(gives.block) } }),
    used,
    free: Number(size < most ? size : most),
    short,
  };
}

/** The grant of an address: the narrowest, since a piece may have come back to its lender; a sealed one comes last. */
export function grantAround(grants: Iterable<JournalGrant>, hold: Pick<Hold, "domain" | "address">) {
  let found: JournalGrant | undefined;
  for (const grant of grants) {
    if (grant.domain !== hold.domain || !contains(grant.slice, hold.address)) continue;
    if (found === undefined || (found.sealed && !grant.sealed)) found = grant;
    else if (found.sealed === grant.sealed && grant.slice.length > found.slice.length) found = grant;
  }
  return found;
}

type Entries = Readonly<Record<string, PoolAllocation>>;

/** The parts of the object that are compared. */
export interface Shown {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
  readonly spec: { readonly range: string; readonly allocations: Entries };
}

/** A merge patch; undefined: the object says it already. */
export function showing(present: Shown, holds: Iterable<Hold>, word: NodeWord): object | undefined {
  const { range } = present.spec;
  const wanted = writeAllocations(range, holds);
  const allocations = entryChanges(range, present.spec.allocations, wanted);
  const text = writeNodeWord(word);
  const isSaid = present.metadata.annotations?.[nodeWordAnnotation] === text;
  if (isSaid && Object.keys(allocations).length === 0) return undefined;
  return {
    ...(!isSaid && { metadata: { annotations: { [nodeWordAnnotation]: text } } }),
    ...(Object.keys(allocations).length > 0 && { spec: { allocations } }),
  };
}

/** RFC 7386 merges: a field or an entry that is to go must be named as null. */
function entryChanges(range: string, present: Entries, wanted: Entries) {
  const cidr = parseRange(range);
  const changes: Record<string, Record<string, unknown> | null> = {};
  for (const [key, entry] of Object.entries(wanted)) {
    const old = present[key];
    if (isEqual(old, entry)) continue;
    const gone = Object.keys(old ?? {}).filter((field) => !(field in entry));
    changes[key] = { ...entry, ...Object.fromEntries(gone.map((field) => [field, null])) };
  }
  for (const key of Object.keys(present)) {
    if (!(key in wanted) && typeof readAllocationKey(cidr, key) !== "string") changes[key] = null;
  }
  return changes;
}
