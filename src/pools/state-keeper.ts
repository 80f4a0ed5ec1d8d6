// Keeps the shared state: looks for whereabouts, adopts pools when it is silent, and tells daemons by `holdfast-state`.
//
// Promised: while it is paused nothing is done; `paused` is left as it is; the write is guarded by resourceVersion, so a pause that comes meanwhile is not undone;
// a look that failed changes nothing. Until the first look ends the word of the leader before counts, as daemons act on it; without one, coexistence
// counts as on.
import type { IPPool } from "../api/ip-pool.ts";
import { isAdopted } from "../api/pool-domain.ts";
import { orAborted } from "../kube/abort.ts";
import { type Clock, sleep } from "../kube/clock.ts";
import { isApiError } from "../kube/errors.ts";
import { keyOf } from "../kube/meta.ts";
import type { KubeClient } from "../kube/rest.ts";
import { disownPools } from "../ledger/disowning.ts";
import { configMaps } from "../ledger/resources.ts";
import { fetchState, readState, type State, stateObject } from "../ledger/state.ts";
import { detectUpstream } from "../ledger/upstream.ts";
import type { Log } from "../log/log.ts";
import { adopt } from "./adopter.ts";
import { type Memory, nextCoexistence, type UpstreamSigns } from "./coexistence.ts";
import { hasForeign } from "./mirror.ts";
import type { NetworkUse } from "./networks.ts";
import type { World } from "./world.ts";

export interface StateKeeperOptions {
  readonly world: World;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly systemNamespace: string;
  /** Undefined: not known yet, and nothing is adopted before, since the networks say in which domain. */
  readonly uses: () => readonly NetworkUse[] | undefined;
  /** Handing out was paused while pools are adopted. Default: never. */
  readonly isPaused?: (signal: AbortSignal) => Promise<boolean>;
  readonly onChange?: (coexistence: boolean) => void;
  /** How far back a sign of whereabouts counts. Default: an hour. */
  readonly lookBackMs?: number;
}

const intervalMs = 10_000;
/** Looking for whereabouts reads all of its pools; entries that it writes are seen sooner, by following them. */
const detectMs = 60_000;
/** Looks: the mirror drops within seconds what nothing holds any more. */
const patience = 2;

export class StateKeeper {
  readonly #options: StateKeeperOptions;
  #memory: Memory = { silentSinceMs: undefined };
  #coexistence = true;
  #hasBegun = false;
  readonly #known = Promise.withResolvers<void>();
  /** namespace/name of a pool -> looks in a row at which the mirror may have been behind. */
  readonly #waits = new Map<string, number>();
  #detected: { readonly ms: number; readonly signs: UpstreamSigns } | undefined;

  constructor(options: StateKeeperOptions) {
    this.#options = options;
  }

  get coexistence(): boolean {
    return this.#coexistence;
  }

  /**
   * Until the state was read once. Who acts before would take whereabouts for active: 10,000 entries in a pool that shows 4,000, and a
   * finalizer on every hold, at every start of a leader.
   */
  async known(signal: AbortSignal): Promise<void> {
    await orAborted(this.#known.promise, signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.look(signal);
      } catch (error) {
        if (!signal.aborted)
          this.#options.log.warn("the shared state could not be looked at; it is tried again", { error });
      }
      await sleep(this.#options.clock, intervalMs, signal);
    }
  }

