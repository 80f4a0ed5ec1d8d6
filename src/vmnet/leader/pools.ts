// One managed pool: taken over once, its picture drawn, its status written, its end seen to. The status has this one
// writer; agents and labels are parts that it asks (options.ts). Promised: nothing is given out of a pool before what
// Harvester recorded has its holds; a pool in use is not let go; what did not change is not written.
import { adoptedAnnotation } from "../../api/holds/hold-marks.ts";
import { poolFinalizer } from "../../api/vmnet/marks.ts";
import * as kinds from "../../cluster/resources.ts";
import type { AmendableLedger } from "../../ipam/ledger.ts";
import { isEqual } from "../../kube/conditions.ts";
import { hasFinalizer, removeFinalizer } from "../../kube/finalizer.ts";
import { inParallel } from "../../kube/in-parallel.ts";
import { keyOf, type ObjectKey, parseKey } from "../../kube/meta.ts";
import { unless } from "../../kube/unless.ts";
import { type Adoption, planAdoption } from "../plan/adoption.ts";
import { type FamilyUse, type PoolUse, shownMax, statusOfPool } from "../plan/pool-status.ts";
import { conditionOf, type SaidCondition } from "../plan/vmnet-conditions.ts";
import type { PoolPlan } from "../rules/pool-plan.ts";
import type { Pool, VmnetCaches } from "./caches.ts";
import { dropFinalizer } from "./configs.ts";
import type { NicHolds } from "./holds/nic-holds.ts";
import { Latest } from "./latest.ts";
import { isAdopted, isDeleting, type Networks } from "./networks.ts";
import type { VmnetOptions, VmnetPace } from "./options.ts";

export interface PoolsOptions extends Pick<
  VmnetOptions,
  "client" | "clock" | "log" | "events" | "metrics" | "poolParts"
> {
  readonly caches: VmnetCaches;
  readonly holds: NicHolds;
  readonly networks: Networks;
  readonly ledger: AmendableLedger;
  readonly pace: VmnetPace;
  /** The picture of a pool of this network is another: it may have addresses for those who wait. */
  readonly onDrawn: (network: string) => void;
}

type Again = { readonly requeueAfterMs: number } | undefined;

/** Takes at once; with 4 ms each, 26,000 entries (the most that Harvester can record in one pool) take 13 s. */
const parallel = 8;
/** The names of so many users are said. */
const namedMax = 5;
/** A NetworkAttachmentDefinition was there, and is not. Told from one that never was. */
const networkGone = "NetworkGone";
/** Addresses are given, of IPv4 alone, although the pool asks for IPv6. */
const withoutIpv6Reason = "NoIPv6";

export class Pools {
  readonly #options: PoolsOptions;
  readonly #latest = new Latest<kinds.StoredManagedPool>();

