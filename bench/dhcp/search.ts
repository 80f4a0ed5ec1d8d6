// The highest load that a server carries: doubled until it fails, then halved between the last that passed and the
// first that failed. A failure counts when it happens twice, since a busy moment of the machine fails any server.
import type { RunResult } from "./perfdhcp.ts";

export interface SearchOptions {
  readonly startRate: number;
  /** More than any server here can do: where a search ends that nothing fails. */
  readonly rateMax: number;
  /** Ends when the gap is less than this part of the rate. */
  readonly precision: number;
  readonly droppedMax: number;
  run(rate: number): Promise<RunResult>;
}

/** The best run that passed; undefined where none did. */
export async function highestRate(options: SearchOptions): Promise<RunResult | undefined> {
  let best: RunResult | undefined;
  let passed = 0;
  let failed = Infinity;
  let rate = options.startRate;
  while (rate <= options.rateMax && (failed === Infinity || failed - passed > options.precision * failed)) {
    const result = await attemptTwice(rate, options);
    if (passes(result, options.droppedMax)) {
      passed = rate;
      if (best === undefined || result.rate > best.rate) best = result;
    } else failed = rate;
    rate = failed === Infinity ? 2 * rate : Math.round((passed + failed) / 2);
    if (failed !== Infinity && rate < options.startRate / 16) break;
  }
  return best;
}

async function attemptTwice(rate: number, options: SearchOptions): Promise<RunResult> {
  const first = await options.run(rate);
  return passes(first, options.droppedMax) ? first : options.run(rate);
}

/** The load has to have been there, too: a generator that falls behind by a tenth measures itself. */
function passes({ dropped, rate, asked }: RunResult, droppedMax: number): boolean {
  return dropped < droppedMax && rate >= 0.9 * asked;
}
