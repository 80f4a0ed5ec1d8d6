// The goals of the benchmark, judged. Pure.
import { rounded } from "../cni/figures.ts";

export const goals = {
  /** The p50 of an ADD whose claim exists, less that of the same ADD without one. */
  slowerMs: 10,
  /** From the start of the process until the controller is caught up with all claims. */
  restartMs: 3000,
  restartClaims: 10_000,
} as const;

export interface GoalFacts {
  /** p50 of the ADD, one at a time: with a claim, and without. */
  readonly start: { readonly withClaim: number; readonly plain: number };
  readonly migrate: { readonly withClaim: number; readonly plain: number };
  readonly refused: number;
  readonly claims: number;
  readonly caughtUpMs: readonly number[];
}

export function judge({ start, migrate, refused, claims, caughtUpMs }: GoalFacts) {
  const slowerMs = rounded(start.withClaim - start.plain);
  const migrateSlowerMs = rounded(migrate.withClaim - migrate.plain);
  const restartMs = median(caughtUpMs);
  return {
    slowerMs,
    migrateSlowerMs,
    restartMs: restartMs ?? null,
    met: {
      noneRefused: refused === 0,
      slower: slowerMs <= goals.slowerMs,
      migrateSlower: migrateSlowerMs <= goals.slowerMs,
      /** null: it was not measured, or with fewer claims. */
      restart: restartMs === undefined || claims < goals.restartClaims ? null : restartMs < goals.restartMs,
    },
  };
}

function median(numbers: readonly number[]): number | undefined {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
}
