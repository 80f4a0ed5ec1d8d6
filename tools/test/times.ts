// How long each test file took last time. Slow ones begin first: else a story of four minutes in a file of four lines
// would begin last, and the machine idle beside it.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Path below the checkout -> milliseconds. */
export type Times = ReadonlyMap<string, number>;

/** Of this checkout's own runs. */
const kept = (root: string) => join(root, "node_modules", ".cache", "holdfast", "test-times.json");
/** Of a run on two cores, for a fresh clone: files of ten seconds and more. */
const given = (root: string) => join(root, "tools", "test", "times.json");

export function readTimes(root: string): Times {
  return new Map([...readFile(given(root)), ...readFile(kept(root))]);
}

export function keepTimes(root: string, times: Times): void {
  const all = new Map([...readFile(kept(root)), ...times]);
  mkdirSync(dirname(kept(root)), { recursive: true });
  writeFileSync(kept(root), JSON.stringify(Object.fromEntries(all), undefined, 1));
}

function readFile(path: string): Map<string, number> {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(path, "utf8")) as Record<string, number>));
  } catch {
    return new Map(); // no run yet; the order is all that is lost
  }
}

/** Those without a figure come last, as they were. */
export function slowFirst<T>(files: readonly T[], msOf: (file: T) => number | undefined): T[] {
  return files.toSorted((a, b) => (msOf(b) ?? 0) - (msOf(a) ?? 0));
}

/** Lines for the end of a run. */
export function slowest(times: Times, count = 10): string[] {
  const first = slowFirst([...times], ([, ms]) => ms).slice(0, count);
  return first.map(([file, ms]) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`);
}
