// What the leader follows of the cluster: informers over everything that an address's life depends on, trimmed to what
// is read, and the holds by pool made from them.
// Promised: nothing is told before all of it has been listed once. Not promised: freshness; whoever frees reads again.
import { nodeLabelName, usedByAnnotation } from "../api/holds/hold-marks.ts";
import { parseObject } from "../api/kind.ts";
import { type IPPool, ipPoolKind } from "../api/pools/ip-pool.ts";
import { sliceLabelName } from "../api/slices/slice-grant.ts";
import { harvesterGroup } from "../api/vmnet/managed-pool.ts";
import { vmNetworkLabelName } from "../api/vmnet/marks.ts";
import { defaultRules, type FenceRules, nodeOfLease, trimLease } from "../cluster/fencing.ts";
import { Presence } from "../cluster/node-presence.ts";
import type { ReconcilerOptions } from "../cluster/reconciler-options.ts";
import * as kinds from "../cluster/resources.ts";
import { Informer } from "../kube/cache/informer.ts";
import type { Clock } from "../kube/clock.ts";
import type { Lease } from "../kube/lease.ts";
import { type DeepReadonly, keyOf, type KubeObject, type ObjectKey, picked } from "../kube/meta.ts";
import type { Resource } from "../kube/resource.ts";
import { type HeldObject, type ListedHold, readHeld } from "../ledger/reservation/list-holds.ts";
import { HoldsByPool } from "./hold-index.ts";
import { poolRangeOf } from "./membership.ts";
import { podIndexes, trimPod } from "./pod-trim.ts";
import type { PoolHold } from "./pool-hold.ts";

export interface PoolCachesOptions extends Pick<ReconcilerOptions, "client" | "clock" | "systemNamespace"> {
  /** When a node counts as off. Default: the rules of src/cluster/fencing.ts. */
  readonly fencing?: FenceRules;
  /** By which nodes are silent. Default: `clock`. */
  readonly silence?: Clock;
  readonly onError: (error: Error) => void;
}

export class PoolCaches {
  readonly systemNamespace: string;
  readonly pools: Informer<kinds.StoredPool>;
  readonly reservations: Informer<kinds.StoredReservation>;
  readonly holds: Informer<kinds.StoredHold>;
  readonly pods: Informer<kinds.Pod>;
  readonly nodes: Informer<kinds.Node>;
  readonly statefulSets: Informer<kinds.StatefulSet>;
  /** Of the system namespace. */
  readonly leases: Informer<Lease>;
  readonly presence: Presence;
  readonly holdsByPool = new HoldsByPool();
  /** A pool as it is cached, which cannot change -> as it was parsed: with 4,000 entries that takes 100 ms. */
  readonly #parsed = new WeakMap<DeepReadonly<kinds.StoredPool>, IPPool>();
  readonly #onError: (error: Error) => void;
  #poolsChanged = true;

  constructor({ systemNamespace, fencing: rules = defaultRules, silence, ...options }: PoolCachesOptions) {
    this.systemNamespace = systemNamespace;
    this.#onError = options.onError;
    const follow = <T extends KubeObject>(resource: Resource<T>, transform?: (object: T) => T) =>
      new Informer<T>({ ...options, resource, ...(transform && { transform }) });
    // Slices of nodes are others' work, and there are as many as nodes times networks.
    const scope = { labelSelector: `!${sliceLabelName}` };
    this.pools = new Informer({ ...options, resource: kinds.ipPools, scope });
    this.reservations = follow(kinds.reservations);
    // Those of VM networks are others' work, too (src/vmnet).
    this.holds = new Informer({
      ...options,
      resource: kinds.holds,
      scope: { labelSelector: `!${vmNetworkLabelName}` },
    });
    this.pods = new Informer({ ...options, resource: kinds.pods, transform: trimPod, indexes: podIndexes });
    this.nodes = follow(kinds.nodes, trimNode);
    this.statefulSets = follow(kinds.statefulSets, (set) => {
      return { ...trimmed(set), spec: picked(set.spec ?? {}, "replicas", "ordinals") };
    });
    const indexes = { node: (lease: DeepReadonly<Lease>) => [nodeOfLease(lease)].filter((node) => node !== undefined) };
    const ours = { scope: { namespace: systemNamespace }, indexes, transform: trimLease };
    this.leases = new Informer({ ...options, resource: kinds.leases, ...ours });
    this.presence = new Presence({ nodes: this.nodes, leases: this.leases, clock: silence ?? options.clock, rules });
  }

