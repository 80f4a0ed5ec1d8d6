// Writes what a pool shows: spec.allocations, status, free map. A pool is looked at once a second at most, and only what differs is written:
// entries at every look, totals and most changes of the free map with those of the next five seconds.
// Promised: entries that are not ours stay (mirror.ts); while whereabouts is active an entry is removed only after the hold
// itself was asked for and is gone. Safe without leadership: every key that is changed is tested for what was found there.
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
import { lookUp } from "../../kube/look-up.ts";
import type { ObjectKey } from "../../kube/meta.ts";
import type { JsonPatchOperation } from "../../kube/patch.ts";
import type { Reconcile } from "../../kube/queue/controller.ts";
import { unless } from "../../kube/unless.ts";
import type { Address } from "../../net/address.ts";
import { networkOf, type PoolRange } from "../membership.ts";
import { type NetworkUse, usefulIn, usesOfPool } from "../networks.ts";
import type { PoolHold } from "../pool-hold.ts";
import type { Work } from "../rounds.ts";
import { type FreeMapWriter, lagMs, renewMs } from "./free-map-writer.ts";
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
/** A leader that begins has VMs and pods that wait for it; the picture of a large pool, a second's work for it and for the server, can wait for them. */
const firstLookMs = 3000;
const many = 2000;
/** Two operations each, of at most 10,000 that the API server takes in a patch; the rest follows a second later. */
const changesMax = 1000;
/**
 * So much longer than the last write took the next one waits: it has a fifth of the API server's time at most. 4,000 entries, half a second's work, are
 * two seconds old; small ones a second. A server that takes longer is busy with others.
 */
const restPerWrite = 4;
const restMaxMs = 10_000;
/** Each costs a read or two while whereabouts is active. */
const confirmationsMax = 50;

export class MirrorWriter {
  readonly #options: MirrorWriterOptions;
  /** namespace/name of the pool -> when it was last looked at. */
  readonly #lookedMs = new Map<ObjectKey, number>();
  /** What was told of, for when it is gone. */
  readonly #shown = new Map<ObjectKey, PoolRange>();
  /** UIDs of pools whose managed fields were cleared by this process. */
  readonly #cleared = new Set<string>();
  readonly #firstMs: number;
  /** namespace/name -> until when its entries rest, because the last write was slow. */
  readonly #restsUntilMs = new Map<ObjectKey, number>();
  /** namespace/name -> when its status was written last. */
  readonly #statusMs = new Map<ObjectKey, number>();

  constructor(options: MirrorWriterOptions) {
    this.#options = options;
    this.#firstMs = options.clock.monotonicMs();
  }

