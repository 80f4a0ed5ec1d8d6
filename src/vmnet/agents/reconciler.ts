// Where agents run: per managed pool a Deployment and a budget, made, repaired and removed; and the labels by which a
// network names its pool. The leader of managed DHCP starts it (`follow`, `finish`), and writes what it has to `say`.
//
// Promised: nothing is removed before all pools have been listed and the server was asked for the one that is missing;
// every write is guarded, so that two leaders at once do no harm; a pool that cannot be served leaves its agents as
// they are. Not promised: that agents run; `statusOf` says why they do not.
import { managedPoolKind } from "../../api/vmnet/managed-pool.ts";
import {
  clusterNetworkLabelName,
  partsOfServerIdentity,
  poolOfServerLease,
  serverLeaseName,
} from "../../api/vmnet/marks.ts";
import { OptionalInformer } from "../../cluster/optional-informer.ts";
import type { ReconcilerOptions } from "../../cluster/reconciler-options.ts";
import { leases as leaseKind, managedPools, networkAttachmentDefinitions } from "../../cluster/resources.ts";
import type { NetworkAttachmentDefinition, Node, StoredManagedPool } from "../../cluster/resources.ts";
import { trustedNamespaces } from "../../cluster/trusted-namespaces.ts";
import type { Informer } from "../../kube/cache/informer.ts";
import { isEqual } from "../../kube/conditions.ts";
import { isApiError } from "../../kube/errors.ts";
import type { Lease } from "../../kube/lease.ts";
import { type DeepReadonly, keyOf, type KubeObject, type ObjectKey, parseKey } from "../../kube/meta.ts";
import type { Runnable } from "../../kube/process/stages.ts";
import { Controller, type Reconcile } from "../../kube/queue/controller.ts";
import type { Resource } from "../../kube/resource.ts";
import { unless } from "../../kube/unless.ts";
import type { Trusted } from "../rules/examine-pool.ts";
import { AgentCaches, poolKeysOf } from "./caches.ts";
import { agentBudget, agentDeployment, type AgentSettings, defaultAgentReplicas } from "./deployment.ts";
import { poolNameOf, replicasAsked } from "./deployment.ts";
import { hasDrifted, isOwn, repaired } from "./drift.ts";
import { networkKeyOf, obstacleOf } from "./judge.ts";
import { agentReplicasAnnotation } from "./names.ts";
import { labelPatch } from "./network-labels.ts";
import { agentBudgets, agentDeployments, agentPods } from "./objects.ts";
import { type Placement, placementOf } from "./placement.ts";
import { type AgentStatus, agentStatusOf, type Obstacle } from "./status.ts";
import { sortPods, takeoverRestMs, takeoverStep } from "./takeover.ts";

type Pool = DeepReadonly<StoredManagedPool>;
type Definition = DeepReadonly<NetworkAttachmentDefinition>;
type Given = "client" | "clock" | "log" | "systemNamespace" | "definitions" | "nodes" | "events" | "kubeMetrics";

export interface AgentsOptions extends Pick<ReconcilerOptions, Given> {
  /** Default: one of its own. */
  readonly pools?: OptionalInformer<StoredManagedPool>;
  /** How often a cluster that lacks the kind of pools is asked again. */
  readonly retryMs?: number;
  /** Of the system namespace: who holds the server's address of each pool. */
  readonly leases: Informer<Lease>;
  /** What agents run: as a rule the controller's own image. */
  readonly image: string;
  /** Default: 2. */
  readonly replicas?: number;
  /** As agents are told them: which other pools of their network count. Default: none are told. */
  readonly trustedNamespaces?: readonly string[];
  /** Namespaces in which only administrators write: their pools serve any network. Default: `trustedNamespaces`. */
  readonly trusted?: Trusted;
}

/** What the status of a pool is told. */
export interface AgentsWord {
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: boolean;
    readonly reason?: string;
    readonly message?: string;
  }[];
  /** `none`: no agent of ours is known to hold the server's address. */
  readonly agentPodRef?: NonNullable<AgentStatus["agentPodRef"]> | "none";
}

/** Pools wait for the server and for nothing else. */
const concurrency = 4;

