// Writes what a pool shows: spec.allocations, status, free map. Only differences are written: entries once a second at
// most, totals and most changes of the free map every five seconds; a nearly full pool is looked at four times a
// second. Promised: entries that are not ours stay (mirror.ts); while whereabouts is active an entry is removed only
// after the hold itself was asked for and is gone. Safe without leadership: a change of a key tests its old value.
import { coolingLabelName } from "../../api/holds/hold-marks.ts";
import { holdName } from "../../api/holds/hold-object.ts";
import { reservationNamesToRead } from "../../api/holds/reservation-name.ts";
import { readAllocationKey } from "../../api/pools/allocation-key.ts";
import { formatDomain } from "../../api/pools/domain.ts";
import type { IPPool } from "../../api/pools/ip-pool.ts";
import { isAdopted, markedDomain } from "../../api/pools/pool-domain.ts";
import { holds, ipPools, reservations } from "../../cluster/resources.ts";
import { untracked } from "../../kube/cache/managed-fields.ts";
import { isEqual } from "../../kube/conditions.ts";
import type { ObjectKey } from "../../kube/meta.ts";
import type { Reconcile } from "../../kube/queue/controller.ts";
import { unless } from "../../kube/unless.ts";
import type { Address } from "../../net/address.ts";
import { networkOf, type PoolRange } from "../membership.ts";
import { type NetworkUse, usefulIn, usesOfPool } from "../networks.ts";
import type { PoolHold } from "../pool-hold.ts";
import type { Work } from "../rounds.ts";
import { type FreeMapWriter, isUrgent, lagMs, renewMs, urgentMs } from "./free-map-writer.ts";
import { type EntryChange, mirrorPatch, type MirrorPlan, planMirror } from "./mirror.ts";
import { hasSameConditions, type PoolSituation, type PoolTotals, statusOf, totalsOf } from "./pool-status.ts";

export interface MirrorWriterOptions extends Omit<Work, "log"> {
  readonly freeMaps: FreeMapWriter;
  readonly coexistence: () => boolean;
  readonly leaksHeldBack: () => string | undefined;
  /** Undefined: not known yet. */
  readonly uses?: () => readonly NetworkUse[] | undefined;
  readonly entriesMax?: number;
  readonly onWrite?: (what: "allocations" | "status" | "free-map") => void;
  readonly onTotals?: (pool: PoolRange, totals: PoolTotals | undefined) => void;
}

const intervalMs = 1000;
/** A new leader first serves waiting VMs and pods: the mirror of a large pool takes it and the server a second. */
const firstLookMs = 3000;
const many = 2000;
/** Two operations each, of at most 10,000 that the API server takes in a patch; the rest follows a second later. */
const changesMax = 1000;
/**
 * The next write waits so many times as long as the last one took: writes get a fifth of the API server's time at most.
 * 4,000 entries, half a second's work, are two seconds old, a few one second. A slower server is busy with others.
 */
const restPerWrite = 4;
const restMaxMs = 10_000;

/** What was done with a pool, and when, by the monotonic clock. */
interface Shown {
  lookedMs: number;
  /** Of the look itself, without what it wrote: it rests as a write does. */
  tookMs: number;
  /** Holds and what cools, at that look. */
  objects: number;
  /** Until then no entries are written. */
  restsUntilMs: number;
  statusMs: number;
  /** What was told of, for when it is gone. */
  range?: PoolRange;
}
/** Each costs a read or two while whereabouts is active. */
const confirmationsMax = 50;

export class MirrorWriter {
  readonly #options: MirrorWriterOptions;
  /** namespace/name of the pool -> what was done with it */
  readonly #shown = new Map<ObjectKey, Shown>();
  /** UIDs of pools whose managed fields were cleared by this process. */
  readonly #cleared = new Set<string>();
  readonly #firstMs: number;

  constructor(options: MirrorWriterOptions) {
    this.#options = options;
    this.#firstMs = options.clock.monotonicMs();
  }

