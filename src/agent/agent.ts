// The DHCP agent, put together: it follows the pools and Holds of its networks, serves them on the wire, answers at the
// server addresses by Lease, and keeps what it served last on the disk.
//
// Promised: it serves what the API server has, once all of it is listed; where the server does not answer within two
// seconds of the start, what was served last is served, until the server is there; while the server is away, what it
// had last. Nothing that a client sends or an object says ends it.
import type { Registry } from "prom-client";

import type { StoredManagedPool } from "../cluster/resources.ts";
import { trustedNamespaces } from "../cluster/trusted-namespaces.ts";
import type { WireHandler } from "../dhcp/socket/interface.ts";
import type { OpenWire, Wire } from "../dhcp/socket/wire.ts";
import { DhcpV6Server } from "../dhcp/v6/server/server.ts";
import { asError, untilAborted } from "../kube/abort.ts";
import type { Informer } from "../kube/cache/informer.ts";
import { type Clock, deadline, sleep } from "../kube/clock.ts";
import { isEqual } from "../kube/conditions.ts";
import { EventRecorder } from "../kube/events/events.ts";
import { type DeepReadonly, keyOf, type ObjectKey, parseKey } from "../kube/meta.ts";
import { HealthServer } from "../kube/process/health.ts";
import type { KubeMetrics } from "../kube/process/metrics.ts";
import type { KubeClient } from "../kube/rest.ts";
import type { Log } from "../log/log.ts";
import { Findings } from "./compile/finding.ts";
import { type CompiledPool, compileManagedPool } from "./compile/pool.ts";
import { QuarantineWriter } from "./effects/quarantine-writer.ts";
import { followHolds, type FollowOptions, followPools } from "./informers.ts";
import { leasesPage } from "./leases-page.ts";
import { AgentMetrics } from "./metrics.ts";
import { NetworkAgent } from "./network-agent.ts";
import type { Relays } from "./relays.ts";
import { StateFile, type StateFileOptions } from "./state/state-file.ts";
import type { StateToWrite } from "./state/state-text.ts";
import { checkTargets, type Target } from "./target.ts";

export interface AgentOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly log: Log;
  readonly systemNamespace: string;
  /** That of its pod. */
  readonly name: string;
  readonly targets: readonly Target[];
  /** Namespaces whose pools may name a network of another one. Default: the system namespace and `default`. */
  readonly trusted?: ReadonlySet<string>;
  readonly openWire: OpenWire;
  /** Path of the network namespace that the interfaces are in. Default: the process's. */
  readonly netns?: string;
  /** Default: no relay is answered. */
  readonly relays?: Relays;
  /** Undefined: nothing is kept. */
  readonly state?: Pick<StateFileOptions, "folder" | "disk">;
  readonly health?: { readonly host?: string; readonly port?: number };
  readonly registry?: Registry;
  readonly kubeMetrics?: KubeMetrics;
  readonly onListen?: (port: number) => void;
  /** Given once it runs: whether it answers on the interface of this network. */
  readonly onStart?: (serves: (network: ObjectKey) => boolean) => void;
  /** On shutdown, how long it answers on for another agent to take over. */
  readonly handOverMs?: number;
}

/** How long the API server has to give its first list, before what was served last is served. */
const patienceMs = 2000;
const handOverDefaultMs = 3000;
/** A second, or so long that all Leases of the process together take 20 writes a second. */
const renewMs = 1000;
const renewMsPerNetwork = 50;
/** A renewal may be lost, and the next be late. */
const durationPerRenewal = 3;
const reopenMs = 1000;

export async function runAgent(options: AgentOptions, signal: AbortSignal): Promise<void> {
  checkTargets(options.targets);
  await new Agent(options).run(signal);
}

class Agent {
  readonly #options: AgentOptions & { readonly random: () => number };
  readonly #findings: Findings;
  readonly #events: EventRecorder;
  readonly #quarantines: QuarantineWriter;
  readonly #metrics: AgentMetrics | undefined;
  readonly #file: StateFile | undefined;
  readonly #serverV6 = new DhcpV6Server();
  /** Key: the namespace. */
  readonly #pools = new Map<string, Informer<StoredManagedPool>>();
  /** Of every network: one of them may be served later. */
  readonly #compiled = new Map<ObjectKey, { readonly pool: DeepReadonly<StoredManagedPool>; compiled: CompiledPool }>();
  /** Key: namespace/name of the network. */
  readonly #networks = new Map<ObjectKey, Followed>();
  readonly #following: FollowOptions;
  /** Informers and networks run until here. */
  readonly #work = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #wire: Wire | undefined;
  #hasStarted = false;

