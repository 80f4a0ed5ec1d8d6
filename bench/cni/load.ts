// A bounded load: so many calls, so many of them at once, and an end of time after which no further one begins.
import { type Figures, figuresOf } from "./figures.ts";
import type { Reply } from "./reply.ts";

export interface LoadPlan {
  readonly count: number;
  readonly atOnce: number;
  /** No call begins after this; those under way are waited for, and have their own limit. */
  readonly limitMs: number;
  readonly call: (index: number) => Promise<Reply>;
}

export interface LoadResult {
  /** Of the calls that succeeded. */
  readonly figures: Figures;
  /** From the first start to the last end. */
  readonly wallMs: number;
  /** In the order of the calls; undefined where the time was up before it. */
  readonly replies: readonly (Reply | undefined)[];
  readonly refused: number;
  /** The first few reasons, each once. */
  readonly problems: readonly string[];
}

export async function runLoad({ count, atOnce, limitMs, call }: LoadPlan): Promise<LoadResult> {
  const replies: (Reply | undefined)[] = Array.from({ length: count }, () => undefined);
  const startedMs = performance.now();
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) {
      if (performance.now() - startedMs > limitMs) return;
      replies[index] = await call(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker));
  return resultOf(replies, performance.now() - startedMs);
}

const problemsShown = 5;

export function resultOf(replies: readonly (Reply | undefined)[], wallMs: number): LoadResult {
  const made = replies.filter((reply) => reply !== undefined);
  const failed = made.filter(({ problem }) => problem !== undefined);
  const tookMs = made.filter(({ problem }) => problem === undefined).map((reply) => reply.tookMs);
  const problems = [...new Set(failed.map(({ problem = "" }) => problem))].slice(0, problemsShown);
  return { figures: figuresOf(tookMs, wallMs), wallMs, replies, refused: failed.length, problems };
}
