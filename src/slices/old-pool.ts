// A slice's IPPool under a name that we do not write: `net-node` or `R-node`, as the design papers have it (src/api/pool-name.ts). Pure.
//
// Promised: what is brought over keeps its address and its owner; an old object counts as brought over only when all that it says is
// said by the new one.
import { readAllocationKey } from "../api/allocation-key.ts";
import { ApiError } from "../api/error.ts";
import { ipPoolKind, type PoolAllocation } from "../api/ip-pool.ts";
import { parseObject } from "../api/kind.ts";
import { assertPoolIs } from "../api/pool-identity.ts";
import { poolNamesToRead } from "../api/pool-name.ts";
import { parseRange } from "../api/range.ts";
import { sliceLabelName } from "../api/slice-grant.ts";
import type { StoredPool } from "../ledger/resources.ts";
import { distance } from "../net/address.ts";
import { sliceName, type SlicePlace } from "./slice-object.ts";

type SliceIdentity = Pick<SlicePlace, "block" | "network" | "node">;
export type Entries = Readonly<Record<string, PoolAllocation>>;

/** The names beside the one that is written. */
export function oldNames({ block, network, node }: SliceIdentity): string[] {
  const own = sliceName({ block, network, node });
  return poolNamesToRead({ range: block, network, node }).filter((name) => name !== own);
}

/**
 * Such a name may be another's: a shared pool's, or that of another slice of the node, since it does not say the range. It is this
 * slice only if it has exactly its block and its marks, where it has any, say nothing else.
 */
export function isOldPool(object: StoredPool, { block, network, node }: SliceIdentity): boolean {
  if (object.metadata.labels?.[sliceLabelName] !== undefined) return false;
  try {
    assertPoolIs(parseObject(ipPoolKind, object), { range: block, network, node });
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

/** Entries of the old object that the new one lacks, under the new one's keys. */
export function missingEntries(old: StoredPool, there: StoredPool): Entries {
  const known = entriesOf(there);
  return Object.fromEntries(
    placesOf(old, there).flatMap(({ keys, entry }) =>
      keys.filter((key) => known[key] === undefined).map((key) => [key, entry] as const),
    ),
  );
}

/** False also where the two name different owners of one address, or a key means no address: then both stay, for people to look at. */
export function isBrought(old: StoredPool, there: StoredPool): boolean {
  const known = entriesOf(there);
  return placesOf(old, there).every(
    ({ keys, entry }) => keys.length > 0 && keys.every((key) => isSameOwner(known[key], entry)),
  );
}

interface EntryPlace {
  /** In the new object. Several: the key has several meanings, and each of them may be in use. */
  readonly keys: readonly string[];
  readonly entry: PoolAllocation;
}

/** Offsets count from the address in `spec.range`, host bits and all. */
function placesOf(old: StoredPool, there: StoredPool): EntryPlace[] {
  const [from, to] = [parseRange(old.spec.range), parseRange(there.spec.range)];
  const isSameBase = `${from.address}` === `${to.address}`;
  return Object.entries(entriesOf(old)).map(([key, entry]) => {
    if (isSameBase) return { keys: [key], entry };
    const reading = readAllocationKey(from, key);
    if (typeof reading === "string" || reading.isWrapped) return { keys: [], entry };
    const offsets = [reading.address, ...reading.others].map((address) => distance(to.address, address));
    return { keys: offsets.some((each) => each < 0n) ? [] : offsets.map(String), entry };
  });
}

function isSameOwner(a: PoolAllocation | undefined, b: PoolAllocation): boolean {
  return a?.id === b.id && a.podref === b.podref && (a.ifname ?? "") === (b.ifname ?? "");
}

function entriesOf({ spec }: StoredPool): Entries {
  return spec.allocations;
}
