// The newest version that a node has seen outlives a restart, however large it is.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it, onTestFinished } from "vitest";

import { silent } from "../../log/log.ts";
import { seenVersionIn } from "./seen-version.ts";

it.each([7, 10 ** 15, Number.MAX_SAFE_INTEGER])("%d is there after a restart", (version) => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-seen-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  seenVersionIn(folder, silent).raise(version);
  expect(seenVersionIn(folder, silent)).toMatchObject({ version, place: undefined });
  seenVersionIn(folder, silent).raise(version, "theirs");
  seenVersionIn(folder, silent).raise(version);
  expect(seenVersionIn(folder, silent)).toMatchObject({ version, place: "theirs" });
});
