// Which Go is taken, and what is said when none will do.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { findGo, isAtLeast, parseGoVersion } from "./go.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-go-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function goThatSays(name: string, words: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\necho '${words}'\n`);
  chmodSync(path, 0o755);
  return path;
}

test.each([
  ["go1.26.8", "1.26.8"],
  ["go1.27rc1\n", "1.27"],
  ["go1.26.8-X:jsonv2", "1.26.8"],
  ["devel", undefined],
])("reads %j as %j", (text, version) => {
  expect(parseGoVersion(text)).toBe(version);
});

test.each([
  ["1.26.0", "1.26", true],
  ["1.26", "1.26.0", true],
  ["1.9.9", "1.26.0", false],
  ["2.0", "1.26.0", true],
  ["1.26.1", "1.26.2", false],
])("%s at least %s: %s", (version, minimum, answer) => {
  expect(isAtLeast(version, minimum)).toBe(answer);
});

test("takes the first that is new enough", () => {
  const old = goThatSays("old", "go1.19.8");
  const current = goThatSays("current", "go1.26.8");
  expect(findGo("1.26.0", [join(folder, "absent"), old, current])).toEqual({ path: current, version: "1.26.8" });
});

test("says which Go is too old, and what it takes", () => {
  const old = goThatSays("old", "go1.19.8");
  expect(() => findGo("1.26.0", [old])).toThrow(
    expect.objectContaining({ code: "GoTooOld", message: expect.stringContaining("Go 1.19.8") }) as Error,
  );
});

test("says that there is none", () => {
  expect(() => findGo("1.26.0", [join(folder, "absent")])).toThrow(
    expect.objectContaining({ code: "GoMissing" }) as Error,
  );
});
