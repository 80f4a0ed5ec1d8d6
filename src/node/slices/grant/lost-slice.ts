// A slice that is lost. Its IPPool is gone although its journal never sealed it (deleted by a hand, or the API server
// was restored from an older copy): it is made again with the same grant, so that the controller takes it up, unless
// the range went to another. Or it is another node's: this node's holds in it go into the reservation ledger before the
// grant is forgotten, so that the next node leaves them out. Not those of a later grant to another node: its journal
// has them. An earlier one is of a restored copy, and the slice around a lent piece does not have it. Not promised:
// that nobody has given such an address. A hold without a record stays in the journal until its pod goes.
import { ObjectError as BadObject } from "../../../api/error.ts";
import { parseObject } from "../../../api/kind.ts";
import { formatDomain, parseDomain } from "../../../api/pools/domain.ts";
import { poolName } from "../../../api/pools/pool-name.ts";
import { type NodeSlicePool, nodeSlicePoolKind } from "../../../api/slices/node-slice-pool.ts";
import { blocksOf, floatingNode, grantAnnotation, writeGrant } from "../../../api/slices/slice-grant.ts";
import { readPool } from "../../../cluster/pool-object.ts";
import { ipPools, nodeSlicePools, type StoredPool } from "../../../cluster/resources.ts";
import { sliceMarks } from "../../../cluster/slice-object.ts";
import type { SlicedRange } from "../../../cluster/sliced-ranges.ts";
import { type Hold, LedgerError } from "../../../ipam/ledger.ts";
import { isApiError, isNamespaceEnding } from "../../../kube/errors.ts";
import { parseKey } from "../../../kube/meta.ts";
import type { KubeClient } from "../../../kube/rest.ts";
import { unless } from "../../../kube/unless.ts";
import type { JournalGrant } from "../../../ledger/journal/grant.ts";
import { type Address, equal, parseAddress } from "../../../net/address.ts";
import { formatInterval, includes } from "../../../net/interval.ts";
import { contains, type Prefix } from "../../../net/prefix.ts";
import type { HoldPlace } from "../../holds/sandboxes.ts";
import { viewOf } from "../mirror/journal-view.ts";
import { type ActParts, moveHold, settledPlace } from "./apply-phase.ts";
import { holdsIn, readSliceObject, type SliceObject, type SliceParts } from "./slice-object.ts";

const callMs = 10_000;

