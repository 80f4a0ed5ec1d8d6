import { parseDomain } from "../../api/domain.ts";
// A slice whose IPPool is gone although its journal never sealed it: deleted by a hand, or the API server was restored from an older
// copy. It is made again with the same grant, so that the controller takes it up, unless the range has been given to another.
import { networkAnnotation, nodeLabel, nodeLabelName } from "../../api/hold-marks.ts";
import { parseObject } from "../../api/kind.ts";
import { type NodeSlicePool, nodeSlicePoolKind } from "../../api/node-slice-pool.ts";
import {
  grantAnnotation,
  sliceLabelName,
  slicedRangeAnnotation,
  slicePoolAnnotation,
  writeGrant,
} from "../../api/slice-grant.ts";
import { isApiError } from "../../kube/errors.ts";
import { parseKey } from "../../kube/meta.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { JournalGrant } from "../../ledger/journal/grant.ts";
import { ipPools, nodeSlicePools, type StoredPool } from "../../ledger/resources.ts";
import { formatInterval } from "../../net/interval.ts";
import { nodeAnnotation } from "./slice-object.ts";

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
  try {
    return parseObject(nodeSlicePoolKind, await client.get(nodeSlicePools, { namespace, name }, call));
  } catch (error) {
    if (isApiError(error, "not-found")) return undefined;
    throw error;
  }
}

/**
 * Makes it, and takes it back where it is not to be after all: a controller that takes the slice from a node deletes the object first and writes
 * its status then, and the object may be made in between. It looks for the object after its status, so that one of the two sees the other.
 * False: it is not to be, or there is no place for it any more, its namespace is gone or going.
 */
export async function makeAgain(
  client: KubeClient,
  node: string,
  grant: JournalGrant,
  { isStillOurs, ...call }: Call & { readonly isStillOurs: () => Promise<boolean> },
): Promise<boolean> {
  try {
    const { metadata } = await client.create(ipPools, objectOf(node, grant), call);
    if (await isStillOurs()) return true;
    const { uid = "", resourceVersion = "" } = metadata;
    await client.delete(ipPools, parseKey(grant.key), { ...call, preconditions: { uid, resourceVersion } });
    return false;
  } catch (error) {
    if (isApiError(error, "already-exists")) return true;
    if (isApiError(error, "not-found") || isEnding(error)) return false;
    throw error;
  }
}

function isEnding(error: unknown): boolean {
  const causes = isApiError(error, "forbidden") ? (error.details?.causes ?? []) : [];
  return causes.some(({ reason }) => reason === "NamespaceTerminating");
}

function objectOf(node: string, grant: JournalGrant): StoredPool {
  const { namespace = "", name } = parseKey(grant.key);
  const parts = parseDomain(grant.domain);
  const { generation, serial, phase } = grant;
  const without = [...grant.without, ...(grant.gives === undefined ? [] : [grant.gives.block])].map(String);
  const taken = grant.taken.map(formatInterval);
  return {
    metadata: {
      namespace,
      name,
      labels: { [sliceLabelName]: "true", [nodeLabelName]: nodeLabel(node) },
      annotations: {
        [nodeAnnotation]: node,
        [networkAnnotation]: grant.network,
        [slicePoolAnnotation]: parts.scope === "network" ? "" : parts.name,
        [slicedRangeAnnotation]: String(grant.range),
        [grantAnnotation]: writeGrant({ generation, serial, phase, without, taken }),
      },
    },
    spec: { range: String(grant.slice), allocations: {} },
  };
}
