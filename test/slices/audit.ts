// The audit of sliced ranges: no address twice, none lost. Books of the API server and what live sandboxes were told
// in, sentences out; none when all is well. Pure.
//
// `dangers` may be asked at any moment: mirrors lag behind journals, and nothing of it may be seen even then. `remains`
// is for a quiet system: every daemon has caught up, and what is on record is exactly what sandboxes have.
import { blocksOf, floatingNode } from "../../src/api/slices/slice-grant.ts";
import { equal, parseAddress } from "../../src/net/address.ts";
import { difference } from "../../src/net/interval-set.ts";
import { intervalOf } from "../../src/net/interval.ts";
import { contains, containsPrefix, overlaps } from "../../src/net/prefix.ts";
import type { Books, Entry, PoolBook, SharedEntry, SliceBook } from "./books.ts";

/** An address that a live sandbox was told. */
export interface Given {
  readonly node: string;
  /** Of the pool objects. */
  readonly namespace: string;
  /** network_name; empty: none. */
  readonly network: string;
  /** Without the mask. */
  readonly address: string;
  /** `namespace/name interface` of the pod. */
  readonly who: string;
  readonly container: string;
}

interface Recorded extends Entry {
  readonly place: string;
}

export function dangers(books: Books, given: readonly Given[]): string[] {
  return [...twiceGiven(given), ...twiceAssigned(books), ...twiceRecorded(books), ...foreignRecords(books, given)];
}

export function remains(books: Books, given: readonly Given[]): string[] {
  return [
    ...lost(books, given),
    ...leaked(books, given),
    ...strayEntries(books),
    ...unmatched(books),
    ...unfinished(books),
  ];
}

function* twiceGiven(given: readonly Given[]): Iterable<string> {
  const first = new Map<string, Given>();
  for (const each of given) {
    const key = keyOf(each.namespace, each.network, each.address);
    const other = first.get(key);
    if (other === undefined) first.set(key, each);
    else yield `${key} was given twice: to ${other.who} on ${other.node} and to ${each.who} on ${each.node}`;
  }
}

/** Two assignments may overlap only where one is a piece that the other's grant leaves out. */
function* twiceAssigned({ pools, slices }: Books): Iterable<string> {
  for (const pool of pools) {
    for (const [index, a] of pool.assigned.entries()) {
      if (!containsPrefix(pool.range, a.block))
        yield `${labelOf(pool)}: ${a.block} of ${a.node} is outside of ${pool.range}`;
      for (const b of pool.assigned.slice(index + 1)) {
        if (overlaps(a.block, b.block) && !isPiece(slices, pool, a, b) && !isPiece(slices, pool, b, a)) {
          yield `${labelOf(pool)}: ${a.block} of ${a.node} and ${b.block} of ${b.node} overlap`;
        }
      }
    }
  }
}

type Assigned = PoolBook["assigned"][number];

function isPiece(slices: readonly SliceBook[], pool: PoolBook, whole: Assigned, piece: Assigned): boolean {
  if (!containsPrefix(whole.block, piece.block)) return false;
  // A block may be lent as a whole: then two nodes have one of the same name.
  const object = slices.find(
    (each) => isOf(each, pool) && each.node === whole.node && String(each.slice) === String(whole.block),
  );
  // Two pieces that came back may be given as one.
  const without = blocksOf(object?.grant?.without ?? []).map(intervalOf);
  return difference([intervalOf(piece.block)], without).count === 0;
}

/** An address in two mirrors, or in a mirror and in the reservation ledger under another owner. */
function* twiceRecorded(books: Books): Iterable<string> {
  const first = new Map<string, Recorded>();
  for (const slice of books.slices) {
    for (const entry of slice.entries) {
      const key = keyOf(slice.namespace, slice.network, String(entry.address));
      const other = first.get(key);
      if (other !== undefined)
        yield `${key} is on record twice: ${other.who} in ${other.place}, ${entry.who} in ${slice.name}`;
      first.set(key, { ...entry, place: slice.name });
    }
  }
  for (const entry of books.shared) {
    const other = first.get(keyOf(entry.namespace, networkOf(entry), String(entry.address)));
    if (other === undefined || other.who === entry.who) continue;
    yield `${entry.address} is on record twice: ${other.who} in ${other.place}, ${entry.who} as a reservation`;
  }
}

