// One term of a leader of managed DHCP: a queue of VMs, one of network configs, one of pools, and what wakes them. It
// begins with a look at everything, so what the last leader left undone is finished. A VM's address:
//   machines   the VM's NICs           -> its network config       one write
//   configs    the config's NICs       -> holds, then its status   one write each
//   pools      the holds of a pool     -> the pool's status        at most one write a second
//   claims     the holds of a NIC      -> the claim's status       one write; where a network has claims
// A network config without an address waits in `#waiting` by its networks, and is woken by whatever could free one.
import { parseDomain } from "../../api/pools/domain.ts";
import { fetchState, readState } from "../../cluster/state.ts";
import { trustedNamespaces } from "../../cluster/trusted-namespaces.ts";
import type { Domain } from "../../ipam/ledger.ts";
import { MultiMap } from "../../kube/cache/multi-map.ts";
import { isApiError } from "../../kube/errors.ts";
import { keyOf, type ObjectKey } from "../../kube/meta.ts";
import { Controller } from "../../kube/queue/controller.ts";
import { ReservationLedger } from "../../ledger/reservation/reservation-ledger.ts";
import type { NicHold } from "../plan/nic-hold.ts";
import { AllocationError, Allocator } from "./allocation.ts";
import { networksOf, type Pool, type VmnetCaches } from "./caches.ts";
import { Claims } from "./claims.ts";
import { Configs } from "./configs.ts";
import type { ToldHold } from "./holds/followed-holds.ts";
import { NicHolds } from "./holds/nic-holds.ts";
import { Machines } from "./machines.ts";
import { isAdopted, isDeleting, Networks } from "./networks.ts";
import { defaultPace, type VmnetOptions } from "./options.ts";
import { Pools } from "./pools.ts";
import { Upkeep } from "./upkeep.ts";

/** They wait for the server and for nothing else: as many as a small API server answers at once. */
const concurrency = 8;
/** Until a kind that has just come is listed. */
const unknownMs = 1000;
/** While handing out is paused: asked again after. */
const pausedMs = 5000;
/** One small read a second, whatever there is to do. */
const stateMs = 1000;

type Work = (key: ObjectKey, signal: AbortSignal) => Promise<{ readonly requeueAfterMs: number } | undefined | void>;

export class VmnetTerm {
  readonly #options: VmnetOptions;
  readonly #caches: VmnetCaches;
  readonly #holds: NicHolds;
  readonly #networks: Networks;
  readonly #machines: Controller;
  readonly #configs: Controller;
  readonly #pools: Controller;
  readonly #claims: Controller;
  readonly #claimsWork: Claims;
  readonly #poolsWork: Pools;
  readonly #upkeep: Upkeep;
  readonly #mirrorMs: number;
  /** Network -> network configs that wait for an address in it. */
  readonly #waiting = new MultiMap<ObjectKey>();
  /** Network config -> the networks in which it waits. */
  readonly #waitsIn = new Map<ObjectKey, readonly string[]>();
  #state: { readonly ms: number; readonly isPaused: Promise<boolean> } | undefined;