  readonly reconcile: Reconcile = async (key, { signal }) => {
    const { caches, clock, isPaused } = this.#options;
    if ((await isPaused?.(signal)) === true) return { requeueAfterMs: intervalMs };
    caches.refreshPools();
    const earlyMs = this.#firstMs + firstLookMs - clock.monotonicMs();
    if (earlyMs > 0 && !this.#options.coexistence() && caches.holdsByPool.sizeOf(key) > many)
      return { requeueAfterMs: earlyMs };
    const pool = caches.pool(key);
    const range = caches.holdsByPool.pools.get(key);
    if (caches.pools.cache.get(key) === undefined) return this.#forget(key, signal);
    // A pool that cannot be read shows nothing until it is corrected; `holdfast check` says what is wrong.
    if (pool === undefined || range === undefined) return undefined;
    const waitMs = (this.#lookedMs.get(key) ?? -intervalMs) + intervalMs - clock.monotonicMs();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    this.#lookedMs.set(key, clock.monotonicMs());
    return { requeueAfterMs: Math.max(intervalMs, await this.#show(pool, range, signal)) };
  };

  async #forget(key: ObjectKey, signal: AbortSignal): Promise<undefined> {
    const { freeMaps, onTotals } = this.#options;
    const last = this.#shown.get(key);
    if (last !== undefined) onTotals?.(last, undefined);
    this.#shown.delete(key);
    this.#lookedMs.delete(key);
    this.#restsUntilMs.delete(key);
    this.#statusMs.delete(key);
    await freeMaps.remove(key, signal);
  }

  /** In how many milliseconds something is due if nothing changes. */
  async #show(pool: IPPool, range: PoolRange, signal: AbortSignal): Promise<number> {
    const { caches, clock, coexistence, leaksHeldBack, uses, entriesMax, onTotals } = this.#options;
    const all = caches.holdsByPool.of(range.key);
    const held = all.filter(({ cooling }) => cooling === undefined);
    const isCoexisting = coexistence();
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
    this.#shown.set(range.key, range);
    onTotals?.(range, totalsOf(situation));
    const mapDueMs = await this.#writeFreeMap(pool, range, all, plan, signal);
    const startedMs = clock.monotonicMs();
    const restMs = (this.#restsUntilMs.get(range.key) ?? startedMs) - startedMs;
    // While whereabouts is active it goes by the entries: they do not rest.
    if (!isCoexisting && restMs > 0) return Math.min(mapDueMs, restMs);
    const isComplete = await this.#writeEntries(pool, range, plan, isCoexisting, signal);
    const statusDueMs = await this.#writeStatus(situation, signal);
    const tookMs = clock.monotonicMs() - startedMs;
    this.#restsUntilMs.set(range.key, startedMs + Math.min(restMaxMs, restPerWrite * tookMs));
    return isComplete ? Math.min(mapDueMs, statusDueMs) : 0;
  }

  async #writeFreeMap(
    pool: IPPool,
    { range }: PoolRange,
    all: readonly PoolHold[],
    plan: MirrorPlan,
    signal: AbortSignal,
  ): Promise<number> {
    const taken = [...all.map(({ hold }) => hold.address), ...addressesOf(range, [...plan.foreign, ...plan.contested])];
    const holders = all.filter(({ cooling }) => cooling === undefined).length;
    // Entries without a hold are in the map, but a map is a hint: daemons go by the pool itself until it is adopted.
    const domain = isAdopted(pool) && plan.foreign.length === 0 ? markedDomain(pool) : undefined;
    const facts = { pool, prefix: range.prefix, domain, taken, holders };
    const { isWritten, dueMs } = await this.#options.freeMaps.write(facts, signal);
    if (isWritten) this.#options.onWrite?.("free-map");
    return dueMs;
  }

  async #writeEntries(pool: IPPool, range: PoolRange, plan: MirrorPlan, isCoexisting: boolean, signal: AbortSignal) {
    const due = plan.changes.slice(0, changesMax);
    const changes = isCoexisting ? await this.#confirmed(range, due, signal) : due;
    if (changes.length === 0) return due.length === 0;
    const operations = [...mirrorPatch(changes), ...this.#clearing(pool, isCoexisting)];
    const patch = this.#options.client.patch(ipPools, at(range), { type: "json", operations }, { signal });
    // Something else changed there meanwhile: the cache will tell.
    if ((await unless(["invalid", "conflict", "not-found"], patch)) === undefined) return false;
    this.#cleared.add(pool.metadata.uid ?? "");
    this.#options.onWrite?.("allocations");
    return changes.length === plan.changes.length;
  }

  /** The API server would track who wrote which key, at more than the cost of the write itself; once told, it stops. */
  #clearing({ metadata }: IPPool, isCoexisting: boolean): JsonPatchOperation[] {
    // While whereabouts is active these fields show that it writes.
    if (isCoexisting || this.#cleared.has(metadata.uid ?? "")) return [];
    return [{ op: "add", path: "/metadata/managedFields", value: untracked }];
  }

  /** Conditions at once, totals with what else changes in five seconds. In how many milliseconds it is due if nothing changes. */
  async #writeStatus(situation: PoolSituation, signal: AbortSignal): Promise<number> {
    const { client, clock, onWrite } = this.#options;
    const { key } = situation.range;
    const status = statusOf(situation, clock.wallMs());
    if (isEqual(situation.pool.status, status)) return renewMs;
    const waitMs = (this.#statusMs.get(key) ?? Number.NEGATIVE_INFINITY) + lagMs - clock.monotonicMs();
    if (waitMs > 0 && hasSameConditions(situation.pool.status, status)) return waitMs;
    this.#statusMs.set(key, clock.monotonicMs());
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
        lookUp(client, reservations, { namespace, name: each }, { signal }),
      ),
      lookUp(client, holds, { namespace, name: own }, { signal }),
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
