// The goals of the benchmark, judged. Pure.
import { rounded } from "../cni/figures.ts";

export const goals = {
  /** The p50 of an ADD whose claim exists, less that of the same ADD without one. */
  slowerMs: 10,
  /** From the start of the process until the controller is caught up with all claims. */
  restartMs: 3000,
  restartClaims: 10_000,
} as const;

/** p50 of the ADD, one at a time. */
interface Compared {
  readonly withClaim: number;
  /** The same VM on a network without persistence. */
  readonly plain: number;
  /** An ordinary pod. */
  readonly pod: number;
}

export interface GoalFacts {
  readonly start: Compared;
  readonly migrate: Compared;
  readonly refused: number;
  readonly claims: number;
  readonly caughtUpMs: readonly number[];
}

/** Beside whichever is the quicker: a claim is not cheap because VMs without one are slow. */
export function judge({ start, migrate, refused, claims, caughtUpMs }: GoalFacts) {
  const startSlowerMs = slowerMs(start);
  const migrateSlowerMs = slowerMs(migrate);
  const restartMs = median(caughtUpMs);
  return {
    startSlowerMs,
    migrateSlowerMs,
    restartMs: restartMs ?? null,
    met: {
      noneRefused: refused === 0,
      startSlower: startSlowerMs <= goals.slowerMs,
      migrateSlower: migrateSlowerMs <= goals.slowerMs,
      /** null: it was not measured, or with fewer claims. */
      restart: restartMs === undefined || claims < goals.restartClaims ? null : restartMs < goals.restartMs,
    },
  };
}

function slowerMs({ withClaim, plain, pod }: Compared): number {
  return rounded(withClaim - Math.min(plain, pod));
}

function median(numbers: readonly number[]): number | undefined {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
}
