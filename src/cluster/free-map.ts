// The free map of a pool: a ConfigMap in which the leader tells daemons the taken addresses: they need not list them. A
// hint: an old map costs a 409, never a duplicate. Promised: at most 16 KiB of data; up to `completeThrough` it has
// every given interval, and says nothing beyond. An unreadable map is none.
import { hashLabel } from "../api/holds/owner-record.ts";
import type { Domain } from "../ipam/ledger.ts";
import { type Address, fromBigInt, parseAddress, toBigInt } from "../net/address.ts";
import { NetError } from "../net/error.ts";
import { common, IntervalSet } from "../net/interval-set.ts";
import { type Interval, intervalOf } from "../net/interval.ts";
import { contains, parsePrefix, type Prefix } from "../net/prefix.ts";
import type { ConfigMap } from "./resources.ts";
import { packed, shortened, unpacked } from "./run-codec.ts";

export interface FreeMap {
  /** namespace/name of the pool object. */
  readonly pool: string;
  readonly prefix: Prefix;
  /** The domain of an adopted pool; undefined: not adopted, to be looked at before anything is handed out of it. */
  readonly domain?: Domain;
  /** What is held or cooling, in order. */
  readonly taken: readonly Interval[];
  /** Up to this address, itself included, `taken` has everything. Undefined: nothing is known. */
  readonly completeThrough: Address | undefined;
  readonly writtenMs: number;
  /** How many addresses are held, all of them. */
  readonly holders: number;
}

/** 16 KiB in all; pool, prefix, domain, address and numbers are below 1,100 bytes together. */
const takenMaxChars = 15_200;

const managedBy = { "app.kubernetes.io/managed-by": "holdfast" };

/** Selects free maps, among little else. */
export const freeMapSelector = "app.kubernetes.io/managed-by=holdfast";

export function freeMapName(pool: string): string {
  return `holdfast-free-${hashLabel(pool)}`;
}

export function encodeFreeMap(namespace: string, map: Omit<FreeMap, "completeThrough">): ConfigMap {
  const { pool, prefix, domain, writtenMs, holders } = map;
  const base = toBigInt(prefix.first);
  const inside = common([intervalOf(prefix)], IntervalSet.of(map.taken));
  const runs = Array.from(inside, ({ first, last }) => ({
    first: toBigInt(first) - base,
    last: toBigInt(last) - base,
  }));
  const whole = packed(runs);
  const [taken, end] = whole.length <= takenMaxChars ? [whole, prefix.size] : shortened(runs, takenMaxChars);
  return {
    metadata: { namespace, name: freeMapName(pool), labels: managedBy },
    data: {
      pool,
      prefix: prefix.toString(),
      ...(domain !== undefined && { domain }),
      taken,
      through: end === 0n ? "" : at(prefix, end - 1n).toString(),
      writtenMs: String(Math.floor(writtenMs)),
      holders: String(holders),
    },
  };
}

/** Undefined: it cannot be read, and there might as well be none. */
export function decodeFreeMap({ data = {} }: ConfigMap): FreeMap | undefined {
  const { pool = "", prefix: range = "", domain = "", taken: text = "", through = "" } = data;
  const { writtenMs = "", holders = "" } = data;
  if (pool === "" || ![writtenMs, holders].every((each) => /^\d{1,15}$/.test(each))) return undefined;
  try {
    const prefix = parsePrefix(range);
    const runs = unpacked(text);
    const completeThrough = through === "" ? undefined : parseAddress(through);
    const isInside = completeThrough === undefined || contains(prefix, completeThrough);
    if (!isInside || runs === undefined || runs.some(({ last }) => last >= prefix.size)) return undefined;
    const taken = runs.map(({ first, last }) => ({ first: at(prefix, first), last: at(prefix, last) }));
    const numbers = { writtenMs: Number(writtenMs), holders: Number(holders) };
    return { pool, prefix, ...(domain !== "" && { domain }), taken, completeThrough, ...numbers };
  } catch (error) {
    if (error instanceof NetError) return undefined;
    throw error;
  }
}

function at(prefix: Prefix, offset: bigint): Address {
  return fromBigInt(prefix.family, toBigInt(prefix.first) + offset);
}
