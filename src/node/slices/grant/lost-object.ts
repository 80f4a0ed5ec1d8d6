// A slice whose IPPool is gone although its journal never sealed it: deleted by a hand, or the API server was restored from an older
// copy. It is made again with the same grant, so that the controller takes it up, unless the range has been given to another.
import { parseObject } from "../../../api/kind.ts";
import { parseDomain } from "../../../api/pools/domain.ts";
import { type NodeSlicePool, nodeSlicePoolKind } from "../../../api/slices/node-slice-pool.ts";
import { grantAnnotation, writeGrant } from "../../../api/slices/slice-grant.ts";
import { ipPools, nodeSlicePools, type StoredPool } from "../../../cluster/resources.ts";
import { sliceMarks } from "../../../cluster/slice-object.ts";
import { isApiError, isNamespaceEnding } from "../../../kube/errors.ts";
import { lookUp } from "../../../kube/look-up.ts";
import { parseKey } from "../../../kube/meta.ts";
import type { KubeClient } from "../../../kube/rest.ts";
import type { JournalGrant } from "../../../ledger/journal/grant.ts";
import { formatInterval } from "../../../net/interval.ts";

interface Call {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

export async function readSlicePool(
  client: KubeClient,
  { domain }: JournalGrant,
  call: Call,
): Promise<NodeSlicePool | undefined> {
  const parts = parseDomain(domain);
  if (parts.scope === "network") return undefined;
  const { namespace, name } = parts;
  const object = await lookUp(client, nodeSlicePools, { namespace, name }, call);
  return object && parseObject(nodeSlicePoolKind, object);
}

/**
 * Makes it without a grant, and grants it when the slice is still this node's: a controller that takes a slice deletes the object, writes its status,
 * then looks for the object, so that one of the two sees the other. An object that is not to be stays for the controller to remove: a daemon may not.
 * False: it is not to be, or its namespace is gone or going.
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
