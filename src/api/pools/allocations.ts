// IPPool.spec.allocations as a list of addresses and owners, and back. Reading loses nothing: what a key cannot mean is
// named, what it may mean besides is listed, so that whoever adopts a pool keeps every address that may be in use.
// Writing is exact, and refuses what it cannot say.
import type { Owner } from "../../ipam/owner.ts";
import type { Address } from "../../net/address.ts";
import { ownerOfRecord, ownerRecord } from "../holds/owner-record.ts";
import { describeObject } from "../metadata.ts";
import { allocationKey, type KeyReading, readAllocationKey } from "./allocation-key.ts";
import type { IPPool, PoolAllocation } from "./ip-pool.ts";
import { parseRange } from "./range.ts";

interface PoolEntry extends KeyReading {
  readonly owner: Owner;
}

interface UnreadableEntry {
  readonly key: string;
  readonly owner: Owner;
  /** A sentence: which pool, which key, what is wrong, what to do. */
  readonly message: string;
}

export interface PoolContents {
  readonly entries: readonly PoolEntry[];
  readonly unreadable: readonly UnreadableEntry[];
}

export function readAllocations(pool: IPPool): PoolContents {
  const range = parseRange(pool.spec.range);
  const entries: PoolEntry[] = [];
  const unreadable: UnreadableEntry[] = [];
  for (const [key, allocation] of Object.entries(pool.spec.allocations)) {
    const owner = ownerOfAllocation(allocation);
    const reading = readAllocationKey(range, key);
    if (typeof reading !== "string") entries.push({ ...reading, owner });
    else {
      const message = `${describeObject("IPPool", pool.metadata)}: ${reading}. Remove the key from spec.allocations once ${allocation.podref || "its owner"} is gone.`;
      unreadable.push({ key, owner, message });
    }
  }
  return { entries, unreadable };
}

type Held = { readonly address: Address; readonly owner: Owner };

/** The map for a pool with that `spec.range`, in the order given. */
export function writeAllocations(range: string, held: Iterable<Held>): Record<string, PoolAllocation> {
  const cidr = parseRange(range);
  const entries = Array.from(held, ({ address, owner }) => [allocationKey(cidr, address), allocationOf(owner)]);
  return Object.fromEntries(entries) as Record<string, PoolAllocation>;
}

/** The entry of an owner, under whatever key. */
export function allocationOf(owner: Owner): PoolAllocation {
  const { kind, uid, podref, port, containerId } = ownerRecord(owner);
  return {
    id: containerId,
    podref,
    ...(port !== "" && { ifname: port }),
    ...(kind !== "pod" && { kind }),
    ...(uid !== "" && { uid }),
  };
}

function ownerOfAllocation({ id, podref, ifname = "", kind = "pod", uid = "" }: PoolAllocation): Owner {
  return ownerOfRecord({ kind, uid, podref, port: ifname, containerId: id });
}
