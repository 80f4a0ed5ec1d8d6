// Deletes the objects of addresses that have cooled down. Each delete is guarded by uid and resourceVersion: an object that an
// owner has taken back meanwhile stays.
import { preconditionsOf } from "../api/version.ts";
import { type Clock, sleep } from "../kube/clock.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeClient } from "../kube/rest.ts";
import { removeObject } from "../ledger/removal.ts";
import { holds, reservations } from "../ledger/resources.ts";
import type { Log } from "../log/log.ts";
import { describeHeld, type Held } from "./held.ts";
import type { World } from "./world.ts";

export interface CooledOptions {
  readonly world: World;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Handing out is paused: nothing is deleted. Asked before each delete. Default: never. */
  readonly isPaused?: (signal: AbortSignal) => Promise<boolean>;
}

const intervalMs = 1000;
/** At once; with 4 ms a delete, about 2,000 a second at most. */
const parallel = 8;
/** In one round: more wait for the next, a second later. */
const roundMax = 1000;

export class CooledDeleter {
  readonly #options: CooledOptions;

  constructor(options: CooledOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.round(signal);
      await sleep(this.#options.clock, intervalMs, signal);
    }
  }

  /** Deletes what is due; the number that is gone. */
  async round(signal: AbortSignal): Promise<number> {
    const { world, clock, isPaused } = this.#options;
    const nowMs = clock.wallMs();
    const due: Held[] = [];
    for (const held of world.roster.all()) {
      if (held.cooling !== undefined && held.cooling.untilMs <= nowMs && due.push(held) === roundMax) break;
    }
    let deleted = 0;
    const next = due.values();
    const work = async () => {
      for (const held of next) {
        if (signal.aborted || (await isPaused?.(signal)) === true) return;
        if (await this.#delete(held, signal)) deleted += 1;
      }
    };
    await Promise.all(Array.from({ length: parallel }, work));
    return deleted;
  }

  async #delete(held: Held, signal: AbortSignal): Promise<boolean> {
    const { client, log } = this.#options;
    const { namespace, name } = held;
    const resource: Resource = held.kind === "Hold" ? holds : reservations;
    try {
      const metadata = { namespace, name, ...preconditionsOf(held.hold.version) };
      return (await removeObject(client, resource, { metadata }, signal)) !== "changed";
    } catch (error) {
      if (!signal.aborted) {
        log.warn("a cooled address could not be removed; it is tried again", { object: describeHeld(held), error });
      }
      return false;
    }
  }
}
