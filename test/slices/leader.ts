// A controller in this process. Without the lease it leads at once; it can be killed between any two writes.
import type { FenceRules } from "../../src/cluster/fencing.ts";
import { assembleController } from "../../src/controller/controller.ts";
import type { Clock } from "../../src/kube/clock.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { type Log, silent } from "../../src/log/log.ts";
import { beat } from "./beat.ts";
import type { Line } from "./line.ts";

export interface LeaderSettings {
  /** But for these, those of src/cluster/fencing.ts. With `silentMs` other Leases are always heard, as in a cluster. */
  readonly fencing?: Partial<FenceRules>;
  readonly log?: Log;
  /** Under the lease, as in a cluster. */
  readonly isElected?: boolean;
}

interface LeaderOptions extends LeaderSettings {
  readonly line: Line;
  /** Of slices and of silence: the test's own hours. */
  readonly clock: Clock;
  /** Of everything else. */
  readonly unshifted: Clock;
  readonly systemNamespace: string;
}

export class Leader {
  readonly line: Line;
  readonly #stop = new AbortController();
  /** Rejects where it failed. */
  readonly ended: Promise<void>;

  private constructor(options: LeaderOptions) {
    this.line = options.line;
    this.ended = run(options, this.#stop.signal);
    this.ended.catch(() => {}); // told by stop()
  }

  static start(options: LeaderOptions): Leader {
    return new Leader(options);
  }

  /** Nothing of it reaches the server any more, and it ends. */
  async kill(): Promise<void> {
    this.line.cut();
    this.#stop.abort();
    await this.ended.catch(() => {});
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await (this.line.isCut ? this.ended.catch(() => {}) : this.ended);
  }
}

async function run(options: LeaderOptions, signal: AbortSignal): Promise<void> {
  const { line, clock, unshifted, systemNamespace, log = silent, fencing = {} } = options;
  const client = new KubeClient({ transport: line.transport, timeoutMs: 5000 });
  const controller = assembleController({
    client,
    clock: unshifted,
    nodeClock: clock,
    log,
    systemNamespace,
    cooldownMs: 0,
    instance: "test",
    fencing,
    reconcilers: ["pools", "slices"],
  });
  const beating = { name: "beat", run: (stop: AbortSignal) => beat(client, systemNamespace, stop) };
  await controller.run(signal, {
    runnables: "silentMs" in fencing ? [beating] : [],
    ...(options.isElected === true && { election: { identity: "test", clock: unshifted } }),
  });
}
