// The order of test files: those that take minutes begin first. vitest goes by size where it has no figures of an earlier run, which a fresh clone has not:
// a story of four minutes in a file of four lines would be the last to begin, and the machine idle beside it.
import { relative } from "node:path";

/** The longest first, by the figures of a run on two cores. */
const slow: readonly string[] = [
  "test/slices/stories-cut-off.embedded",
  "test/claims/random.real",
  "test/claims/random-1.embedded",
  "test/slices/stories-daily.embedded",
  "test/claims/random-2.embedded",
  "test/claims/random-seeded.embedded",
  "test/slices/stories.real",
  "test/slices/stories-changes.embedded",
  "test/slices/keeper-crash",
  "test/slices/stories-churn.embedded",
  "test/pools/",
  "test/claims/stories.real",
  "test/complaints/slices",
  "test/slices/stories-nodes.embedded",
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
