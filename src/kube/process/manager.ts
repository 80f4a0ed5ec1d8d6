// Puts a process together: health and metrics, admission, informers (synced), plain work, and under a lease the leader's work.
// Started in this order, stopped in reverse, within one grace budget. It knows nothing of what the work is.
import { untilAborted } from "../abort.ts";
import type { AdmissionServer } from "../admission/admission.ts";
import type { Informer } from "../cache/informer.ts";
import { type Clock, realClock } from "../clock.ts";
import type { Elector } from "../leader.ts";
import type { KubeObject } from "../meta.ts";
import { type Checks, HealthServer } from "./health.ts";
import type { KubeMetrics } from "./metrics.ts";
import { type Runnable, runStages } from "./stages.ts";

/** What the manager needs of an informer, whatever its kind. */
type AnyInformer = Pick<Informer<KubeObject>, "run" | "synced" | "hasSynced" | "lastError"> & {
  readonly resource: { readonly kind: string };
};

export interface ManagerOptions {
  readonly clock?: Clock;
  readonly health?: { readonly host?: string; readonly port?: number };
  readonly metrics?: KubeMetrics;
  readonly admission?: AdmissionServer;
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
  /** Told the ports, once they are open. */
  readonly onListen?: (what: "health" | "admission", port: number) => void;
}

export class Manager {
  readonly #options: ManagerOptions;
  readonly #clock: Clock;
  readonly #graceMs: number;
  #state: "starting" | "ready" | "stopping" = "starting";

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.#graceMs = options.graceMs ?? 25_000;
  }

  /** Until the signal aborts, or something fails: then it rejects with that, and the process should exit with an error. */
  async run(signal: AbortSignal): Promise<void> {
    const { admission, informers = [], follows = [], runnables = [], leader, health } = this.#options;
    const stages = [
      health === undefined ? [] : [this.#health(health)],
      admission === undefined ? [] : [this.#admission(admission)],
      [...informers.map(informerRunnable), ...follows],
      runnables,
      leader === undefined ? [] : [this.#leader(leader)],
    ];
    await runStages(stages, {
      signal,
      clock: this.#clock,
      graceMs: this.#graceMs,
      onReady: () => (this.#state = "ready"),
      onStop: () => (this.#state = "stopping"),
    });
  }

  #health({ host, port }: { readonly host?: string; readonly port?: number }): Runnable {
    const server = new HealthServer({
      host,
      port,
      metrics: this.#options.metrics,
      clock: this.#clock,
      healthz: () => ({ ping: () => {}, ...this.#options.healthz }),
      readyz: () => this.#readyChecks(),
    });
    return serving("health", this.#options.onListen, server, () => server.close());
  }

  #admission(server: AdmissionServer): Runnable {
    const grace = () => AbortSignal.timeout(Math.floor(this.#graceMs / 3)); // a review is answered within 10 s anyway
    return serving("admission", this.#options.onListen, server, () => server.close(grace()));
  }

  #leader({ elector, runnables }: { readonly elector: Elector; readonly runnables: readonly Runnable[] }): Runnable {
    const graceMs = Math.floor(this.#graceMs / 2);
    return {
      name: "leader election",
      run: (signal) =>
        elector.run(signal, (leading) => runStages([runnables], { signal: leading, clock: this.#clock, graceMs })),
    };
  }

  #readyChecks(): Checks {
    const state = () => {
      if (this.#state !== "ready") throw new Error(`the process is ${this.#state}`);
    };
    const checks: [string, () => void][] = (this.#options.informers ?? []).map((informer) => [
      `informer ${informer.resource.kind}`,
      () => {
        if (!informer.hasSynced) throw new Error(informer.lastError?.message ?? "the first list is under way");
      },
    ]);
    return { state, ...Object.fromEntries(checks), ...this.#options.readyz };
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

function serving(
  name: "health" | "admission",
  onListen: ManagerOptions["onListen"],
  server: { listen(): Promise<number> },
  close: () => Promise<void>,
): Runnable {
  return {
    name,
    startsSlowly: true,
    async run(signal, ready) {
      const port = await server.listen(); // by itself: an optional call that is not made does not evaluate its arguments
      onListen?.(name, port);
      ready();
      await untilAborted(signal);
      await close();
    },
  };
}