  readonly reconcile: Reconcile = async (key, { signal }) => {
    const { caches, clock, freeMaps, isPaused, onTotals } = this.#options;
    if ((await isPaused?.(signal)) === true) return { requeueAfterMs: intervalMs };
    caches.refreshPools();
    const earlyMs = this.#firstMs + firstLookMs - clock.monotonicMs();
    if (earlyMs > 0 && !this.#options.coexistence() && caches.holdsByPool.sizeOf(key) > many)
      return { requeueAfterMs: earlyMs };
    const pool = caches.pool(key);
    const range = caches.holdsByPool.pools.get(key);
    if (caches.pools.cache.get(key) === undefined) {
      const shown = this.#shown.get(key)?.range;
      if (shown !== undefined) onTotals?.(shown, undefined);
      this.#shown.delete(key);
      await freeMaps.remove(key, signal);
      return undefined;
    }
    // A pool that cannot be read shows nothing until it is corrected; `holdfast check` says what is wrong.
    if (pool === undefined || range === undefined) return undefined;
    const never = Number.NEGATIVE_INFINITY;
    const unseen = { lookedMs: never, tookMs: 0, objects: 0, restsUntilMs: never, statusMs: never };
    const shown: Shown = this.#shown.get(key) ?? unseen;
    this.#shown.set(key, shown);
    const waitMs = this.#nextLookMs(shown, range) - clock.monotonicMs();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    shown.lookedMs = clock.monotonicMs();
    shown.objects = caches.holdsByPool.sizeOf(key);
    const dueMs = await this.#show(pool, range, shown, signal);
    return { requeueAfterMs: Math.max(1, dueMs, this.#nextLookMs(shown, range) - clock.monotonicMs()) };
  };

  #nextLookMs({ lookedMs, tookMs, objects, restsUntilMs }: Shown, { key, range }: PoolRange): number {
    // While whereabouts is active nobody goes by maps, and it goes by the entries: they do not rest.
    if (this.#options.coexistence()) return lookedMs + intervalMs;
    const now = this.#options.caches.holdsByPool.sizeOf(key);
    const changed = BigInt(Math.abs(now - objects));
    const isSoon = isUrgent(changed, range.prefix.size - BigInt(now));
    const nextMs = isSoon ? lookedMs + urgentMs : Math.min(restsUntilMs, lookedMs + lagMs);
    return Math.max(nextMs, lookedMs + restPerWrite * tookMs);
  }

  /** In how many milliseconds something is due if nothing changes. */
  async #show(pool: IPPool, range: PoolRange, shown: Shown, signal: AbortSignal): Promise<number> {
    const { caches, clock, coexistence, leaksHeldBack, uses, entriesMax, onTotals } = this.#options;
    const all = caches.holdsByPool.of(range.key);
    const held = all.filter(({ cooling }) => cooling === undefined);
    const isCoexisting = coexistence();
    const isResting = !isCoexisting && shown.restsUntilMs > shown.lookedMs;
    if (!isResting) shown.restsUntilMs = shown.lookedMs + intervalMs;
    const plan = planMirror(pool, held, { coexistence: isCoexisting, ...(entriesMax !== undefined && { entriesMax }) });
    const situation: PoolSituation = {
      pool,
      range,
      held,
      plan,
      coexistence: isCoexisting,
      isAdopted: isAdopted(pool),
      leaksHeldBack: leaksHeldBack(),
      useful: usefulIn(usesOfPool(uses?.() ?? [], range)),
    };
    shown.range = range;
    onTotals?.(range, totalsOf(situation));
    shown.tookMs = clock.monotonicMs() - shown.lookedMs;
    const mapDueMs = await this.#writeFreeMap(situation, all, signal);
    const startedMs = clock.monotonicMs();
    if (isResting) return Math.min(mapDueMs, shown.restsUntilMs - startedMs);
    const isComplete = await this.#writeEntries(pool, range, plan, isCoexisting, signal);
    const statusDueMs = await this.#writeStatus(situation, shown, signal);
    const tookMs = clock.monotonicMs() - startedMs;
    const restsUntilMs = startedMs + Math.min(restMaxMs, restPerWrite * tookMs);
    shown.restsUntilMs = Math.max(restsUntilMs, shown.restsUntilMs);
    return isComplete ? Math.min(mapDueMs, statusDueMs) : 0;
  }

  async #writeFreeMap(situation: PoolSituation, all: readonly PoolHold[], signal: AbortSignal): Promise<number> {
    const { pool, plan, held } = situation;
    const { range } = situation.range;
    const taken = [...all.map(({ hold }) => hold.address), ...addressesOf(range, [...plan.foreign, ...plan.contested])];
    // Entries without a hold are in the map, but a map is a hint: daemons go by the pool itself until it is adopted.
    const domain = isAdopted(pool) && plan.foreign.length === 0 ? markedDomain(pool) : undefined;
    const facts = { pool, prefix: range.prefix, domain, taken, holders: held.length };
    const { isWritten, dueMs } = await this.#options.freeMaps.write(facts, signal);
    if (isWritten) this.#options.onWrite?.("free-map");
    return dueMs;
  }

  async #writeEntries(pool: IPPool, range: PoolRange, plan: MirrorPlan, isCoexisting: boolean, signal: AbortSignal) {
    const due = plan.changes.slice(0, changesMax);
    const changes = isCoexisting ? await this.#confirmed(range, due, signal) : due;
    if (changes.length === 0) return due.length === 0;
    const { uid = "" } = pool.metadata;
    // The API server would track who wrote which key, at more than the cost of the write itself; once told, it stops.
    // While whereabouts is active these fields show that it writes.
    const isTracked = !isCoexisting && !this.#cleared.has(uid);
    const clearing = { op: "add", path: "/metadata/managedFields", value: untracked } as const;
    const operations = [...mirrorPatch(changes), ...(isTracked ? [clearing] : [])];
    const patch = this.#options.client.patch(ipPools, at(range), { type: "json", operations }, { signal });
    // Something else changed there meanwhile: the cache will tell.
    if ((await unless(["invalid", "conflict", "not-found"], patch)) === undefined) return false;
    this.#cleared.add(uid);
    this.#options.onWrite?.("allocations");
    return changes.length === plan.changes.length;
  }

