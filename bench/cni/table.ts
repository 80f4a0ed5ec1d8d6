// What a person sees of a benchmark while it runs: progress on stderr, figures on stdout.
import type { Figures } from "./figures.ts";
import type { LoadResult } from "./load.ts";

export type Say = (line: string) => void;

/** Progress, with the seconds since the start. */
export function progress(bench: string): Say {
  const startedMs = performance.now();
  return (line) =>
    console.error(`${bench} ${((performance.now() - startedMs) / 1000).toFixed(1).padStart(6)} s: ${line}`);
}

export function showFigures(what: string, { count, p50Ms, p95Ms, p99Ms, maxMs, perSecond }: Figures): void {
  const cell = (value: number) => value.toFixed(value < 1000 ? 2 : 0).padStart(9);
  console.log(
    `${what.padEnd(44)} ${String(count).padStart(6)}  p50 ${cell(p50Ms)}  p95 ${cell(p95Ms)}  p99 ${cell(p99Ms)}  ` +
      `max ${cell(maxMs)} ms  ${cell(perSecond)}/s`,
  );
}

/** The figures, and what went wrong beside them. */
export function showLoad(what: string, { figures, refused, problems }: LoadResult): void {
  showFigures(what, figures);
  if (refused > 0) console.log(`${"".padEnd(44)} ${refused} refused: ${problems.join(" | ")}`);
}
