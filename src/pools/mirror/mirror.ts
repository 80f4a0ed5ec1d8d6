// What has to change in a pool's spec.allocations so that it shows the holds. Pure; mirror-writer.ts sends it.
// Promised: an entry that is not ours (whereabouts wrote it, and no hold has the same owner) is never changed or
// dropped, nor is a key that cannot be read. An entry is ours if it carries `uid` or `kind`, which whereabouts does not
// write and its patches leave alone. Not promised: that all holds are shown; beyond the cap the lowest addresses are.
import { ObjectError } from "../../api/error.ts";
import { allocationKey, readAllocationKey } from "../../api/pools/allocation-key.ts";
import { allocationOf } from "../../api/pools/allocations.ts";
import type { IPPool, PoolAllocation } from "../../api/pools/ip-pool.ts";
import { parseRange } from "../../api/pools/range.ts";
import { entryPatch } from "../../cluster/pool-object.ts";
import { isEqual } from "../../kube/conditions.ts";
import type { JsonPatchOperation } from "../../kube/patch.ts";
import { type Address, compare } from "../../net/address.ts";
import { attempt } from "../../net/coded-error.ts";
import type { Cidr } from "../../net/prefix.ts";
import type { PoolHold } from "../pool-hold.ts";

export interface MirrorOptions {
  /** whereabouts reads and writes the entries too: they have all that it needs, and nothing that it cannot read. */
  readonly coexistence?: boolean;
  /** Entries at most. 4,000 are 550 KB: a third of what etcd takes, and 0.4 s of the API server per write. */
  readonly entriesMax?: number;
}

const defaultEntriesMax = 4000;

export interface EntryChange {
  readonly key: string;
  /** What stands there now; undefined: nothing. */
  readonly from: PoolAllocation | undefined;
  readonly to: PoolAllocation | undefined;
}

export interface MirrorPlan {
  /** Those that add first: an entry too many blocks an address for a moment, one too few may give it away. */
  readonly changes: readonly EntryChange[];
  /** Keys of entries that are not ours and have no hold: adoption is due. */
  readonly foreign: readonly string[];
  /** Keys of entries that name another owner than the hold of that address. */
  readonly contested: readonly string[];
  /** Held, but not shown: beyond the cap, or no key can say it. */
  readonly unshown: number;
}

export function planMirror(pool: IPPool, held: readonly PoolHold[], options: MirrorOptions = {}): MirrorPlan {
  const range = parseRange(pool.spec.range);
  const wanted = wantedEntries(range, held, options);
  const current = pool.spec.allocations;
  const [foreign, contested]: string[][] = [[], []];
  const added: EntryChange[] = [];
  const removed: EntryChange[] = [];
  for (const [key, from] of Object.entries(current)) {
    if (typeof readAllocationKey(range, key) === "string") continue;
    const to = wanted.all.get(key);
    if (to === undefined) {
      if (isOurs(from)) removed.push({ key, from, to });
      else foreign!.push(key);
    } else if (!isOurs(from) && !isSameOwner(from, to)) contested!.push(key);
    else if (!wanted.shown.has(key)) removed.push({ key, from, to: undefined });
    else if (!isEqual(from, to) && (isOurs(from) || options.coexistence !== true)) added.push({ key, from, to });
  }
  for (const key of wanted.shown) {
    if (!Object.hasOwn(current, key)) added.push({ key, from: undefined, to: wanted.all.get(key) });
  }
  const unshown = wanted.unsaid + wanted.all.size - wanted.shown.size;
  return { changes: [...added, ...removed], foreign: foreign!, contested: contested!, unshown };
}

/** Whether entries are neither ours nor held: `planMirror`'s foreign ones, without a look at our own thousands. */
export function hasForeign(pool: IPPool, held: readonly PoolHold[]): boolean {
  const strange = Object.entries(pool.spec.allocations).filter(([, entry]) => !isOurs(entry));
  if (strange.length === 0) return false;
  const range = parseRange(pool.spec.range);
  const keys = new Set(held.map(({ hold }) => keyFor(range, hold.address, false)));
  return strange.some(([key]) => typeof readAllocationKey(range, key) !== "string" && !keys.has(key));
}

export function mirrorPatch(changes: readonly EntryChange[]): JsonPatchOperation[] {
  return changes.flatMap(({ key, from, to }) => entryPatch(key, from, to));
}

export function isOurs({ uid, kind }: PoolAllocation): boolean {
  return uid !== undefined || kind !== undefined;
}

interface Wanted {
  /** Key -> the entry of the hold there. */
  readonly all: ReadonlyMap<string, PoolAllocation>;
  readonly shown: ReadonlySet<string>;
  readonly unsaid: number;
}

function wantedEntries(
  range: Cidr,
  held: readonly PoolHold[],
  { coexistence = false, entriesMax }: MirrorOptions,
): Wanted {
  const all = new Map<string, PoolAllocation>();
  let unsaid = 0;
  const inOrder = held.toSorted((a, b) => compare(a.hold.address, b.hold.address));
  for (const { hold } of inOrder) {
    const key = keyFor(range, hold.address, coexistence);
    const entry = allocationOf(hold.owner);
    if (key === undefined) unsaid += 1;
    // An owner without a UID gets `kind` spelled out, which marks the entry as ours.
    else all.set(key, isOurs(entry) ? entry : { ...entry, kind: hold.owner.kind });
  }
  const room = coexistence ? all.size : (entriesMax ?? defaultEntriesMax);
  return { all, shown: new Set([...all.keys()].slice(0, room)), unsaid };
}

function keyFor(range: Cidr, address: Address, forWhereabouts: boolean): string | undefined {
  return attempt(ObjectError, () => allocationKey(range, address, { forWhereabouts }));
}

/** whereabouts of early versions wrote no interface. */
function isSameOwner(foreign: PoolAllocation, ours: PoolAllocation): boolean {
  const port = foreign.ifname ?? "";
  return foreign.podref === ours.podref && (port === "" || port === (ours.ifname ?? ""));
}