/** What one sandbox was told and another has on record, anywhere. */
function* foreignRecords(books: Books, given: readonly Given[]): Iterable<string> {
  const recorded = recordsOf(books);
  for (const each of given) {
    for (const record of recorded.get(keyOf(each.namespace, each.network, each.address)) ?? []) {
      if (record.who === each.who) continue;
      // The record of whoever had it before may not be gone from a mirror yet, but only from this node's own.
      const own = books.slices.some(({ name, node }) => name === record.place && node === each.node);
      if (!own)
        yield `${each.address} was given to ${each.who} on ${each.node}; ${record.place} has it as ${record.who}'s`;
    }
  }
}

function* lost(books: Books, given: readonly Given[]): Iterable<string> {
  const recorded = recordsOf(books);
  for (const each of given) {
    const found = recorded.get(keyOf(each.namespace, each.network, each.address)) ?? [];
    if (!found.some((record) => record.who === each.who && record.container === each.container)) {
      const instead = found.map(({ who, container, place }) => `${who} ${container} in ${place}`).join(", ");
      yield `${each.address} of ${each.who} (${each.container}) on ${each.node} is lost: on record is ${instead || "nobody"}`;
    }
  }
}

function* leaked(books: Books, given: readonly Given[]): Iterable<string> {
  const alive = new Set(given.map((each) => `${keyOf(each.namespace, each.network, each.address)} ${each.who}`));
  for (const [key, records] of recordsOf(books)) {
    for (const { who, place } of records) {
      if (!alive.has(`${key} ${who}`)) yield `${key} is leaked: ${place} has it as ${who}'s, which does not have it`;
    }
  }
}

function* strayEntries({ slices }: Books): Iterable<string> {
  for (const { name, slice, grant, entries } of slices) {
    const without = blocksOf(grant?.without ?? []);
    for (const { address, who } of entries) {
      const isOutside = !contains(slice, address) || without.some((block) => contains(block, address));
      if (isOutside) yield `${name} has ${address} of ${who}, which is not of it`;
    }
  }
}

/** Assignments without an object, and objects without an assignment. */
export function* unmatched({ pools, slices }: Books): Iterable<string> {
  for (const pool of pools) {
    const objects = slices.filter((each) => isOf(each, pool));
    for (const { node, block } of pool.assigned) {
      if (node === floatingNode) continue;
      const fits = objects.some((each) => each.node === node && String(each.slice) === String(block));
      if (!fits) yield `${labelOf(pool)}: ${block} of ${node} has no object`;
    }
    for (const { name, node, slice } of objects) {
      const fits = pool.assigned.some((each) => each.node === node && String(each.block) === String(slice));
      if (!fits) yield `${name} is no assignment of ${labelOf(pool)}`;
    }
  }
  for (const slice of slices) {
    if (!pools.some((pool) => isOf(slice, pool))) yield `${slice.name} belongs to ${slice.pool}, which is not there`;
  }
}

/** What is still on its way: asked and not answered, drained and not gone, granted and not taken up. */
export function* unfinished({ slices }: Books): Iterable<string> {
  for (const { name, grant, word } of slices) {
    if (grant === undefined) yield `${name} has no grant`;
    else if (grant.phase !== "active") yield `${name} is ${grant.phase}`;
    else if (word === undefined) yield `${name}: its node has said nothing`;
    else if (word.generation !== grant.generation || word.serial !== grant.serial) {
      const [has, is] = [`${word.generation}.${word.serial}`, `${grant.generation}.${grant.serial}`];
      yield `${name}: its node works by ${has}, the grant is ${is}`;
    } else if (word.sealed) yield `${name} is sealed`;
  }
}

function recordsOf({ slices, shared }: Books): Map<string, Recorded[]> {
  const found = new Map<string, Recorded[]>();
  const note = (key: string, record: Recorded) => found.set(key, [...(found.get(key) ?? []), record]);
  for (const { name, namespace, network, entries } of slices) {
    for (const entry of entries) note(keyOf(namespace, network, String(entry.address)), { ...entry, place: name });
  }
  for (const entry of shared) {
    const key = keyOf(entry.namespace, networkOf(entry), String(entry.address));
    const known = found.get(key)?.some((other) => other.who === entry.who && equal(other.address, entry.address));
    if (known !== true) note(key, { ...entry, place: "the reservation" });
  }
  return found;
}

/** Of the domains of networks; ranges of pools that do not protect overlaps are none of the audit's business. */
function networkOf({ domain }: SharedEntry): string {
  return domain.startsWith("network:") ? domain.slice("network:".length) : domain;
}

function keyOf(namespace: string, network: string, address: string): string {
  return `${parseAddress(address)} of ${network === "" ? "no network name" : network} in ${namespace}`;
}

const isOf = (slice: SliceBook, pool: PoolBook) => slice.pool === pool.name && slice.namespace === pool.namespace;
const labelOf = ({ namespace, name }: PoolBook) => `${namespace}/${name}`;