interface Call {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

export async function readSlicePool(client: KubeClient, { domain }: JournalGrant, call: Call) {
  const parts = parseDomain(domain);
  if (parts.scope === "network") return undefined;
  const { namespace, name } = parts;
  const object = await client.lookUp(nodeSlicePools, { namespace, name }, call);
  return object && parseObject(nodeSlicePoolKind, object);
}

/** The slices of the NodeSlicePool's nodes, of the wanted blocks. */
async function* slicesOf(
  client: KubeClient,
  pool: Pick<NodeSlicePool, "status"> | undefined,
  { namespace, network }: { readonly namespace: string; readonly network: string },
  { isWanted, signal }: { readonly isWanted: (block: Prefix, node: string) => boolean; readonly signal: AbortSignal },
): AsyncGenerator<SliceObject> {
  for (const { nodeName: node, sliceRange } of pool?.status?.allocations ?? []) {
    const [range] = ["", floatingNode].includes(node) ? [] : blocksOf([sliceRange]);
    if (range === undefined || !isWanted(range, node)) continue;
    const object = await readPool(client, { namespace, name: poolName({ range, network, node }), signal });
    const slice = object && readSliceObject(object);
    if (slice !== undefined) yield slice;
  }
}

/** An address's holder by the mirror of its slice: for a lost shared hold that was made again after the cut. */
export async function sliceHolder(
  client: KubeClient,
  /** Sliced ranges only. */
  ranges: readonly SlicedRange[],
  { namespace, domain, address: text }: HoldPlace,
  signal: AbortSignal,
): Promise<Hold | undefined> {
  const parts = parseDomain(domain);
  const address = parseAddress(text);
  // For a pool that is a domain of its own: any network with the range in its namespace.
  const isOfNetwork = ({ network }: SlicedRange) => parts.scope !== "network" || parts.network === network;
  const cut = ranges.filter(
    (each) => each.namespace === namespace && isOfNetwork(each) && contains(each.range, address),
  );
  const isWanted = (block: Prefix) => contains(block, address);
  for (const range of cut) {
    const pool = await client.lookUp(nodeSlicePools, { namespace, name: range.pool }, { signal });
    for await (const slice of slicesOf(client, pool, range, { isWanted, signal })) {
      const found = holdsIn(slice).find((hold) => equal(hold.address, address));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/**
 * Makes it without a grant, and grants it when the slice is still this node's: a controller that takes a slice deletes
 * the object, writes its status, then looks for the object, so that one of the two sees the other. An unwanted object
 * stays for the controller to remove: a daemon may not. False: it is unwanted, or its namespace is gone or going.
 */
export async function makeAgain(
  client: KubeClient,
  node: string,
  grant: JournalGrant,
  { isStillOurs, ...call }: Call & { readonly isStillOurs: () => Promise<boolean> },
): Promise<boolean> {
  let made: StoredPool;
  try {
    made = await client.create(ipPools, objectOf(node, grant), call);
  } catch (error) {
    if (isApiError(error, "already-exists")) return true;
    if (isApiError(error, "not-found") || isNamespaceEnding(error)) return false;
    throw error;
  }
  if (!(await isStillOurs())) return false;
  const { resourceVersion } = made.metadata;
  const { generation, serial, phase, gives } = grant;
  const without = [...grant.without, ...(gives === undefined ? [] : [gives.block])].map(String);
  const text = writeGrant({ generation, serial, phase, without, taken: grant.taken.map(formatInterval) });
  const body = { metadata: { resourceVersion, annotations: { [grantAnnotation]: text } } };
  // Else the controller was faster, and granted it anew or removed it: the next look sees which.
  await unless(["conflict", "not-found"], client.patch(ipPools, parseKey(grant.key), { type: "merge", body }, call));
  return true;
}

function objectOf(node: string, { key, domain, network, range, slice: block }: JournalGrant): StoredPool {
  const { namespace = "", name } = parseKey(key);
  const parts = parseDomain(domain);
  const pool = parts.scope === "network" ? "" : parts.name;
  return {
    metadata: { namespace, name, ...sliceMarks({ namespace, network, pool, range, node, block }) },
    spec: { range: `${block}`, allocations: {} },
  };
}

type LeaveParts = Omit<ActParts, "state"> & Pick<SliceParts, "node">;

/** Throws without an answer: the grant stays for a retry. Refused records do not throw: no slice waits for a quota. */
export async function leave(parts: LeaveParts, known: JournalGrant): Promise<void> {
  const { journal, key, log } = parts;
  if (known.phase === "active") await journal.put({ ...known, phase: "returning" });
  try {
    await record(parts, known);
  } catch (error) {
    // Its namespace is gone or going, or the shared pool's name is taken: there is no place for a record.
    const cause = error instanceof LedgerError ? error.cause : error;
    const isPlaceless = isApiError(error, "not-found") || isNamespaceEnding(cause) || error instanceof BadObject;
    if (!isPlaceless && !isApiError(cause, "forbidden")) throw error;
    const remedy = `it is tried again; let ${known.namespace} have more records: its quotas, policies and this daemon's rights`;
    const what = `what is held in slice ${key}, which is lost, cannot be recorded${isPlaceless ? "" : `: ${remedy}`}`;
    log.error(what, { slice: key, error });
    if (!isPlaceless) return;
  }
  await journal.drop(key);
}

/** Whether an address is another node's to give by a later grant, of the slices that have any of these. */
async function givenByOthers({ client, node, signal }: LeaveParts, known: JournalGrant, holds: readonly Hold[]) {
  const later: SliceObject[] = [];
  const pool = await readSlicePool(client, known, { signal, timeoutMs: callMs });
  const isWanted = (block: Prefix, of: string) => of !== node && holds.some(({ address }) => contains(block, address));
  for await (const slice of slicesOf(client, pool, known, { isWanted, signal }))
    if (slice.granted !== undefined && slice.granted.grant.generation > known.generation) later.push(slice);
  const mayGive = ({ slice, granted }: SliceObject, address: Address) =>
    contains(slice, address) &&
    !granted!.without.some((block) => contains(block, address)) &&
    !granted!.taken.some((each) => includes(each, address));
  return ({ address }: Hold) => later.some((each) => mayGive(each, address));
}

async function record(parts: LeaveParts, known: JournalGrant): Promise<void> {
  const { journal, log, key, clock } = parts;
  const { namespace, network } = known;
  const all = viewOf(journal, journal.grant(key) ?? known, clock.wallMs()).holds;
  if (all.length === 0) return;
  const isAnothers = await givenByOthers(parts, known, all);
  const holds = all.filter((hold) => !isAnothers(hold));
  const count = all.length - holds.length;
  if (count > 0) log.warn("held addresses of a slice are another node's by now", { slice: key, count });
  if (holds.length === 0) return;
  const shared = await settledPlace(parts, known, formatDomain({ scope: "network", network }));
  for (const hold of holds) {
    const why = await moveHold(parts, namespace, shared, hold);
    if (why !== "") log.error(`an address of slice ${key}, which is lost, cannot be recorded: ${why}`, { slice: key });
  }
}
