// What holds need while whereabouts is active, and lose afterwards: the finalizer, since its reconciler deletes live
// reservations of named networks at every run, and the second name of an IPv6 address, since its plugin looks under its
// own name only. A finalizer that stayed would cost a second write at every release, and nobody could uninstall us.
// Promised: each write is guarded by what was read; a hold that changes meanwhile is looked at again. Not promised:
// that whereabouts has done nothing in the seconds before: what it gave to another is said, and stays.
import { keptFinalizer, ownerLabelName } from "../../api/holds/hold-marks.ts";
import { reservations, type StoredReservation } from "../../cluster/resources.ts";
import { describeOwner } from "../../ipam/owner.ts";
import { inParallel } from "../../kube/in-parallel.ts";
import { type DeepReadonly, keyOf } from "../../kube/meta.ts";
import { unless } from "../../kube/unless.ts";
import { claimAlias } from "../../ledger/coexistence/beside.ts";
import { removeObject } from "../../ledger/reservation/guarded-delete.ts";
import { isAlias, isKept, recordsOf } from "../../ledger/reservation/records.ts";
import type { PoolCaches } from "../caches.ts";
import type { PoolHold } from "../pool-hold.ts";
import { everyRound, type Work } from "../rounds.ts";

type Options = Work & { readonly coexistence: () => boolean };

const every = { what: "marking what is held for whereabouts", ms: 2000 };
/** At once; with 4 ms a write, about 2,000 a second at most. */
const parallel = 8;
/** In one round: more wait for the next, two seconds later. */
const roundMax = 2000;

type Reservation = DeepReadonly<StoredReservation>;
type Known = Pick<PoolCaches, "holdsByPool" | "reservations">;

export class CoexistenceFinalizers {
  readonly #options: Options;
  /** Objects whose second name is another's: said once. */
  readonly #said = new Set<string>();

  constructor(options: Options) {
    this.#options = options;
  }

  run(signal: AbortSignal): Promise<void> {
    return everyRound(this.#options, every, signal, () => this.round(signal));
  }

  /** How many were written. */
  async round(signal: AbortSignal): Promise<number> {
    const { caches, client, coexistence, isPaused, log } = this.#options;
    const isActive = coexistence();
    let written = 0;
    const letGo = async (object: Reservation) => {
      const alias = object as StoredReservation;
      if (isAlias(object)) return (await removeObject(client, reservations, alias, signal)) === "removed";
      return this.#finalize(object, object.metadata.finalizers?.filter((each) => each !== keptFinalizer) ?? [], signal);
    };
    const due: Iterable<[Reservation, PoolHold | undefined]> = isActive ? bareHolds(caches) : leftovers(caches);
    await inParallel(parallel, due, async ([object, held]) => {
      if (signal.aborted || coexistence() !== isActive || (await isPaused?.(signal)) === true) return;
      try {
        if (await (held === undefined ? letGo(object) : this.#keep(held, object, signal))) written += 1;
      } catch (error) {
        if (signal.aborted) return;
        const words = isActive ? "a hold could not be kept" : "a hold still has its marks";
        log.warn(`${words}; it is tried again`, { object: keyOf(object), error });
      }
    });
    return written;
  }

  async #keep({ hold, namespace }: PoolHold, object: Reservation, signal: AbortSignal): Promise<boolean> {
    const { client, log } = this.#options;
    const finalizers = [...(object.metadata.finalizers ?? []), keptFinalizer];
    if (!isKept(object) && !(await this.#finalize(object, finalizers, signal))) return false;
    const other = await claimAlias(client, recordsOf(hold.domain, namespace), hold, signal);
    const key = keyOf(object);
    if (other === undefined || this.#said.has(key)) return true;
    this.#said.add(key);
    const [held, given] = [describeOwner(hold.owner), describeOwner(other.owner)];
    log.error("whereabouts has given an address that is held", { object: key, held, given });
    return true;
  }

  /** False: it has changed since, or is gone. */
  async #finalize({ metadata }: Reservation, finalizers: readonly string[], signal: AbortSignal): Promise<boolean> {
    const { namespace = "", name = "", uid, resourceVersion } = metadata;
    const operations = [
      { op: "test", path: "/metadata/uid", value: uid },
      { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
      { op: "add", path: "/metadata/finalizers", value: finalizers },
    ] as const;
    const { client } = this.#options;
    const patch = client.patch(reservations, { namespace, name }, { type: "json", operations }, { signal });
    return (await unless(["not-found", "conflict", "invalid"], patch)) !== undefined;
  }
}

/** Reservations of ours that somebody holds, without all that they should have while whereabouts is active. */
export function bareHolds({ holdsByPool, reservations: followed }: Known): [Reservation, PoolHold][] {
  const bare: [Reservation, PoolHold][] = [];
  for (const held of holdsByPool.all()) {
    const { kind, namespace, name, cooling, hold } = held;
    if (kind !== reservations.kind || cooling !== undefined) continue;
    const object = followed.cache.get(`${namespace}/${name}`);
    // What whereabouts made while it is active is its own affair.
    if (object?.metadata.labels?.[ownerLabelName] === undefined) continue;
    const former = recordsOf(hold.domain, namespace).formerNameOf(hold.address);
    const hasAlias = former === undefined || followed.cache.get(`${namespace}/${former}`) !== undefined;
    if (isKept(object) && hasAlias) continue;
    if (bare.push([object, held]) === roundMax) break;
  }
  return bare;
}

/** One that somebody has deleted is a hold by its finalizer alone: it keeps it until it is released. */
function leftovers({ reservations: followed }: Known): [Reservation, undefined][] {
  const isLeft = (object: Reservation) =>
    isAlias(object) || (isKept(object) && object.metadata.deletionTimestamp === undefined);
  const left = Iterator.from(followed.cache.list()).filter(isLeft).take(roundMax);
  return left.map((object): [Reservation, undefined] => [object, undefined]).toArray();
}
