// What is lost: a slice whose IPPool is gone although its journal never sealed it (deleted by a hand, or the API server was
// restored from an older copy) is made again with the same grant, so that the controller takes it up, unless the range has been
// given to another. And who has an address out of another node's slice, where a record of it was lost.
import { parseObject } from "../../../api/kind.ts";
import { parseDomain } from "../../../api/pools/domain.ts";
import { poolName } from "../../../api/pools/pool-name.ts";
import { type NodeSlicePool, nodeSlicePoolKind } from "../../../api/slices/node-slice-pool.ts";
import { blocksOf, floatingNode, grantAnnotation, writeGrant } from "../../../api/slices/slice-grant.ts";
import { readPool } from "../../../cluster/pool-object.ts";
import { ipPools, nodeSlicePools, type StoredPool } from "../../../cluster/resources.ts";
import { sliceMarks } from "../../../cluster/slice-object.ts";
import type { SlicedRange } from "../../../cluster/sliced-ranges.ts";
import type { Hold } from "../../../ipam/ledger.ts";
import { isApiError, isNamespaceEnding } from "../../../kube/errors.ts";
import { lookUp } from "../../../kube/look-up.ts";
import { parseKey } from "../../../kube/meta.ts";
import type { KubeClient } from "../../../kube/rest.ts";
import type { JournalGrant } from "../../../ledger/journal/grant.ts";
import { equal, parseAddress } from "../../../net/address.ts";
import { formatInterval } from "../../../net/interval.ts";
import { contains, type Prefix } from "../../../net/prefix.ts";
import type { HoldPlace } from "../../holds/sandboxes.ts";
import { holdsIn, readSliceObject, type SliceObject } from "./slice-object.ts";

interface Call {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

export async function readSlicePool(client: KubeClient, { domain }: JournalGrant, call: Call) {
  const parts = parseDomain(domain);
  if (parts.scope === "network") return undefined;
  const { namespace, name } = parts;
  const object = await lookUp(client, nodeSlicePools, { namespace, name }, call);
  return object && parseObject(nodeSlicePoolKind, object);
}

/** The slices of nodes that the NodeSlicePool names, of those blocks that are wanted. */
export async function* slicesOf(
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

/** Who has an address out of a slice, by the slice's mirror: for a hold of a shared range that was lost and made again after the range was cut. */
export async function sliceHolder(
  client: KubeClient,
  /** Those that are sliced. */
  ranges: readonly SlicedRange[],
  { namespace, domain, address: text }: HoldPlace,
  signal: AbortSignal,
): Promise<Hold | undefined> {
  const parts = parseDomain(domain);
  const address = parseAddress(text);
  // Of a pool that is a domain of its own: whatever network has the range in its namespace.
  const isOfNetwork = ({ network }: SlicedRange) => parts.scope !== "network" || parts.network === network;
  const cut = ranges.filter(
    (each) => each.namespace === namespace && isOfNetwork(each) && contains(each.range, address),
  );
  const isWanted = (block: Prefix) => contains(block, address);
  for (const range of cut) {
    const pool = await lookUp(client, nodeSlicePools, { namespace, name: range.pool }, { signal });
    for await (const slice of slicesOf(client, pool, range, { isWanted, signal })) {
      const found = holdsIn(slice).find((hold) => equal(hold.address, address));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/**
 * Makes it without a grant, and grants it when the slice is still this node's: a controller that takes a slice deletes the
 * object, writes its status, then looks for the object, so that one of the two sees the other. An object that is not to be
 * stays for the controller to remove: a daemon may not. False: it is not to be, or its namespace is gone or going.
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
  const body = { metadata: { resourceVersion, annotations: { [grantAnnotation]: grantText(grant) } } };
  try {
    await client.patch(ipPools, parseKey(grant.key), { type: "merge", body }, call);
  } catch (error) {
    // The controller was there meanwhile, and granted it anew or removed it: the next look sees which.
    if (!isApiError(error, "conflict", "not-found")) throw error;
  }
  return true;
}

function grantText({ generation, serial, phase, without, gives, taken }: JournalGrant): string {
  const given = [...without, ...(gives === undefined ? [] : [gives.block])].map(String);
  return writeGrant({ generation, serial, phase, without: given, taken: taken.map(formatInterval) });
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