  constructor(options: VmnetOptions, caches: VmnetCaches) {
    const { client, clock, systemNamespace: namespace, random = Math.random } = options;
    const { trusted = trustedNamespaces(namespace) } = options;
    const pace = { ...defaultPace, ...options.pace };
    this.#options = options;
    this.#caches = caches;
    this.#mirrorMs = pace.mirrorMs;
    this.#holds = new NicHolds(clock);
    this.#networks = new Networks(caches, options.definitions, trusted);
    const ledger = new ReservationLedger({ client, namespace, now: () => clock.wallMs(), clock });
    const cooldownMsOf = (hold: NicHold) => this.#networks.cooldownMsOf(hold);
    const allocator = new Allocator({ ledger, holds: this.#holds, clock, random, cooldownMsOf });
    const shared = { ...options, caches, holds: this.#holds, networks: this.#networks, ledger, allocator, pace };
    const machines = new Machines(shared);
    const onWaiting = (config: ObjectKey, networks: readonly string[]) => this.#waits(config, networks);
    const configs = new Configs({ ...shared, onWaiting });
    this.#poolsWork = new Pools({ ...shared, onDrawn: (network) => this.#wakeWaiting(network) });
    this.#machines = this.#controller("vm-network-machines", (key, signal) => machines.reconcile(key, signal));
    this.#configs = this.#controller("vm-network-configs", (key, signal) => configs.reconcile(key, signal));
    this.#pools = this.#controller("vm-network-pools", (key, signal) => this.#poolsWork.reconcile(key, signal));
    this.#claimsWork = new Claims(shared);
    this.#claims = this.#controller("vm-network-claims", (key, signal) => this.#claimsWork.reconcile(key, signal));
    this.#upkeep = new Upkeep({ ...shared, isPaused: (signal) => this.#isPaused(signal) });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { definitions, claims, poolParts = [] } = this.#options;
    const { optional, holds } = this.#caches;
    try {
      await Promise.all([
        holds.synced(signal),
        definitions.known(signal),
        claims?.known(signal),
        ...optional.map((each) => each.known(signal)),
      ]);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) return;
    this.#options.metrics?.figures({ pools: () => this.#poolFigures(), nics: () => this.#nicFigures() });
    const told: ToldHold = (hold, place, version) => this.#holds.told(hold, place, version);
    this.#follow(told, signal);
    await holds.replay(told, signal);
    if (signal.aborted) return;
    // What has changed meanwhile is looked at with everything else.
    this.#holds.onChange = (domain, before, after) => this.#holdChanged(domain, before, after);
    for (const part of poolParts) part.follow((pool) => this.#pools.enqueue(pool), signal);
    const aborted = () => {}; // before it was there
    for (const each of [...optional, definitions, ...(claims ? [claims] : [])])
      if (!each.isListed) each.listed(signal).then(() => this.#wakeAll(), aborted);
    this.#wakeAll();
    await Promise.all([
      this.#machines.run(signal),
      this.#configs.run(signal),
      this.#pools.run(signal),
      this.#claims.run(signal),
      this.#upkeep.run(signal),
    ]);
  }

  #wakeAll(): void {
    const { pools, configs, machines } = this.#caches;
    for (const key of pools.cache.keys()) this.#pools.enqueue(key);
    for (const key of configs.cache.keys()) this.#configs.enqueueBehind(key);
    for (const key of machines.cache.keys()) this.#machines.enqueueBehind(key);
    for (const key of this.#options.claims?.cache.keys() ?? []) this.#claims.enqueueBehind(key);
  }

  #follow(told: ToldHold, signal: AbortSignal): void {
    const { pools, configs, machines, instances } = this.#caches;
    const ends = [
      this.#caches.holds.follow(told),
      // Of these kinds there are very many: those that are there already are looked at by #wakeAll.
      machines.handleNews(({ object }) => this.#machineChanged(keyOf(object))),
      instances.handleNews(({ object }) => this.#machineChanged(keyOf(object))),
      configs.handleNews((event) => {
        const key = keyOf(event.object);
        this.#configs.enqueue(key);
        const { vmName } = this.#caches.config(event.object);
        this.#machines.enqueue(key);
        this.#machines.enqueue(`${event.object.metadata.namespace}/${vmName}`);
        if (event.type === "delete") this.#configGone(key, networksOf(this.#caches.config(event.object)));
      }),
      pools.handle((event) => {
        this.#pools.enqueue(keyOf(event.object));
        const before = event.type === "update" ? this.#standing(event.previous) : "";
        if (event.type !== "update" || before !== this.#standing(event.object))
          this.#networkChanged(this.#caches.networkOf(event.object));
      }),
      this.#options.definitions.handle(({ object, type }) => {
        this.#claimsWork.definitionChanged();
        for (const claim of this.#claimsWork.ofNetwork(keyOf(object))) this.#claims.enqueue(claim);
        if (type !== "update") this.#networkChanged(keyOf(object));
      }),
      this.#options.claims?.handle(({ object }) => this.#claims.enqueue(keyOf(object))) ?? (() => {}),
    ];
    signal.addEventListener("abort", () => ends.forEach((end) => end()), { once: true });
  }

  #machineChanged(key: ObjectKey): void {
    this.#machines.enqueue(key);
    for (const claim of this.#claimsWork.ofMachine(key)) this.#claims.enqueue(claim);
    for (const config of this.#caches.configs.cache.keysBy("vm", key)) this.#configs.enqueue(config);
  }

  /** Whoever waits for its MAC or its addresses, and pools that wait for it to go. */
  #configGone(key: ObjectKey, networks: readonly string[]): void {
    this.#waits(key, []);
    for (const network of networks) {
      this.#wakeWaiting(network);
      for (const pool of this.#caches.poolsOf(network)) this.#pools.enqueue(keyOf(pool));
    }
  }

  /** What decides whether addresses are given of it: all but what its mirror says. */
  #standing(pool: Pool): string {
    return `${JSON.stringify(pool.spec)} ${isAdopted(pool)} ${isDeleting(pool)}`;
  }

  #networkChanged(network: string): void {
    const { pools, configs, machines } = this.#caches;
    for (const pool of pools.cache.keysBy("network", network)) this.#pools.enqueue(pool);
    for (const config of configs.cache.keysBy("network", network)) this.#configs.enqueue(config);
    for (const vm of machines.cache.keysBy("network", network)) this.#machines.enqueue(vm);
    for (const claim of this.#claimsWork.ofNetwork(network)) this.#claims.enqueue(claim);
  }

  #holdChanged(domain: Domain, before: NicHold | undefined, after: NicHold | undefined): void {
    for (const pool of new Set([before?.note?.pool, after?.note?.pool]))
      if (pool !== undefined) this.#pools.enqueueAfter(pool, this.#mirrorMs);
    const { owner } = after ?? before!;
    // Somebody else may have deleted or changed it; of what this process did, the config is being looked at already.
    this.#configs.enqueue(`${owner.namespace}/${owner.name}`);
    this.#showClaims(owner);
    const isFreer = before !== undefined && (after === undefined || after.cooling !== undefined);
    const parts = parseDomain(domain);
    if (isFreer && parts.scope === "vm-network") this.#wakeWaiting(`${parts.namespace}/${parts.name}`);
  }

  /** Claims of the VM that the network config is for. */
  #showClaims({ namespace, uid }: NicHold["owner"]): void {
    const [config] = this.#caches.configs.cache.byIndex("uid", uid);
    if (config === undefined) return;
    const { vmName } = this.#caches.config(config);
    for (const claim of this.#claimsWork.ofMachine(`${namespace}/${vmName}`)) this.#claims.enqueue(claim);
  }

  #wakeWaiting(network: string): void {
    for (const config of this.#waiting.get(network)) this.#configs.enqueue(config);
  }

  #waits(config: ObjectKey, networks: readonly string[]): void {
    for (const network of this.#waitsIn.get(config) ?? []) this.#waiting.delete(network, config);
    if (networks.length === 0) this.#waitsIn.delete(config);
    else this.#waitsIn.set(config, networks);
    for (const network of networks) this.#waiting.add(network, config);
  }

  #controller(name: string, work: Work): Controller {
    const { clock, log, metrics, kubeMetrics } = this.#options;
    return new Controller({
      name,
      concurrency,
      clock,
      reconcile: async (key, context) => {
        if (!this.#caches.isKnown) return { requeueAfterMs: unknownMs };
        // Without the kinds there is nothing to do, and nothing may be concluded.
        if (!this.#caches.configs.isListed || !this.#caches.pools.isListed) return undefined;
        if (await this.#isPaused(context.signal)) return { requeueAfterMs: pausedMs };
        return work(key, context.signal);
      },
      onError: (error, key) => {
        if (isStale(error)) return log.debug("looked at again", { what: name, key, error });
        metrics?.failed();
        log.warn("managed DHCP could not be brought up to date; it is tried again", { what: name, key, error });
      },
      ...(kubeMetrics && { observer: kubeMetrics.controller(name) }),
    });
  }

  /** A migration waits until nobody writes any more. An answer is at most a second old; none means paused. */
  #isPaused(signal: AbortSignal): Promise<boolean> {
    const { client, clock, systemNamespace: namespace } = this.#options;
    const ms = clock.monotonicMs();
    if (this.#state !== undefined && ms - this.#state.ms < stateMs) return this.#state.isPaused;
    const asked = fetchState(client, { namespace, signal }).then(
      (object) => readState(object).paused !== "",
      () => true,
    );
    this.#state = { ms, isPaused: asked };
    return asked;
  }

  *#poolFigures() {
    for (const pool of this.#caches.pools.cache.list()) {
      const plan = this.#networks.planOf(pool);
      if (plan === undefined) continue;
      const use = this.#poolsWork.useOf(plan);
      for (const family of ["ipv4", "ipv6"] as const) {
        if (plan[family] === undefined) continue;
        const counts = this.#holds.picture(plan.key, family === "ipv4" ? 4 : 6)?.counts();
        if (counts === undefined) continue;
        yield {
          pool: plan.key,
          cidr: pool.spec[`${family}Config`]?.cidr ?? "",
          network: plan.network.key,
          used: use[family].used,
          available: Number(counts.free),
          cooling: counts.quarantined,
        };
      }
    }
  }

  *#nicFigures() {
    for (const config of this.#caches.configs.cache.list()) {
      const nics = config.status?.networkConfigs ?? [];
      for (const { networkName: network = "", macAddress: mac = "", state = "", ...shown } of nics) {
        const { allocatedIPAddress = "", allocatedIPv6Address = "" } = shown;
        const nic = { config: keyOf(config), network, mac, state };
        yield { ...nic, ip: allocatedIPAddress };
        if (allocatedIPv6Address !== "") yield { ...nic, ip: allocatedIPv6Address };
      }
    }
  }
}

/** No failure: another writer was faster. The next look sees it. */
function isStale(error: unknown): boolean {
  return error instanceof AllocationError || isApiError(error, "conflict", "not-found");
}
