// A leader's eyes in a test: its informers, and its leak collection under a clock of the test's own.
import { realClock } from "../../src/kube/clock.ts";
import { ManualClock } from "../../src/kube/manual-clock.ts";
import { keyOf, type KubeObject } from "../../src/kube/meta.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { ReservationLedger } from "../../src/ledger/reservation-ledger.ts";
import { silent } from "../../src/log/log.ts";
import { type CollectorOptions, LeakCollector } from "../../src/pools/collector.ts";
import type { LeakReason } from "../../src/pools/judge.ts";
import { World } from "../../src/pools/world.ts";
import { until } from "../conformance/api/until.ts";
import type { Stage } from "./stage.ts";

/** The informers of a leader, and its leak collection under a clock of the test's own. */
export class Watching implements AsyncDisposable {
  readonly world: World;
  readonly clock = new ManualClock();
  readonly collector: LeakCollector;
  readonly freed: { address: string; reason: LeakReason }[] = [];
  readonly suspected: { address: string; reason: LeakReason }[] = [];
  readonly #stop = new AbortController();
  readonly #client: KubeClient;
  readonly #running: Promise<unknown>;

  constructor(stage: Stage, options: Partial<CollectorOptions> = {}) {
    const { client } = stage;
    this.#client = client;
    this.world = new World({ client, clock: realClock, onError: () => {} });
    this.world.follow(() => {}, this.#stop.signal);
    this.#running = Promise.all(this.world.informers.map((informer) => informer.run(this.#stop.signal)));
    this.collector = new LeakCollector({
      world: this.world,
      client,
      clock: this.clock,
      log: silent,
      cooldownMs: 0,
      ledgerOf: (namespace) =>
        new ReservationLedger({
          client,
          namespace,
          now: Date.now,
        }),
      onFreed: ({ hold }, reason) =>
        this.freed.push({
          address: hold.address.toString(),
          reason,
        }),
      onSuspect: ({ hold }, reason) =>
        this.suspected.push({
          address: hold.address.toString(),
          reason,
        }),
      ...options,
    });
  }

  readonly signal = new AbortController().signal;

  /** The caches stay as they are from here on: a watch that hangs. */
  async blind(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** The caches show what the server has. */
  async caughtUp(): Promise<void> {
    for (const informer of this.world.informers) {
      await informer.synced(this.#stop.signal);
      await until(`${informer.resource.kind} has caught up`, async () => {
        const { items } = await this.#client.list<KubeObject>(informer.resource);
        return (
          items.length === informer.cache.size &&
          items.every((object) => this.#has(informer.cache.get(keyOf(object)), object))
        );
      });
    }
  }

  #has(cached: { readonly metadata: { readonly resourceVersion?: string } } | undefined, object: KubeObject): boolean {
    return cached?.metadata.resourceVersion === object.metadata.resourceVersion;
  }

  /** One look, after the caches have caught up and the time has passed. */
  async look(afterMs = 0): Promise<void> {
    await this.caughtUp();
    await this.clock.advance(afterMs);
    await this.collector.look(this.signal);
  }

  /** Two looks, far enough apart for anything that has no grace. */
  async lookTwice(): Promise<void> {
    await this.look();
    await this.look(30_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

/** Lets the clock run while the work waits for it: one second after the other, never two at once. */
export async function whileTimePasses<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  const over = new AbortController();
  const end = () => over.abort();
  work.then(end, end);
  while (!over.signal.aborted) await clock.advance(1000);
  return work;
}
