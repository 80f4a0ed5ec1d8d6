// How long a daemon leaves a slow API server to others: three times as long as it took, since every node may be about to write as much.
const slowMs = 1000;
const times = 3;
const longestMs = 30_000;

/** 0 after a quick answer. Half as long to half as long again, so that those who were slow together do not come back together. */
export function restAfter(tookMs: number, random: number): number {
  return tookMs <= slowMs ? 0 : Math.min(tookMs * times, longestMs) * (0.5 + random);
}
