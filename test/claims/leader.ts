// A controller in this process, as bin/controller.ts puts it together, without the lease: it leads at once, and can be killed between any two
// writes.
import { ClaimsLeader } from "../../src/claims/leader/leader.ts";
import { FollowedDefinitions } from "../../src/cluster/definition-informer.ts";
import { type Clock, realClock } from "../../src/kube/clock.ts";
import { EventRecorder } from "../../src/kube/events/events.ts";
import { Manager } from "../../src/kube/process/manager.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { type Log, silent } from "../../src/log/log.ts";
import { PoolsLeader } from "../../src/pools/leader.ts";
import { defaultCutLimits } from "../../src/slices/consent.ts";
import { SlicesLeader } from "../../src/slices/leader.ts";
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
  const onError = () => {};
  const events = new EventRecorder({ client, component: "holdfast-controller", instance: "test", onError });
  const definitions = new FollowedDefinitions({ client, clock, onError });
  const common = { client, clock, log, systemNamespace, cooldownMs, events, definitions };
  const pools = new PoolsLeader(common);
  const { world } = pools;
  const slices = new SlicesLeader({
    ...common,
    ...pick(world),
    cutRules: { ...defaultCutLimits, trusted: { has: () => true } },
  });
  const claims = new ClaimsLeader({ ...common, ...pick(world) });
  const recording = { name: "events", run: (stop: AbortSignal) => events.run(stop) };
  await new Manager({
    informers: [...world.informers, ...claims.informers],
    follows: [pools.followDefinitions, ...claims.follows],
    runnables: [recording, pools.lead, slices.lead, claims.lead],
  }).run(signal);
}

/** Followed once for all of them. */
function pick({ pods, nodes, presence, pools, reservations, holds }: PoolsLeader["world"]) {
  return { pods, nodes, presence, pools, reservations, holds };
}