  constructor(options: PoolsOptions) {
    this.#options = options;
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<Again> {
    const { caches, holds } = this.#options;
    const cached = caches.pools.cache.get(key);
    if (cached === undefined) {
      holds.erase(key);
      return undefined;
    }
    const pool = this.#latest.of(cached);
    if (isDeleting(pool)) return this.#end(pool, signal);
    const { plan } = caches.pool(pool);
    for (const part of this.#options.poolParts ?? []) await part.tend?.(pool, signal);
    const current = plan === undefined || isAdopted(pool) ? pool : await this.#adopt(pool, plan, signal);
    if (plan === undefined) holds.erase(key);
    else if (await holds.draw(plan, JSON.stringify(pool.spec))) this.#options.onDrawn(plan.network.key);
    await this.#show(current, plan, signal);
    return this.#followNetwork(current, signal);
  }

  /** namespace/name of the network configs that use an address of the pool. */
  #usersOf({ plan }: { readonly plan: PoolPlan | undefined }, key: string): string[] {
    const { caches, holds } = this.#options;
    const living = holds
      .in(plan?.domain)
      .filter(
        ({ note, cooling, owner }) =>
          cooling === undefined && note?.pool === key && caches.configs.cache.keysBy("uid", owner.uid).length > 0,
      );
    return [...new Set(living.map(({ owner }) => `${owner.namespace}/${owner.name}`))].toSorted();
  }

  /** Everything that was recorded gets its hold, then the pool says so: one write, with the finalizer. */
  async #adopt(pool: Pool, plan: PoolPlan, signal: AbortSignal): Promise<Pool> {
    const { client, clock, holds, log } = this.#options;
    const adoptions = planAdoption({
      plan,
      allocated: { ...pool.status?.ipv4?.allocated, ...pool.status?.ipv6?.allocated },
      configs: this.#configsIn(plan),
      isHeld: (address) =>
        holds.at(plan.domain, address)?.cooling === undefined && holds.at(plan.domain, address) !== undefined,
      hasHold: (mac, family) => holds.withMac(plan.domain, mac).some(({ address }) => address.family === family),
    });
    await inParallel(parallel, adoptions, (adoption) => this.#takeOver(plan, adoption, signal));
    if (adoptions.length > 0) log.info("took over addresses", { pool: plan.key, addresses: adoptions.length });
    const { uid, resourceVersion, finalizers = [] } = pool.metadata;
    const body = {
      metadata: {
        uid,
        resourceVersion,
        annotations: { [adoptedAnnotation]: new Date(clock.wallMs()).toISOString() },
        ...(!finalizers.includes(poolFinalizer) && { finalizers: [...finalizers, poolFinalizer] }),
      },
    };
    const patch = { type: "merge", body } as const;
    return this.#latest.wrote(await client.patch(kinds.managedPools, parseKey(plan.key), patch, { signal }));
  }

  /** Of those who may use the network: anybody can write a config that names it. */
  #configsIn({ network }: PoolPlan) {
    const { caches, networks } = this.#options;
    const all = [...caches.configs.cache.list()].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const named = all.map((config) => ({ reading: caches.config(config), shown: config.status?.networkConfigs ?? [] }));
    const isHere = ({ reading, shown }: (typeof named)[number]) =>
      networks.foreignFault(reading.namespace, network) === undefined &&
      (reading.nics.some(({ plan }) => plan?.network.key === network.key) ||
        shown.some(({ networkName }) => networkName === network.key));
    return named.filter(isHere).toSorted((a, b) => (a.reading.createdAt < b.reading.createdAt ? -1 : 1));
  }

