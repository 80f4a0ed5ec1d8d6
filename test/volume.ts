// How much of a story is told: `npm test` tells each at least once, `npm run test:full` tells all of it.
const isFull = process.env["HOLDFAST_TEST_FULL"] === "1";

/** A number of rounds, kills, pods or seeds; or which parts of a suite are told. */
export function volume<T>(quick: T, full: T): T {
  return isFull ? full : quick;
}

/** Of so many steps, those at which a story is disturbed: each, or every `stride`-th from a start that varies. */
export function stepsOf(count: number, stride: number): number[] {
  const first = isFull ? 0 : Math.floor(Math.random() * stride);
  const each = Array.from({ length: count }, (_, index) => index + 1);
  return isFull ? each : each.filter((_, index) => index % stride === first);
}

/** Those that are always told, and one that nobody has seen before. */
export function withFresh(...fixed: readonly number[]): readonly number[] {
  return [...fixed, Math.floor(Math.random() * 2 ** 32)];
}
