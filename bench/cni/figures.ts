// What a series of calls took: quantiles by rank, nothing left out and nothing smoothed.

export interface Figures {
  readonly count: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Calls a second over the whole series, from the first start to the last end. */
  readonly perSecond: number;
}

export function figuresOf(tookMs: readonly number[], wallMs: number): Figures {
  const sorted = tookMs.toSorted((a, b) => a - b);
  return {
    count: sorted.length,
    p50Ms: rounded(quantile(sorted, 0.5)),
    p95Ms: rounded(quantile(sorted, 0.95)),
    p99Ms: rounded(quantile(sorted, 0.99)),
    maxMs: rounded(sorted.at(-1) ?? 0),
    perSecond: rounded(wallMs > 0 ? (sorted.length / wallMs) * 1000 : 0),
  };
}

/** The smallest value that `share` of all values do not exceed; 0 of none. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

export function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}
