import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import { removeScratch, scratchFolder } from "./scratch.ts";

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "scratch-"));
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

it("is a folder of this process, and goes with all that is in it", () => {
  const folder = scratchFolder(parent, () => true) ?? "";
  expect(readdirSync(parent)).toEqual([`holdfast-test-${process.pid}`]);
  mkdirSync(join(folder, "etcd", "member"), { recursive: true });
  removeScratch(folder);
  expect(readdirSync(parent)).toEqual([]);
});

it("is none where there is too little memory, or no such folder", () => {
  expect(scratchFolder(parent, () => false)).toBeUndefined();
  expect(scratchFolder(join(parent, "missing"), () => true)).toBeUndefined();
  expect(readdirSync(parent)).toEqual([]);
});

it("takes away what a run left that was killed, and nothing of one that goes on", () => {
  const { pid: ended } = spawnSync("true");
  const [left, beside, other] = [`holdfast-test-${ended}`, `holdfast-test-${process.ppid}`, "holdfast-test-x"];
  for (const name of [left, beside, other]) mkdirSync(join(parent, name, "files"), { recursive: true });
  scratchFolder(parent, () => false);
  expect(existsSync(join(parent, left))).toBe(false);
  expect(readdirSync(parent).toSorted()).toEqual([beside, other].toSorted());
});