  /** One look: signs of whereabouts, adoption, the state. */
  async look(signal: AbortSignal): Promise<void> {
    const { client, clock, systemNamespace } = this.#options;
    const object = await fetchState(client, { namespace: systemNamespace, signal });
    const current = object === undefined ? undefined : readState(object);
    this.#begin(current);
    if (current !== undefined && current.paused !== "") return this.#rest(current);
    const upstream = await this.#signs(current?.coexistence === false, signal);
    const input = { current: current?.coexistence, upstream, nowMs: clock.monotonicMs() };
    // What was disowned shows in the cache a moment later: the rest is for the next look.
    if ((await this.#disown(current?.coexistence !== false, upstream.active, signal)) && !upstream.active) return;
    let verdict = nextCoexistence(this.#memory, { ...input, unadopted: this.#unadopted().length });
    if (verdict.mayAdopt) {
      const left = await this.#adoptAll(signal);
      verdict = nextCoexistence(verdict.memory, { ...input, unadopted: left });
    }
    this.#memory = verdict.memory;
    const { coexistence, why } = verdict;
    this.#tell(coexistence, why);
    if (current?.coexistence === coexistence && current.why === why) return;
    const wanted = stateObject(systemNamespace, { coexistence, why, paused: current?.paused ?? "" });
    if (object === undefined) await this.#create(wanted, signal);
    else {
      const data = { ...object.data, ...wanted.data };
      await client.update(configMaps, { ...object, data }, { signal });
    }
  }

  #begin(current: State | undefined): void {
    if (current !== undefined && !this.#hasBegun) this.#tell(current.coexistence, current.why);
    this.#known.resolve();
  }

  /** Pools are being moved: none is touched, and what was seen before proves nothing afterwards. */
  #rest({ coexistence, why }: State): void {
    this.#memory = { silentSinceMs: undefined };
    this.#detected = undefined;
    this.#tell(coexistence, why);
  }

  /**
   * A pool that was adopted before whereabouts handed out of it must be adopted anew. True if some were. A leader that finds
   * coexistence on cannot know when they were adopted, and takes none for granted.
   */
  async #disown(isOn: boolean, isActive: boolean, signal: AbortSignal): Promise<boolean> {
    const { client, world, log } = this.#options;
    const isDue = isActive || (isOn && !this.#hasBegun);
    const isMarked = isDue && [...world.pools.cache.list()].some(isAdopted);
    const count = isMarked ? await disownPools(client, { signal }) : 0;
    this.#hasBegun = true;
    if (count > 0) log.info("pools will be adopted anew when whereabouts is silent", { count });
    return count > 0;
  }

  /** Entries that are not ours in a pool that was adopted are a sign too: after an adoption only whereabouts makes such. */
  async #signs(isOff: boolean, signal: AbortSignal): Promise<UpstreamSigns> {
    const { active, why } = await this.#detect(signal);
    const strange = isOff ? this.#unadopted().filter(isAdopted) : [];
    if (strange.length === 0) return { active, why };
    const names = strange.map(({ metadata }) => metadata.name).join(", ");
    return { active: true, why: [...why, `somebody else wrote entries into ${names} after it was adopted`] };
  }

  async #detect(signal: AbortSignal): Promise<UpstreamSigns> {
    const { client, clock, systemNamespace, lookBackMs } = this.#options;
    const ms = clock.monotonicMs();
    if (this.#detected !== undefined && ms - this.#detected.ms < detectMs) return this.#detected.signs;
    const back = lookBackMs === undefined ? {} : { lookBackMs };
    const signs = await detectUpstream(client, { systemNamespace, now: () => clock.wallMs(), ...back, signal });
    this.#detected = { ms, signs };
    return signs;
  }

  /** Pools that are not marked, or have entries without a hold. */
  #unadopted(): IPPool[] {
    const { world } = this.#options;
    world.refreshPools();
    return [...world.pools.cache.keys()].flatMap((key) => {
      const pool = world.pool(key);
      if (pool === undefined) return [];
      const held = world.roster.of(key).filter(({ cooling }) => cooling === undefined);
      const isDone = isAdopted(pool) && !hasForeign(pool, held);
      return isDone ? [] : [pool];
    });
  }

  /** How many are left. */
  async #adoptAll(signal: AbortSignal): Promise<number> {
    const { client, clock, log, uses, isPaused, world } = this.#options;
    const known = uses();
    if (known === undefined) return this.#unadopted().length;
    let left = 0;
    for (const pool of this.#unadopted()) {
      // A pause that came meanwhile: the rest waits for its end.
      if ((await isPaused?.(signal)) === true) return left + 1;
      try {
        const key = keyOf(pool);
        const looks = this.#waits.get(key) ?? 0;
        const options = {
          client,
          now: () => clock.wallMs(),
          log,
          pools: world.roster.pools,
          patient: looks < patience,
        };
        const { isDone, waits } = await adopt(options, pool, known, signal);
        if (waits) this.#waits.set(key, looks + 1);
        else this.#waits.delete(key);
        if (!isDone) left += 1;
      } catch (error) {
        // One that somebody fights over must not keep the leader from the others, nor from seeing whereabouts.
        if (signal.aborted) throw error;
        log.warn("a pool could not be adopted; it is tried again", { pool: pool.metadata.name, error });
        left += 1;
      }
    }
    return left;
  }

  async #create(wanted: ReturnType<typeof stateObject>, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.client.create(configMaps, wanted, { signal });
    } catch (error) {
      if (!isApiError(error, "already-exists")) throw error; // another's, and as good: the next look reads it
    }
  }

  #tell(coexistence: boolean, why: string): void {
    if (this.#coexistence !== coexistence) {
      this.#options.log.info(coexistence ? "whereabouts is active" : "whereabouts is not active", { why });
    }
    const isNew = this.#coexistence !== coexistence;
    this.#coexistence = coexistence;
    if (isNew) this.#options.onChange?.(coexistence);
  }
}
