// When a pool is looked at again: at most once a second, and within ten seconds where it is not urgent.
import type { Clock } from "../kube/clock.ts";
import type { Controller } from "../kube/queue/controller.ts";

/** A look at each of ten pools of 5,000 nodes takes some 50 ms: at most half a core, far less in a quiet cluster. */
const leastMs = 1000;
/** Changes of one moment are one look. */
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
