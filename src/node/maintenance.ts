// The daemon's own chores: learns this node's holds and looks at them again, counts the daemons, renews pictures in
// use. A failed chore waits as long as the API server asks for, and longer each time (retry-pause.ts).
import { deadline, sleep } from "../kube/clock.ts";
import type { DaemonOptions } from "./context.ts";
import type { HoldLoader } from "./holds/hold-loader.ts";
import type { Reassert } from "./holds/reassert.ts";
import type { History } from "./holds/server-history.ts";
import type { DomainCache } from "./pools/domain-cache.ts";
import type { PoolResolver } from "./pools/pool-resolver.ts";
import { RetryPause } from "./retry-pause.ts";
import type { SharedState } from "./shared-state.ts";

export interface UpkeepOptions extends Pick<DaemonOptions, "client" | "clock" | "log" | "random"> {
  readonly state: SharedState;
  readonly own: HoldLoader;
  readonly history: Pick<History, "isDoubted" | "assure">;
  readonly reassert: Pick<Reassert, "conflicts">;
  readonly poolResolver: PoolResolver;
}

const tickMs = 2000;
const countEveryMs = 600_000;
/** Between two looks for deleted holds. A list makes the server look at every hold: all daemons list twice a second. */
const lookMs = { least: 300_000, perDaemon: 500, inConflict: 60_000 };
/** After the connection was lost, or all daemons were told the same, and nobody waits for it: ten a second. */
const soonMs = { least: 10_000, perDaemon: 100 };
/** A picture older than this is renewed, if it was used since it was made. */
const pictureAgeMs = 30_000;
const callMs = 20_000;

interface Chore {
  readonly what: string;
  readonly isWanted: () => boolean;
  /** After it was done, a quarter more or less. */
  readonly everyMs: () => number;
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly pace: RetryPause;
  nextMs: number;
}

export class Maintenance {
  readonly #options: UpkeepOptions;
  #daemons = 0;
  readonly #list: Chore;
  readonly #look: Chore;
  readonly #chores: readonly Chore[];

  constructor(options: UpkeepOptions) {
    this.#options = options;
    const { own, history, state, clock, random } = options;
    const chore = (given: Pick<Chore, "what" | "isWanted" | "work"> & Partial<Chore>): Chore => {
      return { everyMs: () => 0, pace: new RetryPause(clock, random), nextMs: Number.NEGATIVE_INFINITY, ...given };
    };
    this.#look = chore({
      what: "comparing what this node holds with its sandboxes",
      isWanted: () => own.isKnown && state.paused === "",
      work: (signal) => own.look(signal),
      everyMs: () => (options.reassert.conflicts > 0 ? lookMs.inConflict : this.longestLookMs),
      nextMs: clock.monotonicMs() + random() * lookMs.least,
    });
    this.#list = chore({
      what: "listing what it holds",
      isWanted: () => !own.isKnown,
      work: (signal) => own.known(signal),
    });
    const restored = "looking whether the API server was restored";
    const isOld = () => this.#old().length > 0;
    this.#chores = [
      chore({ what: restored, isWanted: () => history.isDoubted, work: (signal) => history.assure(signal) }),
      this.#list,
      chore({
        what: "counting nodes",
        isWanted: () => true,
        // One object, and the server says how many more there are.
        work: async (signal) => {
          const text = await options.client.raw("/api/v1/nodes?limit=1", { signal });
          const list = JSON.parse(text) as { items?: unknown[]; metadata?: { remainingItemCount?: number } };
          this.#daemons = (list.items?.length ?? 0) + (list.metadata?.remainingItemCount ?? 0);
        },
        everyMs: () => countEveryMs,
      }),
      chore({
        what: "renewing pictures",
        isWanted: isOld,
        work: async (signal) => {
          for (const picture of state.paused === "" ? this.#old() : []) {
            picture.renewedMs = clock.wallMs();
            await options.poolResolver.renew(picture, pictureAgeMs, signal);
          }
        },
      }),
      this.#look,
    ];
  }

  /** How many nodes the cluster has; 0: not known. */
  get daemons(): number {
    return this.#daemons;
  }

  get longestLookMs(): number {
    return Math.max(lookMs.least, lookMs.perDaemon * this.#daemons);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      for (const chore of this.#chores) await this.#do(chore, signal);
      await sleep(clock, tickMs, signal);
    }
  }

  lookSoon(): void {
    this.#look.nextMs = Math.min(this.#look.nextMs, this.#soonMs());
  }

  /** What this node holds was forgotten, by all daemons in one moment. A request that needs it lists at once. */
  listSoon(): void {
    this.#list.nextMs = this.#soonMs();
  }

  /** After a restore: shared ranges rest until all have made their holds again. */
  listNow(): void {
    this.#list.nextMs = Number.NEGATIVE_INFINITY;
  }

  #soonMs(): number {
    const { clock, random } = this.#options;
    return clock.monotonicMs() + random() * Math.max(soonMs.least, soonMs.perDaemon * this.#daemons);
  }

  /** As a rule it is not due, and that costs nothing. The API server being away is said once by those who follow it. */
  async #do(chore: Chore, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options;
    const { what, pace, work } = chore;
    if (signal.aborted || clock.monotonicMs() < chore.nextMs || pace.leftMs > 0 || !chore.isWanted()) return;
    using limit = deadline(clock, callMs, signal);
    try {
      await pace.run(limit.signal, () => work(limit.signal));
      chore.nextMs = clock.monotonicMs() + chore.everyMs() * (0.75 + 0.5 * random());
    } catch (error) {
      log.debug(`${what} failed`, { error });
    }
  }

  #old(): readonly DomainCache[] {
    const nowMs = this.#options.clock.wallMs();
    return Array.from(this.#options.poolResolver.all()).filter(
      ({ usedMs, renewedMs }) => usedMs > renewedMs && nowMs - renewedMs >= pictureAgeMs,
    );
  }
}
