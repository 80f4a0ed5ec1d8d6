// While whereabouts is active: what was held before it came gets what holds of that time have from their first moment, the
// finalizer, and the second name of an IPv6 address. whereabouts' reconciler deletes live reservations of named networks at
// every run, and its plugin looks for an IPv6 address under its own name only. When it is gone the finalizers go again: they cost
// a second write at every release, and nobody could uninstall us.
//
// Promised: each write is guarded by what was read; a hold that changes meanwhile is looked at again. Not promised: that
// whereabouts has done nothing in the seconds before: what it gave to another is said, and stays.
import { aliasAnnotation, keptFinalizer, ownerLabelName } from "../api/hold-marks.ts";
import { preconditionsOf } from "../api/version.ts";
import { describeOwner } from "../ipam/owner.ts";
import { type Clock, sleep } from "../kube/clock.ts";
import { isApiError } from "../kube/errors.ts";
import type { DeepReadonly } from "../kube/meta.ts";
import type { KubeClient } from "../kube/rest.ts";
import { claimAlias } from "../ledger/coexistence/alias.ts";
import { recordsOf } from "../ledger/records.ts";
import { reservations, type StoredReservation } from "../ledger/resources.ts";
import type { Log } from "../log/log.ts";
import { describeHeld, type Held } from "./held.ts";
import type { World } from "./world.ts";

export interface KeptHoldsOptions {
  readonly world: World;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly coexistence: () => boolean;
  /** Handing out is paused: nothing is written. Default: never. */
  readonly isPaused?: (signal: AbortSignal) => Promise<boolean>;
}

const intervalMs = 2000;
/** At once; with 4 ms a write, about 2,000 a second at most. */
const parallel = 8;
/** In one round: more wait for the next, two seconds later. */
const roundMax = 2000;

type Reservation = DeepReadonly<StoredReservation>;

export class KeptHolds {
  readonly #options: KeptHoldsOptions;
  /** Objects whose second name is another's: said once. */
  readonly #said = new Set<string>();

  constructor(options: KeptHoldsOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.round(signal);
      await sleep(this.#options.clock, intervalMs, signal);
    }
  }

  /** How many were written. */
  async round(signal: AbortSignal): Promise<number> {
    const { coexistence, isPaused } = this.#options;
    const isActive = coexistence();
    const next = (isActive ? bareHolds(this.#options.world) : this.#kept()).values();
    let written = 0;
    const work = async () => {
      for (const [held, object] of next) {
        if (signal.aborted || coexistence() !== isActive || (await isPaused?.(signal)) === true) return;
        if (await (isActive ? this.#keep(held, object, signal) : this.#letGo(held, object, signal))) written += 1;
      }
    };
    await Promise.all(Array.from({ length: parallel }, work));
    return written;
  }

  /** One that somebody has deleted is a hold by its finalizer alone: it keeps it until it is released. */
  #kept(): [Held, Reservation][] {
    const kept: [Held, Reservation][] = [];
    for (const held of this.#options.world.roster.all()) {
      const object = objectOf(this.#options.world, held);
      if (object === undefined || !isKept(object) || object.metadata.deletionTimestamp !== undefined) continue;
      if (kept.push([held, object]) === roundMax) break;
    }
    return kept;
  }

  async #keep(held: Held, object: Reservation, signal: AbortSignal): Promise<boolean> {
    const { client, log } = this.#options;
    try {
      if (!isKept(object)) {
        const finalizers = [...(object.metadata.finalizers ?? []), keptFinalizer];
        if (!(await this.#finalize(held, finalizers, signal))) return false;
      }
      const other = await claimAlias(client, recordsOf(held.hold.domain, held.namespace), held.hold, signal);
      const key = describeHeld(held);
      if (other !== undefined && !this.#said.has(key)) {
        this.#said.add(key);
        log.error("whereabouts has given an address that is held", {
          object: key,
          held: describeOwner(held.hold.owner),
          given: describeOwner(other.owner),
        });
      }
      return true;
    } catch (error) {
      if (!signal.aborted)
        log.warn("a hold could not be kept; it is tried again", { object: describeHeld(held), error });
      return false;
    }
  }

  async #letGo(held: Held, { metadata }: Reservation, signal: AbortSignal): Promise<boolean> {
    const finalizers = (metadata.finalizers ?? []).filter((each) => each !== keptFinalizer);
    try {
      return await this.#finalize(held, finalizers, signal);
    } catch (error) {
      if (!signal.aborted) {
        const object = describeHeld(held);
        this.#options.log.warn("a hold still has its finalizer; it is tried again", { object, error });
      }
      return false;
    }
  }

  /** False: it has changed since, or is gone. */
  async #finalize(
    { namespace, name, hold }: Held,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { uid, resourceVersion } = preconditionsOf(hold.version);
    const operations = [
      { op: "test", path: "/metadata/uid", value: uid },
      { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
      { op: "add", path: "/metadata/finalizers", value: finalizers },
    ] as const;
    try {
      await this.#options.client.patch(reservations, { namespace, name }, { type: "json", operations }, { signal });
      return true;
    } catch (error) {
      if (isApiError(error, "not-found", "conflict", "invalid")) return false;
      throw error;
    }
  }
}

type Known = Pick<World, "roster" | "reservations">;

/** Reservations of ours that somebody holds, without all that they should have while whereabouts is active. */
export function bareHolds(world: Known): [Held, Reservation][] {
  const bare: [Held, Reservation][] = [];
  for (const held of world.roster.all()) {
    const object = held.cooling === undefined ? objectOf(world, held) : undefined;
    if (object === undefined || !isOurs(object) || (isKept(object) && hasAlias(world, held))) continue;
    if (bare.push([held, object]) === roundMax) break;
  }
  return bare;
}

function objectOf({ reservations: followed }: Known, { kind, namespace, name }: Held): Reservation | undefined {
  return kind === "OverlappingRangeIPReservation" ? followed.cache.get(`${namespace}/${name}`) : undefined;
}

function hasAlias({ reservations: followed }: Known, { hold, namespace }: Held): boolean {
  const former = recordsOf(hold.domain, namespace).formerNameOf(hold.address);
  return former === undefined || followed.cache.get(`${namespace}/${former}`) !== undefined;
}

/** Made or adopted by us; what whereabouts made while it is active is its own affair. */
function isOurs({ metadata }: Reservation): boolean {
  return metadata.labels?.[ownerLabelName] !== undefined && metadata.annotations?.[aliasAnnotation] === undefined;
}

function isKept({ metadata }: Reservation): boolean {
  return metadata.finalizers?.includes(keptFinalizer) === true;
}
