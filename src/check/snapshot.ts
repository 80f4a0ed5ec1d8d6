// What `holdfast check`, `pools` and `who` read, once: plain lists without a watch. Not promised: one moment. Kinds are
// read one after the other, slices and holds first: a pod that came in between has its hold, and a hold that a draining
// node moves from its slice to the reservations meanwhile is seen twice rather than never.
import { parseObject } from "../api/kind.ts";
import { type IPPool, ipPoolKind } from "../api/pools/ip-pool.ts";
import { poolNamespaceOf } from "../cluster/coexistence-word.ts";
import * as kinds from "../cluster/resources.ts";
import { fetchState } from "../cluster/state.ts";
import { keyOf } from "../kube/meta.ts";
import { listHolds } from "../ledger/reservation/list-holds.ts";
import { heldOf } from "../pools/caches.ts";
import { PoolIndex, type PoolRange, poolRangeOf } from "../pools/membership.ts";
import { type Networks, networksOf } from "../pools/networks.ts";
import { trimPod } from "../pools/pod-trim.ts";
import type { PoolHold } from "../pools/pool-hold.ts";
import { readSlices, sliceSelector, type SlicesOptions, type SlicesSnapshot } from "./slices/snapshot.ts";

/** What is handed out, and to whom: all that `pools` and `who` ask. */
export interface LedgerSnapshot {
  readonly systemNamespace: string;
  readonly nowMs: number;
  /** holdfast-state; undefined: there is none. */
  readonly state: kinds.ConfigMap | undefined;
  readonly held: readonly PoolHold[];
  /** Shared ones: the pool of a node's slice is in `slices`. */
  readonly pools: readonly { readonly pool: IPPool; readonly range: PoolRange }[];
  readonly index: PoolIndex;
  /** Key: UID. Read after the holds: who has a hold by then had its claim before. */
  readonly claims: ReadonlyMap<string, Pick<kinds.StoredClaim, "metadata">>;
  readonly networks: Networks;
  readonly slices: SlicesSnapshot;
  readonly unreadable: readonly { readonly object: string; readonly why: string }[];
}

export interface Snapshot extends LedgerSnapshot {
  readonly pods: ReadonlyMap<string, kinds.Pod>;
  readonly nodes: readonly kinds.Node[];
  readonly statefulSets: ReadonlyMap<string, kinds.StatefulSet>;
}

type SnapshotOptions = Omit<SlicesOptions, "node">;

export async function readLedger(options: SnapshotOptions): Promise<LedgerSnapshot> {
  const { client, systemNamespace, now, signal } = options;
  const slices = await readSlices(options);
  const unreadable: { object: string; why: string }[] = [...slices.unreadable];
  const held: PoolHold[] = [];
  for await (const each of listHolds(client, { includeCooling: true, signal })) {
    if (each.unreadable === undefined) held.push(heldOf(each));
    else unreadable.push({ object: `${each.object.kind} ${keyOf(each.object)}`, why: each.unreadable });
  }
  const claims = await client.listAll(kinds.ipamClaims, { signal });
  const shared = await client.listAll(kinds.ipPools, { labelSelector: `!${sliceSelector}`, signal });
  const pools = shared.flatMap((object) => readPool(object, unreadable));
  const definitions = await client.listAll(kinds.networkAttachmentDefinitions, { signal });
  const state = await fetchState(client, { namespace: systemNamespace, signal });
  return {
    systemNamespace,
    state,
    nowMs: now(),
    held,
    pools,
    index: new PoolIndex(pools.map(({ range }) => range)),
    claims: new Map(claims.map(({ metadata }) => [metadata.uid ?? "", { metadata }])),
    networks: networksOf(definitions, poolNamespaceOf(state, systemNamespace)),
    slices,
    unreadable,
  };
}

export async function readSnapshot(options: SnapshotOptions): Promise<Snapshot> {
  const { client, signal } = options;
  const ledger = await readLedger(options);
  const statefulSets = await client.listAll(kinds.statefulSets, { signal });
  const pods = await client.listAll(kinds.pods, { signal });
  return {
    ...ledger,
    pods: new Map(pods.map((pod) => [keyOf(pod), trimPod(pod)])),
    nodes: [...ledger.slices.nodes.values()],
    statefulSets: new Map(statefulSets.map((set) => [keyOf(set), set])),
  };
}

function readPool(object: kinds.StoredPool, unreadable: { object: string; why: string }[]) {
  try {
    const pool = parseObject(ipPoolKind, object);
    const range = poolRangeOf(pool);
    return range === undefined ? [] : [{ pool, range }];
  } catch (error) {
    unreadable.push({ object: `IPPool ${keyOf(object)}`, why: (error as Error).message });
    return [];
  }
}
