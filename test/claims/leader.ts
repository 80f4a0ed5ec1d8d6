// A controller in this process, without the lease: it leads at once, and can be killed between any two writes.
import { trustedNamespaces } from "../../src/cluster/trusted-namespaces.ts";
import { assembleController } from "../../src/controller/controller.ts";
import { type Clock, realClock } from "../../src/kube/clock.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { type Log, silent } from "../../src/log/log.ts";
import { defaultCutLimits } from "../../src/slices/ranges/consent.ts";
import type { Line } from "../slices/line.ts";

export interface LeaderOptions {
  readonly line: Line;
  readonly systemNamespace?: string;
  readonly cooldownMs?: number;
  readonly clock?: Clock;
  readonly log?: Log;
}

export class Leader {
  readonly line: Line;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(options: LeaderOptions) {
    this.line = options.line;
    this.#ended = run(options, this.#stop.signal);
    this.#ended.catch(() => {}); // told by stop()
  }

  /** Nothing of it reaches the server any more, and it ends. */
  async kill(): Promise<void> {
    this.line.cut();
    this.#stop.abort();
    await this.#ended.catch(() => {});
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await (this.line.isCut ? this.#ended.catch(() => {}) : this.#ended);
  }
}

async function run(options: LeaderOptions, signal: AbortSignal): Promise<void> {
  const { line, systemNamespace = "kube-system", cooldownMs = 0, clock = realClock, log = silent } = options;
  const client = new KubeClient({ transport: line.transport, timeoutMs: 5000 });
  await assembleController({
    client,
    clock,
    log,
    systemNamespace,
    cooldownMs,
    instance: "test",
    cutRules: { ...defaultCutLimits, trusted: { has: () => true } },
    trusted: trustedNamespaces(systemNamespace),
  }).run(signal);
}
