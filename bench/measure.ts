// What every benchmark shares: medians, memory, the closing line.

/** Nanoseconds per call: the median of `batches`, so that a busy moment of the machine does not count. */
export function nanosPerCall(call: (i: number) => unknown, calls: number, batches = 9): number {
  let serial = 0;
  for (let i = 0; i < calls; i++) call((serial += 1)); // warm
  const results: number[] = [];
  for (let batch = 0; batch < batches; batch++) {
    const started = process.hrtime.bigint();
    for (let i = 0; i < calls; i++) call((serial += 1));
    results.push(Number(process.hrtime.bigint() - started) / calls);
  }
  return median(results);
}

/** As nanosPerCall for something that may take seconds: as many calls as fit into the time, at least one. */
export function nanosPerSlowCall(call: () => unknown, budgetMs: number): number {
  const results: number[] = [];
  const endMs = performance.now() + budgetMs;
  do {
    const started = process.hrtime.bigint();
    call();
    results.push(Number(process.hrtime.bigint() - started));
  } while (performance.now() < endMs && results.length < 10_000);
  return median(results);
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

/** Bytes that are reachable now: heap and what typed arrays hold outside it, after a full collection. */
export function bytesInUse(): number {
  if (globalThis.gc === undefined) throw new Error("run me through `npm run bench`, which passes --expose-gc");
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

export interface BenchResult {
  readonly bench: string;
  readonly ours: number;
  /** null where the peer could not be run; `reason` says why. */
  readonly peer: number | null;
  /** Above 1 we are ahead. */
  readonly ratio: number | null;
  readonly unit: string;
  readonly [more: string]: unknown;
}

/** The last line of every benchmark. */
export function close(result: BenchResult): void {
  console.log(JSON.stringify(result));
}