  /** Conditions at once, totals with other changes of five seconds. Returns when it is due at the latest, in ms. */
  async #writeStatus(situation: PoolSituation, shown: Shown, signal: AbortSignal): Promise<number> {
    const { client, clock, onWrite } = this.#options;
    const status = statusOf(situation, clock.wallMs());
    if (isEqual(situation.pool.status, status)) return renewMs;
    const waitMs = shown.statusMs + lagMs - clock.monotonicMs();
    if (waitMs > 0 && hasSameConditions(situation.pool.status, status)) return waitMs;
    shown.statusMs = clock.monotonicMs();
    const patch = { type: "merge", body: { status } } as const;
    // whereabouts' own definition has no status: then there is none to write.
    const written = client.patch(ipPools, at(situation.range), patch, { signal, subresource: "status" });
    if ((await unless(["not-found"], written)) !== undefined) onWrite?.("status");
    return renewMs;
  }

  /** Without removals whose hold exists after all: the two kinds are followed separately, and one may lag. */
  async #confirmed(range: PoolRange, changes: readonly EntryChange[], signal: AbortSignal): Promise<EntryChange[]> {
    const confirmed: EntryChange[] = changes.filter(({ to }) => to !== undefined);
    const removals = changes.filter(({ to }) => to === undefined).slice(0, confirmationsMax);
    for (const change of removals) {
      const addresses = addressesOf(range.range, [change.key]);
      const found = await Promise.all(addresses.map((address) => this.#isHeld(range, address, signal)));
      if (found.every((isHeld) => !isHeld)) confirmed.push(change);
    }
    return confirmed;
  }

  async #isHeld(pool: PoolRange, address: Address, signal: AbortSignal): Promise<boolean> {
    const { namespace, name } = pool;
    const own = holdName(formatDomain({ scope: "pool", namespace, name }), address);
    const { client } = this.#options;
    const found = await Promise.all([
      ...reservationNamesToRead(networkOf(pool), address).map((each) =>
        client.lookUp(reservations, { namespace, name: each }, { signal }),
      ),
      client.lookUp(holds, { namespace, name: own }, { signal }),
    ]);
    return found.some((each) => each !== undefined && each.metadata.labels?.[coolingLabelName] !== "true");
  }
}

const at = ({ namespace, name }: PoolRange) => ({ namespace, name });

function addressesOf(range: PoolRange["range"], keys: readonly string[]): Address[] {
  return keys.flatMap((key) => {
    const reading = readAllocationKey(range, key);
    return typeof reading === "string" ? [] : [reading.address, ...reading.others];
  });
}