  async #takeOver({ key, domain }: PoolPlan, { address, owner, why }: Adoption, signal: AbortSignal): Promise<void> {
    const { ledger, holds, log } = this.#options;
    const note = { pool: key, mac: owner.nic, why };
    const outcome = await ledger.take({ domain, address, owner, early: true, note }, { signal });
    if (outcome.outcome === "cooling") return;
    holds.learn(outcome.hold);
    if (outcome.outcome === "held")
      log.warn("an address that was recorded is another's", { pool: key, address: `${address}`, mac: owner.nic });
  }

  async #show(pool: Pool, plan: PoolPlan | undefined, signal: AbortSignal): Promise<void> {
    const { client, clock, poolParts = [] } = this.#options;
    const words = poolParts.map((part) => part.say(pool));
    const { agentPodRef } = words.find((word) => word.agentPodRef !== undefined) ?? {};
    const given = this.#options.networks.planOf(pool);
    const use = given && !given.paused ? { plan: given, ...this.useOf(given) } : undefined;
    const status = statusOfPool({
      pool,
      use,
      conditions: [...this.#conditions(pool, plan), ...words.flatMap(({ conditions = [] }) => conditions)],
      ...(agentPodRef !== undefined && { agentPodRef }),
      nowMs: clock.wallMs(),
    });
    if (isEqual(pool.status, status)) return;
    const object = { ...(pool as kinds.StoredManagedPool), status };
    this.#latest.wrote(await client.update(kinds.managedPools, object, { subresource: "status", signal }));
    this.#tell(pool, status);
  }

  useOf(plan: PoolPlan): PoolUse {
    const { holds } = this.#options;
    const useOf = (family: 4 | 6): FamilyUse => {
      const { count, lowest } = holds.use(plan.domain, plan.key, family, shownMax[family]);
      return { used: count, shown: lowest, free: holds.picture(plan.key, family)?.counts().free ?? 0n };
    };
    return { ipv4: useOf(4), ipv6: useOf(6) };
  }

  #conditions(pool: Pool, plan: PoolPlan | undefined): readonly SaidCondition[] {
    const { networks, caches } = this.#options;
    const name = `ippl ${keyOf(pool)}`;
    if (plan?.paused === true) {
      const why = `${name} was administratively disabled`;
      return [
        conditionOf("Registered", false, why),
        conditionOf("CacheReady", false, why),
        conditionOf("Stopped", true),
      ];
    }
    const fault = networks.faultOf(pool);
    const network = caches.networkOf(pool);
    const isGone = networks.isDefined(network) === false;
    const wasThere = isGone && wasRegistered(pool);
    const missing = wasThere
      ? "is gone: the pool follows it when no network config refers to it"
      : "is not there yet: make it";
    const registered =
      fault === undefined && isGone
        ? conditionOf(
            "Registered",
            false,
            `NetworkAttachmentDefinition ${network} ${missing}`,
            wasThere ? networkGone : "Error",
          )
        : conditionOf("Registered", fault === undefined, fault);
    const lack = fault === undefined ? networks.lackOf(pool) : undefined;
    const given =
      lack === undefined
        ? conditionOf("CacheReady", fault === undefined, fault)
        : { type: "CacheReady", status: true, reason: withoutIpv6Reason, message: lack };
    return [registered, given, conditionOf("Stopped", false)];
  }

  #tell(pool: Pool, { conditions = [] }: NonNullable<kinds.StoredManagedPool["status"]>): void {
    const before = pool.status?.conditions ?? [];
    for (const { type, status, reason = "", message } of conditions) {
      const was = before.find((each) => each.type === type);
      const isReserve = reason === withoutIpv6Reason;
      if ((status !== "False" && !isReserve) || message === undefined || was?.message === message) continue;
      this.#options.events?.record(pool, "Warning", isReserve ? reason : `Not${type}`, message);
    }
  }

  /** Its definition was deleted, and nobody asks for addresses of it: the pool goes, too. */
  async #followNetwork(pool: Pool, signal: AbortSignal): Promise<Again> {
    const { networks, caches, client, clock, pace, log } = this.#options;
    const network = caches.networkOf(pool);
    if (networks.isDefined(network) !== false || !wasRegistered(pool)) return undefined;
    if (caches.configs.cache.keysBy("network", network).length > 0) return undefined;
    const gone = pool.status?.conditions?.find(({ type, reason }) => type === "Registered" && reason === networkGone);
    const since = (gone as { lastUpdateTime?: unknown } | undefined)?.lastUpdateTime;
    const sinceMs = typeof since === "string" ? Date.parse(since) : Number.NaN;
    const waitMs = Number.isNaN(sinceMs) ? pace.networkGoneMs : sinceMs + pace.networkGoneMs - clock.wallMs();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    const { namespace, name } = parseKey(network);
    const scope = { namespace, fieldSelector: `metadata.name=${name}`, signal };
    const found = await client.listServed(kinds.networkAttachmentDefinitions, scope);
    const asking = await client.listServed(kinds.networkConfigs, { signal });
    const isAsked = asking?.some((config) =>
      caches.config(config).nics.some(({ plan }) => plan?.network.key === network),
    );
    if (found === undefined || found.length > 0 || isAsked !== false) return { requeueAfterMs: pace.networkGoneMs };
    const { uid = "" } = pool.metadata;
    await unless(
      ["not-found"],
      client.delete(kinds.managedPools, parseKey(keyOf(pool)), { preconditions: { uid }, signal }),
    );
    log.info("deleted the pool of a network that is gone", { pool: keyOf(pool), network });
    return undefined;
  }

  async #end(pool: Pool, signal: AbortSignal): Promise<Again> {
    const { client, caches, events, poolParts = [] } = this.#options;
    const key = keyOf(pool);
    if (!hasFinalizer(pool, poolFinalizer)) return undefined;
    const users = this.#usersOf(caches.pool(pool), key);
    if (users.length > 0) {
      const more = users.length > namedMax ? ` and ${users.length - namedMax} more` : "";
      const words = `ippl ${key} is still used by vmnetcfg ${users.slice(0, namedMax).join(", ")}${more}, which must be removed first.`;
      events?.record(pool, "Warning", "PoolInUse", words);
      return undefined; // the end of the last of them wakes it
    }
    for (const part of poolParts) if ((await part.finish?.(pool, signal)) === false) return undefined;
    await dropFinalizer(() => removeFinalizer(client, kinds.managedPools, pool, poolFinalizer, { signal }));
    return undefined;
  }
}

/** Its definition has been seen: recorded in the status, so that a restart knows it. */
function wasRegistered({ status }: Pool): boolean {
  const found = status?.conditions?.find(({ type }) => type === "Registered");
  return found?.status === "True" || found?.reason === networkGone;
}
