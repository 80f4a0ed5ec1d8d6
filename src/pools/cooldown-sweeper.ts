// Deletes the objects of addresses that have cooled down. Each delete is guarded by uid and resourceVersion: an object that an
// owner has taken back meanwhile stays.
import { preconditionsOf } from "../api/holds/version.ts";
import { holds, reservations } from "../cluster/resources.ts";
import { inParallel } from "../kube/in-parallel.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeClient } from "../kube/rest.ts";
import { type Removal, removeObject } from "../ledger/reservation/guarded-delete.ts";
import { describeHeld, type PoolHold } from "./pool-hold.ts";
import { everyRound, type Work } from "./rounds.ts";

const intervalMs = 1000;
/** At once; with 4 ms a delete, about 2,000 a second at most. */
const parallel = 8;
/** In one round: more wait for the next, a second later. */
const roundMax = 1000;

export class CooldownSweeper {
  readonly #options: Work;

  constructor(options: Work) {
    this.#options = options;
  }

  run(signal: AbortSignal): Promise<void> {
    const every = { what: "deleting what has cooled", ms: intervalMs };
    return everyRound(this.#options, every, signal, () => this.round(signal));
  }

  /** Deletes what is due; the number that is gone. */
  async round(signal: AbortSignal): Promise<number> {
    const { caches, clock, isPaused } = this.#options;
    const nowMs = clock.wallMs();
    const due: PoolHold[] = [];
    for (const held of caches.holdsByPool.all()) {
      if (held.cooling !== undefined && held.cooling.untilMs <= nowMs && due.push(held) === roundMax) break;
    }
    let deleted = 0;
    await inParallel(parallel, due, async (held) => {
      if (signal.aborted || (await isPaused?.(signal)) === true) return;
      if (await this.#delete(held, signal)) deleted += 1;
    });
    return deleted;
  }

  async #delete(held: PoolHold, signal: AbortSignal): Promise<boolean> {
    const { client, log } = this.#options;
    try {
      return (await removeHeld(client, held, signal)) !== "changed";
    } catch (error) {
      if (!signal.aborted) {
        log.warn("a cooled address could not be removed; it is tried again", { object: describeHeld(held), error });
      }
      return false;
    }
  }
}

/** The very state that was read. */
export function removeHeld(client: KubeClient, held: PoolHold, signal: AbortSignal): Promise<Removal> {
  const { kind, namespace, name, hold } = held;
  const resource: Resource = kind === "Hold" ? holds : reservations;
  return removeObject(client, resource, { metadata: { namespace, name, ...preconditionsOf(hold.version) } }, signal);
}
