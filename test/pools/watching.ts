// A leader's eyes in a test: its informers, and its leak collection under a clock of the test's own.
import { nodeLeaseName } from "../../src/api/slices/node-lease.ts";
import type { FenceRules } from "../../src/cluster/fencing.ts";
import { leases } from "../../src/cluster/resources.ts";
import { assembleController } from "../../src/controller/controller.ts";
import { realClock } from "../../src/kube/clock.ts";
import { isApiError } from "../../src/kube/errors.ts";
import { keyOf, type KubeObject } from "../../src/kube/meta.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { ManualClock } from "../../src/kube/testing/manual-clock.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { silent } from "../../src/log/log.ts";
import type { PoolCaches } from "../../src/pools/caches.ts";
import { type CollectorOptions, LeakCollector } from "../../src/pools/leaks/collector.ts";
import type { LeakReason } from "../../src/pools/leaks/judge.ts";
import { until } from "../conformance/api/until.ts";
import { type Fixture, system } from "./fixture.ts";

/** Less than what counts as being deaf. */
const beatMs = 150_000;

/** The informers of a leader, and its leak collection under a clock of the test's own. */
export class Watching implements AsyncDisposable {
  readonly caches: PoolCaches;
  readonly clock = new ManualClock();
  readonly collector: LeakCollector;
  readonly freed: { address: string; reason: LeakReason }[] = [];
  readonly suspected: { address: string; reason: LeakReason }[] = [];
  readonly #stop = new AbortController();
  #beats = 0;
  readonly #client: KubeClient;
  readonly #running: Promise<unknown>;

  constructor(fixture: Fixture, options: Partial<CollectorOptions> = {}, fencing: Partial<FenceRules> = {}) {
    const { client } = fixture;
    this.#client = client;
    this.caches = assembleController({
      client,
      clock: realClock,
      nodeClock: this.clock,
      log: silent,
      systemNamespace: system,
      cooldownMs: 0,
      instance: "t",
      fencing,
      reconcilers: [],
    }).caches;
    this.caches.follow(() => {}, this.#stop.signal);
    this.#running = Promise.all(this.caches.informers.map((informer) => informer.run(this.#stop.signal)));
    this.collector = new LeakCollector({
      caches: this.caches,
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
    for (const informer of this.caches.informers) {
      await informer.synced(this.#stop.signal);
      // Of others' Leases there is always a newer version.
      if (informer.resource.kind === "Lease") continue;
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

  /** Nothing is heard of any node for so long, while a leader somewhere renews its Lease now and then. */
  async silence(ms: number): Promise<void> {
    await this.#beat();
    for (let leftMs = ms; leftMs > 0; leftMs -= beatMs) {
      await this.clock.advance(Math.min(leftMs, beatMs));
      await this.#beat();
    }
  }

  /** The newest renewal of the node's Lease has come. */
  async heard(node: string): Promise<void> {
    const at = { namespace: system, name: nodeLeaseName(node) };
    const { metadata } = await this.#client.get(leases, at);
    await until("the renewal is heard", async () =>
      this.#has(this.caches.leases.cache.get(keyOf({ metadata: at })), { metadata }),
    );
  }

  async #beat(): Promise<void> {
    const [metadata, holderIdentity] = [{ namespace: system, name: "beat" }, `beat-${this.#beats++}-${Date.now()}`];
    const body = { spec: { holderIdentity } };
    await this.#client.patch(leases, metadata, { type: "merge", body }).catch(async (error: unknown) => {
      if (!isApiError(error, "not-found")) throw error;
      await this.#client.create(leases, { metadata, spec: { holderIdentity } });
    });
    const isHeard = async () =>
      [...this.caches.leases.cache.list()].some(({ spec }) => spec?.holderIdentity === holderIdentity);
    await until("the beat is heard", isHeard);
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
