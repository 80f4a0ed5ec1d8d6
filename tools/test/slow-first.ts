// The order of test files: those that take minutes begin first. vitest goes by size where it has no figures of an earlier run, which a fresh clone has not:
// a story of four minutes in a file of four lines would be the last to begin, and the machine idle beside it.
import { relative } from "node:path";

/** The longest first, by the figures of a run on two cores. */
const slow: readonly string[] = [
  "test/slices/stories-embedded-cut-off",
  "test/claims/random-real",
  "test/claims/random-embedded-1",
  "test/slices/stories-embedded-daily",
  "test/claims/random-embedded-2",
  "test/claims/random-embedded-3",
  "test/slices/stories-real.",
  "test/slices/stories-embedded-changes",
  "test/slices/keeper-crash",
  "test/claims/random-embedded-4",
  "test/slices/stories-embedded-churn",
  "test/pools/",
  "test/claims/stories-real",
  "test/complaints/slices",
  "test/slices/stories-embedded-nodes",
];

/** The others stay in their order. */
export function slowFirst<T>(root: string, files: readonly T[], pathOf: (file: T) => string): T[] {
  const placeOf = (file: T) => {
    const path = relative(root, pathOf(file));
    const place = slow.findIndex((prefix) => path.startsWith(prefix));
    return place < 0 ? slow.length : place;
  };
  return files.toSorted((a, b) => placeOf(a) - placeOf(b));
}