export class AgentsReconciler {
  readonly #options: AgentsOptions & { readonly pools: OptionalInformer<StoredManagedPool> };
  /** On every replica. */
  readonly follows: readonly Runnable[];
  readonly #settings: AgentSettings;
  readonly #caches: AgentCaches;
  readonly #agents: Controller;
  readonly #labels: Controller;
  readonly #listeners = new Set<(pool: ObjectKey) => void>();
  /** Pool -> why its agents cannot be made, or cannot run. */
  readonly #obstacles = new Map<ObjectKey, Obstacle>();
  /** Pool -> when an agent of Harvester's was last deleted for it. */
  readonly #takeovers = new Map<ObjectKey, number>();
  /** Pools that are being deleted and that nobody uses any more. */
  readonly #finishing = new Set<ObjectKey>();
  /** `pool reason message` of events that were recorded in this term: each is told once. */
  readonly #told = new Set<string>();

  constructor(options: AgentsOptions) {
    const { client, clock, log, kubeMetrics, systemNamespace, image, retryMs, trustedNamespaces: names } = options;
    const onError = (error: Error) => log.warn("following DHCP agents", { error });
    const following = { client, clock, onError };
    const own = { ...following, resource: managedPools, asksFirst: true, ...(retryMs !== undefined && { retryMs }) };
    const pools = options.pools ?? new OptionalInformer(own);
    this.#options = { ...options, pools };
    const replicas = options.replicas ?? defaultAgentReplicas;
    this.#settings = { systemNamespace, image, replicas, ...(names && { trustedNamespaces: names }) };
    this.#caches = new AgentCaches({ ...following, systemNamespace });
    const follow = { name: "following DHCP agents", run: (signal: AbortSignal) => this.#followAgents(signal) };
    this.follows = options.pools === undefined ? [pools.follow, follow] : [follow];
    const controller = (name: string, reconcile: Reconcile) =>
      new Controller({
        name,
        concurrency,
        clock,
        reconcile,
        onError: (error, key) => log.warn(`${name}: it is tried again`, { key, error }),
        ...(kubeMetrics && { observer: kubeMetrics.controller(name) }),
      });
    this.#agents = controller("dhcp-agents", (key, { signal }) => this.#reconcile(key, signal));
    this.#labels = controller("vm-network-labels", (key, { signal }) => this.#label(key, signal));
  }

  /** Under the lease. */
  readonly lead: Runnable = { name: "dhcp-agents", run: (signal) => this.#run(signal) };

  /** What the status of a pool should say of its agents; undefined: there is no such pool, or nothing is known yet. */
  statusOf(key: ObjectKey): AgentStatus | undefined {
    const { pools, leases, systemNamespace } = this.#options;
    const pool = pools.cache.get(key);
    if (pool === undefined || this.#caches.informers.some(({ hasSynced }) => !hasSynced)) return undefined;
    const lease = leases.cache.get(`${systemNamespace}/${serverLeaseName(poolNameOf(pool))}`);
    return agentStatusOf({
      pool,
      deployment: this.#caches.deployments.cache.byIndex("pool", key)[0],
      pods: this.#podsOf(key).ours,
      holder: partsOfServerIdentity(lease?.spec?.holderIdentity ?? "").agent,
      obstacle: this.#obstacles.get(key),
    });
  }

  /** Calls `wake` with each pool of which there may be something new to say, until the signal aborts. */
  follow(wake: (pool: ObjectKey) => void, signal: AbortSignal): void {
    this.#listeners.add(wake);
    signal.addEventListener("abort", () => this.#listeners.delete(wake), { once: true });
  }

  /** For the pool's status. As Harvester has it, a condition that is true without reserve has no reason. */
  say(pool: Pool): AgentsWord {
    const status = this.statusOf(keyOf(pool));
    if (status === undefined) return {};
    const { type, status: is, reason, message } = status.condition;
    const condition = reason === "Ready" ? { type, status: is } : { type, status: is, reason, message };
    return { conditions: [condition], agentPodRef: status.agentPodRef ?? "none" };
  }

  /** The pool is being deleted, and nobody uses it: its agents go. False: they are still there; it wakes the pool. */
  async finish(pool: Pool, signal: AbortSignal): Promise<boolean> {
    const key = keyOf(pool);
    this.#finishing.add(key);
    this.#labels.enqueue(networkKeyOf(pool));
    await this.#remove(key, signal);
    const { deployments, budgets } = this.#caches;
    return [deployments, budgets].every(({ cache }) => cache.byIndex("pool", key).length === 0);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { pools, definitions, nodes, leases } = this.#options;
    try {
      await Promise.all([
        ...[...this.#caches.informers, nodes, leases].map((each) => each.synced(signal)),
        pools.listed(signal),
        definitions.known(signal),
      ]);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) return;
    this.#told.clear();
    const ends = this.#follow();
    signal.addEventListener("abort", () => ends.forEach((end) => end()), { once: true });
    await Promise.all([this.#agents.run(signal), this.#labels.run(signal)]);
  }

  /** Not before the cluster has the kind of pools: without it, the controller need not have the rights either. */
  async #followAgents(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.pools.listed(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (!signal.aborted) await Promise.all(this.#caches.informers.map((each) => each.run(signal)));
  }

  /** Handlers are told of all that is cached: what is there is looked at once at the start. */
  #follow(): (() => void)[] {
    const { pools, definitions, nodes, leases } = this.#options;
    const { deployments, budgets, pods } = this.#caches;
    const wake = (object: DeepReadonly<KubeObject>) => {
      for (const key of poolKeysOf(object)) this.#agents.enqueue(key);
    };
    return [
      pools.handle((event) => {
        this.#agents.enqueue(keyOf(event.object));
        const places = [event.object, ...(event.type === "update" ? [event.previous] : [])];
        for (const pool of places) this.#labels.enqueue(networkKeyOf(pool));
      }),
      definitions.handle(({ object }) => {
        this.#labels.enqueue(keyOf(object));
        for (const pool of this.#poolsOn(keyOf(object))) this.#agents.enqueue(keyOf(pool));
      }),
      nodes.handle((event) => {
        if (event.type === "update" && isSamePlace(event.object, event.previous)) return;
        for (const pool of pools.cache.list()) this.#agents.enqueue(keyOf(pool));
      }),
      deployments.handle(({ object }) => wake(object)),
      budgets.handle(({ object }) => wake(object)),
      pods.handle(({ object }) => wake(object)),
      leases.handle((event) => {
        const before = event.type === "update" ? event.previous.spec?.holderIdentity : undefined;
        if (event.type === "update" && event.object.spec?.holderIdentity === before) return;
        const key = poolOfServerLease(event.object.metadata.name ?? "");
        if (key !== undefined) this.#changed(key);
      }),
    ];
  }

  async #reconcile(key: ObjectKey, signal: AbortSignal): Promise<{ requeueAfterMs: number } | undefined> {
    const { pools, definitions } = this.#options;
    // A kind that is not served, or not listed, says nothing about pools: their agents go on.
    if (!pools.isListed) return undefined;
    const pool = pools.cache.get(key);
    if (pool === undefined || this.#finishing.has(key)) {
      await this.#remove(key, signal);
      if (pool === undefined) this.#finishing.delete(key);
      this.#changed(key);
      return undefined;
    }
    const network = definitions.cache.get(networkKeyOf(pool));
    const obstacle = this.#judge(pool, network);
    if (network === undefined || obstacle !== undefined) return this.#hinder(key, pool, obstacle);
    const placement = placementOf(network.metadata.labels?.[clusterNetworkLabelName], [
      ...this.#options.nodes.cache.list(),
    ]);
    const taken = await this.#apply(key, pool, network, placement, signal);
    this.#hinder(key, pool, taken ?? emptyNetwork(network, placement));
    return this.#takeOver(key, pool, signal);
  }

  /** Undefined: it may be served. */
  #judge(pool: Pool, network: Definition | undefined): Obstacle | undefined {
    const { trusted = trustedNamespaces(this.#options.systemNamespace) } = this.#options;
    return obstacleOf(pool, network, network === undefined ? [] : this.#poolsOn(keyOf(network)), trusted);
  }

  /** Remembers what is in the way, and tells of it once. */
  #hinder(key: ObjectKey, pool: Pool, obstacle: Obstacle | undefined): undefined {
    const before = this.#obstacles.get(key);
    if (obstacle === undefined) this.#obstacles.delete(key);
    else this.#obstacles.set(key, obstacle);
    if (obstacle !== undefined && !isEqual(before, obstacle)) this.#tell(pool, obstacle.reason, obstacle.message);
    this.#changed(key);
  }

  /** An obstacle, if an object of somebody else has the name. */
  async #apply(
    key: ObjectKey,
    pool: Pool,
    network: Definition,
    placement: Placement,
    signal: AbortSignal,
  ): Promise<Obstacle | undefined> {
    const { client } = this.#options;
    const { deployments, budgets } = this.#caches;
    this.#advise(pool, network, placement);
    const found = deployments.cache.byIndex("pool", key)[0];
    const at = { namespace: network.metadata.namespace ?? "", name: network.metadata.name ?? "" };
    const wanted = agentDeployment({ pool, network: at, placement, found }, this.#settings);
    const budget = agentBudget(poolNameOf(pool), this.#settings);
    const write = async <T extends KubeObject & { spec: unknown }>(
      resource: Resource<T>,
      existing: DeepReadonly<T> | undefined,
      object: T,
    ): Promise<boolean> => {
      if (existing === undefined) {
        if ((await unless(["already-exists"], client.create(resource, object, { signal }))) !== undefined) return true;
        // Either the cache is behind, or somebody else has the name: without our labels it is not in the cache.
        const other = await client.lookUp(resource, nameOf(object), { signal });
        return other === undefined || isOwn(other, object);
      }
      if (hasDrifted(existing, object)) await client.update(resource, repaired(existing, object), { signal });
      return true;
    };
    const isOurs =
      (await write(agentDeployments, found, wanted)) &&
      (await write(agentBudgets, budgets.cache.byIndex("pool", key)[0], budget));
    if (isOurs) return undefined;
    const { namespace, name } = wanted.metadata;
    const message = `A Deployment or PodDisruptionBudget ${namespace}/${name} that is not ours has the name of this pool's agents: rename or delete it.`;
    return { reason: "NameTaken", message };
  }

  #advise(pool: Pool, network: Definition, placement: Placement): void {
    if (replicasAsked(pool).isWrong) {
      const text = JSON.stringify(pool.metadata.annotations?.[agentReplicasAnnotation]);
      const words = `The annotation ${agentReplicasAnnotation} is ${text}: write a number from 1 to 9. Until then it has ${this.#settings.replicas} agents.`;
      this.#tell(pool, "BadAgentReplicas", words);
    }
    if (placement.nodeLabel !== undefined) return;
    const words = `NetworkAttachmentDefinition ${keyOf(network)} has no label ${clusterNetworkLabelName}: its agents may be placed on any node, also on one without the network.`;
    this.#tell(pool, "NoClusterNetwork", words);
  }

  /** The pool is gone, or is going. A cache may be wrong about that; the server is asked. */
  async #remove(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const { client, leases, systemNamespace } = this.#options;
    const { deployments, budgets } = this.#caches;
    this.#obstacles.delete(key);
    this.#takeovers.delete(key);
    const { namespace = "", name } = parseKey(key);
    const lease = leases.cache.get(`${systemNamespace}/${serverLeaseName({ namespace, name })}`);
    // An agent that still runs would make its Lease again: it goes when the last one has gone, whose end wakes this.
    const isOver = this.#podsOf(key).ours.length === 0;
    const all = [
      ...deployments.cache.byIndex("pool", key).map((object) => [agentDeployments as Resource, object] as const),
      ...budgets.cache.byIndex("pool", key).map((object) => [agentBudgets as Resource, object] as const),
      ...(lease !== undefined && isOver ? [[leaseKind as Resource, lease] as const] : []),
    ];
    if (all.length === 0) return;
    const pool = await client.lookUp(managedPools, { namespace, name }, { signal });
    if (pool !== undefined && pool.metadata.deletionTimestamp === undefined) return;
    for (const [resource, { metadata }] of all) {
      const { uid } = metadata;
      const options = { signal, propagationPolicy: "Background", ...(uid !== undefined && { preconditions: { uid } }) };
      const deleting = client.delete(resource, nameOf({ metadata }), options as { propagationPolicy: "Background" });
      await unless(["not-found", "conflict"], deleting);
    }
  }

  async #takeOver(key: ObjectKey, pool: Pool, signal: AbortSignal): Promise<{ requeueAfterMs: number } | undefined> {
    const { client, clock, log } = this.#options;
    const nowMs = clock.monotonicMs();
    const isPaused = pool.spec.paused === true;
    const step = takeoverStep({ ...this.#podsOf(key), isPaused, deletedMs: this.#takeovers.get(key), nowMs });
    if (step.kind === "wait") return undefined;
    if (step.kind === "rest") {
      const words =
        "An agent of Harvester's was made again after it was removed: its controller still runs. Scale the Deployment of vm-dhcp-controller to 0 (docs/managed-dhcp.md).";
      this.#tell(pool, "HarvesterStillRuns", words);
      return { requeueAfterMs: step.forMs };
    }
    this.#takeovers.set(key, nowMs);
    for (const pod of step.pods) {
      const { uid } = pod.metadata;
      try {
        const options = { signal, ...(uid !== undefined && { preconditions: { uid } }) };
        await unless(["not-found", "conflict"], client.delete(agentPods, nameOf(pod), options));
        log.info("an agent of Harvester's is removed: ours are ready", { pool: key, pod: keyOf(pod) });
      } catch (error) {
        if (!isApiError(error, "forbidden")) throw error;
        const words = `Pod ${keyOf(pod)} of Harvester still answers beside our agents, and may not be removed: apply deploy/managed-dhcp/takeover.yaml, or delete it.`;
        this.#tell(pool, "TakeoverRefused", words);
        return { requeueAfterMs: takeoverRestMs };
      }
    }
    return undefined;
  }

  async #label(key: ObjectKey, signal: AbortSignal): Promise<undefined> {
    const { client, pools, definitions } = this.#options;
    const definition = definitions.cache.get(key);
    if (definition === undefined || !pools.isListed) return;
    const own = this.#poolsOn(key).filter(
      (pool) => !this.#finishing.has(keyOf(pool)) && this.#judge(pool, definition) === undefined,
    );
    const body = labelPatch(definition, own.map(poolNameOf));
    if (body === undefined) return;
    // Somebody was faster: the watch tells of it, and it is looked at again.
    const patching = client.patch(
      networkAttachmentDefinitions,
      nameOf(definition),
      { type: "merge", body },
      { signal },
    );
    await unless(["conflict", "not-found"], patching);
  }

  #podsOf(key: ObjectKey) {
    return sortPods(this.#caches.pods.cache.byIndex("pool", key), this.#options.systemNamespace);
  }

  #poolsOn(network: ObjectKey): Pool[] {
    return [...this.#options.pools.cache.list()].filter((pool) => networkKeyOf(pool) === network);
  }

  #changed(key: ObjectKey): void {
    for (const listener of this.#listeners) listener(key);
  }

  #tell(pool: Pool, reason: string, words: string): void {
    const id = `${keyOf(pool)} ${reason} ${words}`;
    if (this.#told.has(id)) return;
    this.#told.add(id);
    const { kind, group, version } = managedPoolKind;
    const about = { apiVersion: `${group}/${version}`, kind, metadata: pool.metadata };
    this.#options.events?.record(about, "Warning", reason, words);
  }
}

function emptyNetwork(network: Definition, { nodeLabel, nodeCount }: Placement): Obstacle | undefined {
  if (nodeLabel === undefined || nodeCount > 0) return undefined;
  const message = `No node has the label ${nodeLabel}=true, so the network ${keyOf(network)} is on none: give its cluster network a node.`;
  return { reason: "NoNode", message };
}

function nameOf({ metadata }: DeepReadonly<KubeObject>) {
  const { namespace, name = "" } = metadata;
  return { name, ...(namespace !== undefined && { namespace }) };
}

/** Taints and labels decide where agents go; a node's heartbeat does not. */
function isSamePlace(a: DeepReadonly<Node>, b: DeepReadonly<Node>): boolean {
  return isEqual(a.metadata.labels, b.metadata.labels) && isEqual(a.spec?.taints, b.spec?.taints);
}