  constructor(options: AgentOptions) {
    const { client, clock, log, systemNamespace, name, registry, state } = options;
    this.#options = { random: Math.random, ...options };
    const { random } = this.#options;
    const onError = (error: Error) => log.warn("in the background", { error });
    this.#following = { client, clock, random, onError };
    this.#findings = new Findings(log);
    this.#events = new EventRecorder({ client, clock, random, component: "holdfast-agent", instance: name, onError });
    this.#quarantines = new QuarantineWriter({ client, clock, systemNamespace, onError });
    this.#metrics = registry && new AgentMetrics(registry);
    this.#file = state && new StateFile({ ...state, clock, onError });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { targets, health } = this.#options;
    const events = new AbortController();
    const recording = this.#events.run(events.signal);
    const server = health && (await this.#listen(health));
    this.#wire = await this.#open();
    try {
      for (const namespace of this.#trusted) this.#followPools(namespace);
      for (const { key } of targets) this.#followPools(parseKey(key).namespace ?? "");
      for (const { kind, key, interface: name } of targets) if (kind === "network") this.#add(key, name, undefined);
      const work = this.#work.signal;
      this.#start(this.#quarantines.run(work));
      const saving = this.#file?.run(() => this.#state(), signal);
      await this.#beginServing(signal);
      this.#hasStarted = true;
      this.#options.onStart?.((network) => this.#networks.get(network)?.agent.isLinked === true);
      this.#metrics?.watch({ networks: () => this.#all(), wire: () => this.#wire, findings: this.#findings });
      await untilAborted(signal);
      await saving;
      // The Leases first: the wire answers on until others have them.
      this.#work.abort(signal.reason);
      await Promise.all(this.#running);
    } finally {
      this.#work.abort();
      events.abort();
      await Promise.all([this.#wire.close(), server?.close(), recording]);
    }
  }

  *#all(): IterableIterator<NetworkAgent> {
    for (const { agent } of this.#networks.values()) yield agent;
  }

  /** What was served last, if the server takes longer than that to say what there is. */
  async #beginServing(signal: AbortSignal): Promise<void> {
    const last = await this.#file?.read();
    using limit = deadline(this.#options.clock, patienceMs, signal);
    await this.#synced(limit.signal).catch(() => {});
    if (!limit.expired || last === undefined) return;
    const { log } = this.#options;
    log.warn("the API server does not answer: serving what was served last", {
      saved: new Date(last.savedMs).toISOString(),
    });
    // What the server has said already is newer.
    for (const { network, pools, holds } of last.networks) {
      for (const pool of pools) if (!this.#isListed(pool) && !this.#isKnown(keyOf(pool))) this.#poolSet(pool);
      const followed = this.#networks.get(network);
      if (followed === undefined) continue;
      // A list is told in turns: what it has told of already stays.
      const isNews = (hold: (typeof holds)[number]) => followed.holds.cache.get(keyOf(hold)) === undefined;
      if (!followed.holds.hasSynced) for (const hold of holds.filter(isNews)) followed.agent.served.setHold(hold);
      followed.agent.begin();
    }
  }

  async #synced(signal: AbortSignal): Promise<void> {
    await this.#poolsListed(signal);
    await Promise.all(Array.from(this.#networks.values(), ({ holds }) => holds.synced(signal)));
  }

  /** All pools of its namespace are: if it is none of them, it is gone. */
  #isListed({ metadata }: DeepReadonly<StoredManagedPool>): boolean {
    return this.#pools.get(metadata.namespace ?? "")?.hasSynced === true;
  }

  get #arePoolsListed(): boolean {
    return [...this.#pools.values()].every(({ hasSynced }) => hasSynced);
  }

  /** Also of a namespace that comes to be followed meanwhile: a map gives those that are added behind. */
  async #poolsListed(signal: AbortSignal): Promise<void> {
    for (const informer of this.#pools.values()) await informer.synced(signal);
  }

  get #trusted(): ReadonlySet<string> {
    return this.#options.trusted ?? trustedNamespaces(this.#options.systemNamespace);
  }

  /** A pool is judged beside all others of its network, so all of the namespace are followed. */
  #followPools(namespace: string): void {
    if (this.#pools.has(namespace)) return;
    const informer = followPools(this.#following, namespace);
    this.#pools.set(namespace, informer);
    informer.handle((event) => {
      // Its status is written whenever an address is given.
      if (event.type === "update" && isEqual(event.object.spec, event.previous.spec)) return;
      if (event.type === "delete") this.#poolDeleted(keyOf(event.object));
      else this.#poolSet(event.object);
    });
    this.#start(informer.run(this.#work.signal));
  }

  #isKnown(pool: ObjectKey): boolean {
    return this.#pools.get(parseKey(pool).namespace ?? "")?.cache.get(pool) !== undefined;
  }

  #poolSet(pool: DeepReadonly<StoredManagedPool>): void {
    const key = keyOf(pool);
    const target = this.#options.targets.find((each) => each.kind === "pool" && each.key === key);
    const compiled = compileManagedPool(pool);
    this.#compiled.set(key, { pool, compiled });
    if (target !== undefined && compiled.network === undefined) this.#findings.tell(`ippl ${key}`, compiled.findings);
    if (target !== undefined && compiled.network !== undefined) this.#add(compiled.network, target.interface, key);
    for (const { agent } of this.#networks.values()) {
      agent.served.setPool(pool, compiled);
      agent.changed();
    }
  }

  #poolDeleted(key: ObjectKey): void {
    this.#compiled.delete(key);
    for (const { agent } of this.#networks.values()) {
      agent.served.deletePool(key);
      agent.changed();
    }
  }

  /** `pool`: of this network, it is to be served. Undefined: all are. */
  #add(network: ObjectKey, interfaceName: string, pool: ObjectKey | undefined): void {
    const known = this.#networks.get(network);
    if (known !== undefined) {
      if (pool === undefined || known.onlyPools?.has(pool) !== false) return;
      known.onlyPools.add(pool);
      for (const hold of known.holds.cache.list()) known.agent.served.setHold(hold);
      return;
    }
    this.#followPools(parseKey(network).namespace ?? "");
    const { client, clock, random, log, systemNamespace, name, targets } = this.#options;
    const trusted = this.#trusted;
    const onlyPools = pool === undefined ? undefined : new Set([pool]);
    const periodMs = Math.max(renewMs, renewMsPerNetwork * targets.length);
    const agent = new NetworkAgent({
      name: network,
      interface: interfaceName,
      onlyPools,
      trusted,
      acceptRelays: this.#options.relays?.onLinks ?? false,
      serverV6: this.#serverV6,
      takeV6: (effect) => this.#networks.get(effect.network)?.agent.take(effect),
      client,
      clock,
      random,
      log,
      systemNamespace,
      agent: name,
      leaseTimes: {
        renewMs: periodMs,
        leaseDurationMs: durationPerRenewal * periodMs,
        handOverMs: this.#options.handOverMs ?? handOverDefaultMs,
      },
      findings: this.#findings,
      events: this.#events,
      quarantines: this.#quarantines,
      count: (what, of) => this.#metrics?.count(what, of),
      onChange: () => this.#file?.touch(),
    });
    const holds = followHolds(this.#following, agent.served.domain, systemNamespace);
    this.#networks.set(network, { agent, holds, onlyPools });
    for (const each of this.#compiled.values()) agent.served.setPool(each.pool, each.compiled);
    const signal = this.#work.signal;
    holds.handle(({ type, object }) => {
      if (type === "delete") agent.served.deleteHold(object.metadata.name ?? "");
      else agent.served.setHold(object);
      agent.changed();
    });
    const listed = () => {
      agent.served.retainPools((key) => this.#isKnown(key));
      const there = new Set(holds.cache.keys());
      agent.served.retainHolds((hold) => there.has(`${systemNamespace}/${hold}`));
      agent.listed();
    };
    Promise.all([holds.synced(signal), this.#poolsListed(signal)]).then(listed, () => {}); // aborted before that
    if (this.#wire !== undefined) agent.useWire(this.#wire);
    this.#start(holds.run(signal));
    this.#start(agent.run(signal));
  }

  #start(work: Promise<void>): void {
    const { log } = this.#options;
    const running: Promise<void> = work
      .catch((error: unknown) => log.error("ended", { error: asError(error) }))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #open(): Promise<Wire> {
    const { openWire, netns, relays } = this.#options;
    const address = relays?.address;
    return openWire({
      handler: this.#handler(),
      ...(netns !== undefined && { netns }),
      ...(address !== undefined && { relay: { address } }),
    });
  }

  #handler(): WireHandler {
    const { log } = this.#options;
    return {
      effects: (effects) => {
        for (const effect of effects) this.#networks.get(effect.network)?.agent.take(effect);
      },
      frames: (frames) => {
        for (const frame of frames) this.#networks.get(frame.network)?.agent.takeFrame(frame);
      },
      link: ({ network, interface: name, state, mac, acceptsRouters = false, message }) => {
        this.#findings.tell(`interface ${name}`, acceptsRouters ? [acceptsRoutersWords(name)] : [], "not safe");
        log[state === "up" ? "info" : "warn"](message, { network, interface: name, state });
        this.#networks.get(network)?.agent.linked(state === "up" ? mac : undefined);
      },
      contested: ({ network, address, mac }) => this.#networks.get(network)?.agent.contested(address, mac),
      lost: (error) => {
        log.error("the wire is lost, and opened again", { error });
        void this.#reopen();
      },
    };
  }

  /** Another thread, told everything. */
  async #reopen(): Promise<void> {
    const { clock, log } = this.#options;
    while (await sleep(clock, reopenMs, this.#work.signal)) {
      try {
        const wire = await this.#open();
        this.#wire = wire;
        for (const { agent } of this.#networks.values()) agent.useWire(wire);
        return;
      } catch (error) {
        log.error("the wire cannot be opened", { error: asError(error) });
      }
    }
  }

  /** Undefined: not all of it has been listed, and the file has what was before. */
  #state(): StateToWrite | undefined {
    const isWhole = this.#arePoolsListed && [...this.#networks.values()].every(({ holds }) => holds.hasSynced);
    if (!isWhole) return undefined;
    const networks = Array.from(this.#networks.values(), ({ agent: { served }, holds }) => ({
      network: served.name,
      pools: [...served.poolObjects],
      holds: holds.cache.list().filter(({ metadata }) => served.hasHold(metadata.name ?? "")),
    }));
    return { savedMs: this.#options.clock.wallMs(), networks };
  }

  async #listen(health: NonNullable<AgentOptions["health"]>): Promise<HealthServer> {
    const { clock, kubeMetrics, onListen } = this.#options;
    const server = new HealthServer({
      ...health,
      clock,
      metrics: kubeMetrics,
      healthz: () => ({ ping: () => {} }),
      readyz: () => ({ serving: () => this.#checkReady() }),
      pages: { "/leases": () => leasesPage(this.#all(), this.#findings) },
    });
    const port = await server.listen();
    onListen?.(port);
    return server;
  }

  /** Ready to answer, from the server's word or from the file. */
  #checkReady(): void {
    if (!this.#hasStarted) throw new Error("the first list is under way");
    const pools = this.#options.targets.filter(({ kind }) => kind === "pool").length;
    if (this.#networks.size === 0 && pools > 0) throw new Error("none of its pools is there yet");
    if (![...this.#all()].every(({ isLinked }) => isLinked)) throw new Error("an interface is not up");
  }
}

/** The setting is the pod's namespace's own, and the agent has no right to it. */
function acceptsRoutersWords(name: string): string {
  return `The kernel takes a default IPv6 route from whoever advertises one on ${name}, guests and other agents: set net.ipv6.conf.${name}.accept_ra to 0 there, in a pod by the plugin "tuning" in its NetworkAttachmentDefinition.`;
}

interface Followed {
  readonly agent: NetworkAgent;
  readonly holds: ReturnType<typeof followHolds>;
  readonly onlyPools: Set<ObjectKey> | undefined;
}
