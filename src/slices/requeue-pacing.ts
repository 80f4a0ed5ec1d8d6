// When a pool is looked at again: at most once a second, and for what is not urgent within ten.
import type { Clock } from "../kube/clock.ts";
import type { Controller } from "../kube/queue/controller.ts";

/** Of ten pools of 5,000 nodes each look takes some 50 ms: half a core at the most, and far less in a cluster that rests. */
const leastMs = 1000;
/** What comes together is looked at together. */
const gatherMs = 50;
const slowMs = 10_000;

export class RequeuePacing {
  readonly #clock: Clock;
  readonly #controller: Pick<Controller, "enqueueAfter">;
  /** Key -> when the last look began. */
  readonly #last = new Map<string, number>();

  constructor(clock: Clock, controller: Pick<Controller, "enqueueAfter">) {
    this.#clock = clock;
    this.#controller = controller;
  }

  touch(key: string): void {
    const nextMs = (this.#last.get(key) ?? Number.NEGATIVE_INFINITY) + leastMs - this.#clock.monotonicMs();
    this.#controller.enqueueAfter(key, Math.max(gatherMs, nextMs));
  }

  touchSlowly(key: string): void {
    this.#controller.enqueueAfter(key, slowMs);
  }

  began(key: string): void {
    this.#last.set(key, this.#clock.monotonicMs());
  }

  forget(key: string): void {
    this.#last.delete(key);
  }
}
