// The picture of an ADD in ARCHITECTURE.md is the code as it is: every file that it names is there.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, it } from "vitest";

const root = join(import.meta.dirname, "..", "..");

function picture(): string[] {
  const text = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  return text.split("### The life of an ADD")[1]!.split("```")[1]!.trimEnd().split("\n");
}

const filesIn = (line: string) => line.match(/src\/[\w/-]+\.ts/gu) ?? [];

it("every file that the life of an ADD goes through is there", () => {
  const named = picture().flatMap(filesIn);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