  get informers() {
    return [this.pools, this.reservations, this.holds, this.pods, this.nodes, this.statefulSets, this.leases] as const;
  }

  /** Tells which pools are to be looked at, until the signal aborts. `touched` gets namespace/name. */
  follow(touched: (pool: ObjectKey) => void, signal: AbortSignal): void {
    this.refreshPools();
    const ends = [
      this.#followHeld(this.reservations, touched),
      this.#followHeld(this.holds, touched),
      this.pools.handle((event) => {
        this.#poolsChanged ||= event.type !== "update" || placeOf(event.object) !== placeOf(event.previous);
        touched(keyOf(event.object));
      }),
    ];
    signal.addEventListener("abort", () => ends.forEach((end) => end()), { once: true });
  }

  /** Sorts holds anew where pools came, went or moved. */
  refreshPools(): void {
    if (!this.#poolsChanged) return;
    this.#poolsChanged = false;
    this.holdsByPool.setPools([...this.pools.cache.list()].flatMap((pool) => poolRangeOf(pool as IPPool) ?? []));
  }

  /** Undefined: there is none, or it cannot be read. */
  pool(key: ObjectKey): IPPool | undefined {
    const object = this.pools.cache.get(key);
    const known = object && this.#parsed.get(object);
    if (object === undefined || known !== undefined) return known;
    try {
      const pool = parseObject(ipPoolKind, object);
      this.#parsed.set(object, pool);
      return pool;
    } catch (error) {
      this.#onError(error as Error);
      return undefined;
    }
  }

  #followHeld<T extends HeldObject>(informer: Informer<T>, touched: (pool: ObjectKey) => void): () => void {
    return informer.handle(({ type, object }) => {
      const key = `${informer.resource.kind}/${keyOf(object)}`;
      const read = type === "delete" ? [] : readHeld(object as HeldObject);
      const held = read.flatMap((each) => (each.unreadable === undefined ? [heldOf(each)] : []));
      for (const pool of this.holdsByPool.put(key, held)) touched(pool);
    });
  }
}

export function heldOf({ hold, namespace, cooling, object }: ListedHold): PoolHold {
  const { name = "", labels, annotations, creationTimestamp } = object.metadata;
  const usedBy = annotations?.[usedByAnnotation];
  return {
    hold,
    kind: object.kind === "Hold" ? "Hold" : "OverlappingRangeIPReservation",
    namespace,
    name,
    node: labels?.[nodeLabelName] ?? "",
    ...(cooling && { cooling }),
    ...(usedBy !== undefined && { usedBy }),
    ...(creationTimestamp !== undefined && { createdMs: Date.parse(creationTimestamp) }),
  };
}

function placeOf(pool: DeepReadonly<kinds.StoredPool>): string {
  const { key, network } = poolRangeOf(pool as IPPool) ?? {};
  return `${key} ${pool.spec.range} ${network}`;
}

/** Without what nobody here reads. */
function trimmed(object: KubeObject) {
  const { annotations: _, labels: __, ...metadata } = object.metadata;
  return { ...picked(object, "apiVersion", "kind"), metadata };
}

function trimNode(node: kinds.Node): kinds.Node {
  const { spec, status } = node;
  const conditions = status?.conditions?.filter(({ type }) => type === "Ready");
  const kept = trimmed(node);
  // Which networks of VMs the node is on, and what it has of the default network on OVN.
  const labels = withPrefix(node.metadata.labels, `${harvesterGroup}/`);
  const annotations = withPrefix(node.metadata.annotations, "k8s.ovn.org/");
  return {
    ...kept,
    metadata: { ...kept.metadata, ...(labels && { labels }), ...(annotations && { annotations }) },
    ...(spec?.taints !== undefined && { spec: { taints: spec.taints } }),
    ...(conditions !== undefined && { status: { conditions } }),
  };
}

/** Undefined: none of them has it. */
function withPrefix(texts: Record<string, string> | undefined, prefix: string): Record<string, string> | undefined {
  const found = Object.entries(texts ?? {}).filter(([name]) => name.startsWith(prefix));
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
