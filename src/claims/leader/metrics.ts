// What the leader measures of claims, for Prometheus.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

import type { ClaimStep } from "../plan/steps.ts";

/** Persistent addresses by state, counted as families are planned: a scrape that counts 10,000 anew is too dear. */
export class Tally {
  readonly #families = new Map<string, readonly string[]>();
  readonly #counts = new Map<string, number>();

  /** State -> how many; a state that was there and is not any more stays with 0. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  set(family: string, states: readonly string[]): void {
    const before = this.#families.get(family) ?? [];
    for (const state of before) this.#counts.set(state, (this.#counts.get(state) ?? 0) - 1);
    for (const state of states) this.#counts.set(state, (this.#counts.get(state) ?? 0) + 1);
    if (states.length === 0) this.#families.delete(family);
    else this.#families.set(family, states);
  }
}

export class ClaimMetrics {
  readonly #steps: Counter<"kind">;
  readonly #failures: Counter;
  readonly #waits: Histogram;
  readonly #upstream: Gauge;
  readonly #heldBack: Gauge<"namespace">;
  #counts: () => ReadonlyMap<string, number> = () => new Map();

  constructor(registry: Registry) {
    const registers = [registry];
    const counts = () => this.#counts();
    // It registers itself, and is asked when somebody scrapes.
    void new Gauge({
      name: "holdfast_claims",
      help: "Claims, by the state of their persistent address.",
      labelNames: ["state"],
      registers,
      collect() {
        this.reset();
        for (const [state, count] of counts()) this.set({ state }, count);
      },
    });
    this.#steps = new Counter({
      name: "holdfast_claim_steps_total",
      help: "What was done about claims, by kind of step.",
      labelNames: ["kind"],
      registers,
    });
    this.#failures = new Counter({
      name: "holdfast_claim_failures_total",
      help: "Steps about claims that failed and are tried again.",
      registers,
    });
    this.#waits = new Histogram({
      name: "holdfast_claim_creation_seconds",
      help: "From the moment the leader was told of a VM, a VMI or a NIC to the claim being made.",
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
      registers,
    });
    this.#upstream = new Gauge({
      name: "holdfast_claims_ipam_extensions",
      help: "1 while kubevirt/ipam-extensions works in the same cluster.",
      registers,
    });
    this.#heldBack = new Gauge({
      name: "holdfast_claims_held_back",
      help: "1 while no claim of a VM that is gone is ended, since so many seem to be gone at once; no namespace: nowhere.",
      labelNames: ["namespace"],
      registers,
    });
  }

  /** State -> how many; asked at each scrape. Of the term that is, or was the last. */
  readonly states = (counts: () => ReadonlyMap<string, number>): void => void (this.#counts = counts);

  readonly did = (kind: ClaimStep["kind"]): void => this.#steps.inc({ kind });
  readonly failed = (): void => this.#failures.inc();
  readonly madeAfter = (ms: number): void => this.#waits.observe(ms / 1000);
  readonly heldBack = (namespace: string, isHeldBack: boolean): void =>
    this.#heldBack.set({ namespace }, isHeldBack ? 1 : 0);
  readonly upstream = (isThere: boolean): void => this.#upstream.set(isThere ? 1 : 0);
}
