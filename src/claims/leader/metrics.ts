// What the leader measures of claims, for Prometheus.
import type { Registry } from "prom-client";

import { measuresIn } from "../../kube/process/measures.ts";
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

const creationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

export type ClaimMetrics = ReturnType<typeof claimMetrics>;

export function claimMetrics(registry: Registry) {
  const { counter, gauge, seconds, asked } = measuresIn(registry);
  let counted: () => ReadonlyMap<string, number> = () => new Map();
  asked("holdfast_claims", "Claims, by the state of their persistent address.", ["state"], () =>
    Iterator.from(counted()).map(([state, count]) => [{ state }, count] as const),
  );
  const steps = counter("holdfast_claim_steps_total", "What was done about claims, by kind of step.", "kind");
  const failures = counter("holdfast_claim_failures_total", "Steps about claims that failed and are tried again.");
  const sinceTold = "From the moment the leader was told of a VM, a VMI or a NIC to the claim being made.";
  const waits = seconds("holdfast_claim_creation_seconds", sinceTold, creationBuckets);
  const beside = "1 while kubevirt/ipam-extensions works in the same cluster.";
  const upstream = gauge("holdfast_claims_ipam_extensions", beside);
  const held =
    "1 while no claim of a VM that is gone is ended, since so many seem to be gone at once; no namespace: nowhere.";
  const heldBack = gauge("holdfast_claims_held_back", held, "namespace");
  return {
    /** State -> how many; asked at each scrape. Of the term that is, or was the last. */
    states: (counts: () => ReadonlyMap<string, number>): void => void (counted = counts),
    did: (kind: ClaimStep["kind"]): void => steps.inc({ kind }),
    failed: (): void => failures.inc(),
    madeAfter: (ms: number): void => waits.observe(ms / 1000),
    heldBack: (namespace: string, isHeldBack: boolean): void => heldBack.set({ namespace }, isHeldBack ? 1 : 0),
    upstream: (isThere: boolean): void => upstream.set(isThere ? 1 : 0),
  };
}
