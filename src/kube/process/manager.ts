// Puts a process together: health and metrics, informers (synced), plain work, and under a lease the leader's work.
// Started in this order, stopped in reverse, within one grace budget. It knows nothing of what the work is.
import { untilAborted } from "../abort.ts";
import type { Informer } from "../cache/informer.ts";
import { type Clock, realClock } from "../clock.ts";
import type { Elector } from "../leader.ts";
import type { KubeObject } from "../meta.ts";
import { type Checks, HealthServer } from "./health.ts";
import type { KubeMetrics } from "./metrics.ts";
import { type Runnable, runStages } from "./stages.ts";

type AnyInformer = Pick<Informer<KubeObject>, "run" | "synced" | "hasSynced" | "lastError"> & {
  readonly resource: { readonly kind: string };
};

export interface ManagerOptions {
  readonly clock?: Clock;
  readonly health?: { readonly host?: string; readonly port?: number };
  readonly metrics?: KubeMetrics;
  readonly informers?: readonly AnyInformer[];
  /** Started with the informers, and nobody waits for them: they follow what may not be there. */
  readonly follows?: readonly Runnable[];
  /** Run on every replica. */
  readonly runnables?: readonly Runnable[];
  readonly leader?: { readonly elector: Elector; readonly runnables: readonly Runnable[] };
  readonly healthz?: Checks;
  readonly readyz?: Checks;
  /** Kubernetes kills after 30 s by default; five are left for the rest of the process. */
  readonly graceMs?: number;
  /** Told the port, once it is open. */
  readonly onListen?: (what: "health", port: number) => void;
}

const defaults = { clock: realClock, graceMs: 25_000 };

export class Manager {
  readonly #options: ManagerOptions & typeof defaults;
  #state: "starting" | "ready" | "stopping" = "starting";

  constructor(options: ManagerOptions) {
    this.#options = { ...defaults, ...options };
  }

  /** Until the signal aborts, or something fails: then it rejects with that, and the process should exit. */
  async run(signal: AbortSignal): Promise<void> {
    const { informers = [], follows = [], runnables = [], leader, health, clock, graceMs } = this.#options;
    const stages = [
      health === undefined ? [] : [this.#health(health)],
      [...informers.map(informerRunnable), ...follows],
      runnables,
      leader === undefined ? [] : [this.#leader(leader)],
    ];
    await runStages(stages, {
      signal,
      clock,
      graceMs,
      onReady: () => (this.#state = "ready"),
      onStop: () => (this.#state = "stopping"),
    });
  }

  #health({ host, port }: NonNullable<ManagerOptions["health"]>): Runnable {
    const { metrics, clock, healthz } = this.#options;
    const server = new HealthServer({
      host,
      port,
      metrics,
      clock,
      healthz: () => ({ ping: () => {}, ...healthz }),
      readyz: () => this.#readyChecks(),
    });
    return {
      name: "health",
      startsSlowly: true,
      run: async (signal, ready) => {
        const listening = await server.listen(); // by itself: an optional call that is not made evaluates no arguments
        this.#options.onListen?.("health", listening);
        ready();
        await untilAborted(signal);
        await server.close();
      },
    };
  }

  #leader({ elector, runnables }: NonNullable<ManagerOptions["leader"]>): Runnable {
    const { clock } = this.#options;
    const graceMs = Math.floor(this.#options.graceMs / 2);
    return {
      name: "leader election",
      run: (signal) => elector.run(signal, (leading) => runStages([runnables], { signal: leading, clock, graceMs })),
    };
  }

  #readyChecks(): Checks {
    const state = () => {
      if (this.#state !== "ready") throw new Error(`the process is ${this.#state}`);
    };
    const check = (informer: AnyInformer) => () => {
      if (!informer.hasSynced) throw new Error(informer.lastError?.message ?? "the first list is under way");
    };
    const { informers = [], readyz } = this.#options;
    const checks = informers.map((informer) => [`informer ${informer.resource.kind}`, check(informer)] as const);
    return { state, ...Object.fromEntries(checks), ...readyz };
  }
}

function informerRunnable(informer: AnyInformer): Runnable {
  return {
    name: `informer ${informer.resource.kind}`,
    startsSlowly: true,
    run(signal, ready) {
      informer.synced(signal).then(ready, () => {}); // aborted before it was synced
      return informer.run(signal);
    },
  };
}
