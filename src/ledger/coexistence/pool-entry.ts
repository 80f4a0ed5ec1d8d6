// The IPPool entry of a hold, while whereabouts is active: it arbitrates whereabouts' allocations. Promised: an entry
// is added only where there is none, changed and removed only where it is this owner's: each write is one JSON patch
// that tests what it presumes. (`test` with null passes where the key is absent: the API server's own rule.) Nothing is
// written that whereabouts cannot read: an offset from 2^63 on is refused before anything is done.
import { ownerOfRecord } from "../../api/holds/owner-record.ts";
import { versionOf } from "../../api/holds/version.ts";
import { allocationKey } from "../../api/pools/allocation-key.ts";
import { writeAllocations } from "../../api/pools/allocations.ts";
import type { IPPool, PoolAllocation } from "../../api/pools/ip-pool.ts";
import { parseRange } from "../../api/pools/range.ts";
import { entryPatch, readPool } from "../../cluster/pool-object.ts";
import { ipPools } from "../../cluster/resources.ts";
import { describeDomain, type Hold, LedgerError } from "../../ipam/ledger.ts";
import type { Owner } from "../../ipam/owner.ts";
import { type ObjectName, parseKey } from "../../kube/meta.ts";
import type { JsonPatchOperation } from "../../kube/patch.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { anew, type Signal, unless } from "../../kube/unless.ts";
export interface EntryPlace extends Pick<Hold, "domain" | "address"> {
  readonly client: KubeClient;
  readonly pool: ObjectName & { readonly namespace: string };
  /** As it is in the pool: every offset counts from it. */
  readonly range: string;
  /** The key in spec.allocations. */
  readonly key: string;
}

/** A failed test is followed by a read and another try; so many losses in a row mean a rival at work. */
const triesMax = 5;
const overtaken = ["invalid", "conflict", "outcome-unknown"] as const;

/** Where the entry goes. Refuses what whereabouts could not read; nothing was written yet. */
export async function entryPlace(
  client: KubeClient,
  { domain, address, pool }: Pick<Hold, "domain" | "address"> & { readonly pool: string | undefined },
  signal: Signal,
): Promise<EntryPlace> {
  if (pool === undefined) {
    const what = `${address} in ${describeDomain(domain)} was asked for without its pool, and whereabouts is active`;
    const remedy = "it needs an entry in an IPPool. Name the pool in the note of the request.";
    throw new LedgerError("unavailable", `${what}: ${remedy}`);
  }
  const { namespace = "", name } = parseKey(pool);
  const object = await readPool(client, { namespace, name, signal });
  if (object === undefined)
    throw new LedgerError("unavailable", `There is no IPPool ${pool} for ${address}: it was deleted. Try again.`);
  const { range } = object.spec;
  const key = allocationKey(parseRange(range), address, { forWhereabouts: true });
  return { client, pool: { namespace, name }, range, domain, address, key };
}

/** Undefined: the entry is this owner's now. Else whose it is. */
export async function claimEntry(place: EntryPlace, owner: Owner, signal: Signal): Promise<Hold | undefined> {
  const wanted = writeAllocations(place.range, [{ address: place.address, owner }])[place.key]!;
  return anew(triesMax, overtaken, async (isFirst) => {
    const present = isFirst ? undefined : (await read(place, signal)).spec.allocations[place.key];
    if (present !== undefined && !isSame(present, wanted)) return holdOfEntry(place, present, signal);
    if (present === undefined || present.id !== wanted.id)
      await patch(place, entryPatch(place.key, present, { ...present, ...wanted }), signal);
    return undefined;
  });
}

/** Removes the owner's entry; another owner's, or one of a later container, stays. False: there is such a one. */
export async function dropEntry(place: EntryPlace, owner: Owner, signal: Signal): Promise<boolean> {
  const mine = writeAllocations(place.range, [{ address: place.address, owner }])[place.key]!;
  return anew(triesMax, overtaken, async () => {
    const present = (await read(place, signal)).spec.allocations[place.key];
    if (present === undefined) return true;
    // Of the same pod, for a container that came after the one whose address is given back.
    const isLater = mine.id !== "" && present.id !== "" && present.id !== mine.id;
    if (!isSame(present, mine) || isLater) return false;
    await unless(["not-found"], patch(place, entryPatch(place.key, present), signal));
    return true;
  });
}

async function patch(place: EntryPlace, operations: JsonPatchOperation[], signal: Signal) {
  const guarded = [{ op: "test", path: "/spec/range", value: place.range } as const, ...operations];
  await place.client.patch(ipPools, place.pool, { type: "json", operations: guarded }, { signal });
}

async function read(place: EntryPlace, signal: Signal): Promise<IPPool> {
  const { namespace, name } = place.pool;
  const pool = await readPool(place.client, { namespace, name, signal });
  if (pool?.spec.range === place.range) return pool;
  const what = pool === undefined ? "is gone" : `has range ${pool.spec.range}, and had ${place.range}`;
  const words = `IPPool ${namespace}/${name} ${what}: ${place.address} cannot be entered there. Try again.`;
  throw new LedgerError("unavailable", words);
}

/** By pod and interface, as whereabouts tells its entries apart; by UID where both have one. */
function isSame(a: PoolAllocation, b: PoolAllocation): boolean {
  const [uid, other] = [a["uid"], b["uid"]];
  const isPod = a.podref === b.podref && (a.kind ?? "pod") === (b.kind ?? "pod");
  return isPod && (a.ifname ?? "") === (b.ifname ?? "") && (!uid || !other || uid === other);
}

async function holdOfEntry(place: EntryPlace, entry: PoolAllocation, signal: Signal): Promise<Hold> {
  const { id, podref, ifname = "", kind = "pod", uid = "" } = entry;
  const { domain, address } = place;
  const owner = ownerOfRecord({ kind, uid, podref, port: ifname, containerId: id });
  // The version of the pool: it names no hold, so no release by it frees one.
  return { domain, address, owner, version: versionOf("IPPool", (await read(place, signal)).metadata) };
}
