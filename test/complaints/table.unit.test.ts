// docs/complaints.md against the tests it names: a row whose test is gone would be a claim without a proof.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..", "..");

/** Every complaint that shared ranges and slices answer. */
const concerned = [
  110, 393, 508, 313, 510, 162, 176, 207, 546, 484, 75, 550, 409, 291, 111, 177, 621, 722, 573, 738, 601, 107, 83, 293,
  71, 165, 386, 260, 288, 52, 289, 558, 497, 518, 614, 666, 99, 500, 557,
].map(String);
/** Found in its code; nobody has numbered them. */
const found = ["s1", "s2", "s3", "s4", "s5"];
/** About claims: the deadlock, the defects of ipam-extensions, the hazards and gaps of OVN-Kubernetes. */
const numbered = (letter: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);
const ofClaims = [
  "kubevirt 13709",
  ...numbered("d", 1),
  ...numbered("x", 12),
  ...numbered("h", 4),
  ...numbered("g", 9),
];
/** Of Harvester's controller: found in its code, and seen when it ran. */
const ofManagedDhcp = [...numbered("A9-", 24), ...numbered("N-", 11)];

interface Row {
  readonly numbers: readonly string[];
  readonly file: string;
}

const rows: readonly Row[] = readFileSync(join(root, "docs", "complaints.md"), "utf8")
  .split("\n")
  .flatMap((line) => {
    const [, first = "", , , file = ""] = line.split("|").map((cell) => cell.trim());
    return /^(?:[sdxhg]?|kubevirt |A9-|N-)\d/.test(first)
      ? [{ numbers: first.split(",").map((each) => each.trim()), file }]
      : [];
  });

/**
 * The titles of a file's tests: what stands in quotes after `test(`, `test.each(...)(`, `tell(` and the like, and the
 * number before the words of a story in a table of stories.
 */
function titlesOf(file: string): string[] {
  const text = readFileSync(join(root, file), "utf8");
  const called = text.matchAll(/\b(?:test|it|tell)(?:\.\w+\([^)]*\))?\(\s*["`]([^"`]*)["`]/g);
  const listed = text.matchAll(/\[\s*"([^"]*)",\s*"[^"]*",\s*async \(\) =>/g);
  return [...called, ...listed].map(([, title = ""]) => title);
}

test("every complaint has its row", () => {
  expect(rows.flatMap(({ numbers }) => numbers).sort()).toEqual(
    [...concerned, ...found, ...ofClaims, ...ofManagedDhcp].sort(),
  );
});

describe.each(rows)("$numbers in $file", ({ numbers, file }) => {
  test.each(numbers)("a title carries %s", (number) => {
    expect(titlesOf(file).filter((title) => new RegExp(`\\b${number}\\b`).test(title))).not.toEqual([]);
  });
});
