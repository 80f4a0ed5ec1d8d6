// Deletes second names of IPv6 reservations (holdfast.io/alias-of) that nobody needs any more: what they stood beside is gone, rests,
// or is another's. They are left where a daemon died between two writes while whereabouts was active; pools that are adopted lose
// theirs at the adoption, those in no pool would stay for ever.
//
// Promised: none is deleted while whereabouts is active, nor before two looks agree and the reservation itself was read anew;
// each delete is guarded.
import { aliasAnnotation, coolingOf } from "../api/hold-marks.ts";
import { versionOf } from "../api/version.ts";
import { type Clock, sleep } from "../kube/clock.ts";
import { isApiError } from "../kube/errors.ts";
import { type DeepReadonly, keyOf } from "../kube/meta.ts";
import type { KubeClient } from "../kube/rest.ts";
import { removeObject } from "../ledger/removal.ts";
import { reservations, type StoredReservation } from "../ledger/resources.ts";
import type { Log } from "../log/log.ts";
import { defaultLimits } from "./judge.ts";
import type { World } from "./world.ts";

export interface StrayAliasesOptions {
  readonly world: World;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly coexistence: () => boolean;
  /** Two looks are at least so far apart. */
  readonly observeMs?: number;
  /** Handing out is paused: nothing is deleted. Default: never. */
  readonly isPaused?: (signal: AbortSignal) => Promise<boolean>;
}

const intervalMs = 10_000;

type Reservation = DeepReadonly<StoredReservation>;

export class StrayAliases {
  readonly #options: StrayAliasesOptions;
  /** namespace/name of the alias -> since when this version of it has been astray. */
  #since = new Map<string, { readonly version: string; readonly ms: number }>();

  constructor(options: StrayAliasesOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      try {
        await this.look(signal);
      } catch (error) {
        if (!signal.aborted) log.warn("second names could not be looked at; it is tried again", { error });
      }
      await sleep(clock, intervalMs, signal);
    }
  }

  /** One look; how many were deleted. */
  async look(signal: AbortSignal): Promise<number> {
    const { coexistence, clock, observeMs = defaultLimits.observeMs, isPaused } = this.#options;
    const astray = coexistence() ? [] : this.#astray();
    const before = this.#since;
    const nowMs = clock.monotonicMs();
    this.#since = new Map();
    let deleted = 0;
    for (const alias of astray) {
      const version = versionOf("OverlappingRangeIPReservation", alias.metadata);
      const earlier = before.get(keyOf(alias));
      const ms = earlier?.version === version ? earlier.ms : nowMs;
      this.#since.set(keyOf(alias), { version, ms });
      if (nowMs - ms < observeMs || (await isPaused?.(signal)) === true) continue;
      if (await this.#remove(alias, signal)) deleted += 1;
    }
    return deleted;
  }

  #astray(): Reservation[] {
    const { reservations: followed } = this.#options.world;
    if (!followed.hasSynced) return [];
    return [...followed.cache.list()].filter(
      (object) => isAlias(object) && !isBeside(object, followed.cache.get(mainKey(object))),
    );
  }

  async #remove(alias: Reservation, signal: AbortSignal): Promise<boolean> {
    const { client, coexistence, log } = this.#options;
    const { namespace = "" } = alias.metadata;
    const name = alias.metadata.annotations?.[aliasAnnotation] ?? "";
    if (name !== "") {
      try {
        if (isBeside(alias, await client.get(reservations, { namespace, name }, { signal }))) return false;
      } catch (error) {
        if (!isApiError(error, "not-found")) throw error;
      }
    }
    if (coexistence()) return false;
    const isRemoved = (await removeObject(client, reservations, alias as StoredReservation, signal)) === "removed";
    if (isRemoved) log.info("deleted a second name that nothing stands beside", { object: keyOf(alias) });
    return isRemoved;
  }
}

function isAlias({ metadata }: Reservation): boolean {
  return metadata.annotations?.[aliasAnnotation] !== undefined;
}

function mainKey({ metadata }: Reservation): string {
  return `${metadata.namespace}/${metadata.annotations?.[aliasAnnotation]}`;
}

/** The same owner's; a later sandbox of it is the same owner. */
function isBeside(alias: Reservation, main: Reservation | undefined): boolean {
  if (main === undefined || coolingOf(main.metadata) !== undefined) return false;
  const [a, b] = [alias.spec, main.spec];
  return a.podref === b.podref && (a.ifname ?? "") === (b.ifname ?? "") && (a.poduid ?? "") === (b.poduid ?? "");
}
