// The build: once, whole, by one process at a time; and its message where it cannot be. test/shim builds for real.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { ShimBuildError } from "./build-error.ts";
import { ensureCompiler, scriptcVersion } from "./compiler.ts";
import { ensureShim } from "./ensure.ts";
import { buildKey } from "./sources.ts";

let cache: string;
let lines: string[];
const log = (line: string) => void lines.push(line);
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), "holdfast-shim-"));
  lines = [];
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));

/** An npm that notes its arguments and does what `body` says in the folder it was started in. */
function fakeNpm(body: string): string {
  const path = join(cache, "npm");
  writeFileSync(path, `#!/bin/sh\necho "$@" >> ${cache}/calls\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}
const calls = () =>
  existsSync(join(cache, "calls")) ? readFileSync(join(cache, "calls"), "utf8").trim().split("\n") : [];
const works = "mkdir -p node_modules/scriptc/dist && echo > node_modules/scriptc/dist/bootstrap.js";

test("the fallback is one executable file that needs its Node only, and is built once", async () => {
  const { path, linkage } = await ensureShim({ native: false, cache, log });
  expect(linkage).toBe("script");
  const text = readFileSync(path, "utf8");
  expect(text.startsWith(`#!${process.execPath}\n`)).toBe(true);
  const required = [...text.matchAll(/require\("([^"]+)"\)/g)].map(([, name]) => name);
  expect(required.every((name) => name?.startsWith("node:"))).toBe(true);
  expect(execFileSync(path, { env: { CNI_COMMAND: "VERSION" }, input: "", encoding: "utf8" })).toContain(
    "supportedVersions",
  );
  const { mtimeMs } = statSync(path);
  expect(await ensureShim({ native: false, cache, log })).toEqual({ path, linkage });
  expect(statSync(path).mtimeMs).toBe(mtimeMs);
  expect(lines).toHaveLength(1);
});

test("several at once build it once", async () => {
  const shims = await Promise.all([1, 2, 3].map(() => ensureShim({ native: false, cache, log })));
  expect(new Set(shims.map(({ path }) => path)).size).toBe(1);
  expect(lines.filter((line) => line.startsWith("the shim is built"))).toHaveLength(1);
});

test("the remains of a build that died are no build", async () => {
  const { path } = await ensureShim({ native: false, cache });
  rmSync(join(path, "..", "linkage"));
  writeFileSync(path, "half");
  expect(readFileSync((await ensureShim({ native: false, cache })).path, "utf8")).toContain("supportedVersions");
});

test("the key is the sources' and what else goes in", () => {
  expect(buildKey(["a"])).toBe(buildKey(["a"]));
  expect(buildKey(["a"])).not.toBe(buildKey(["b"]));
});

test("the compiler is one exact version, without scripts, installed once by several at once", async () => {
  const npm = fakeNpm(`sleep 0.2; ${works}`);
  const scripts = await Promise.all([1, 2, 3].map(() => ensureCompiler({ cache, log, npm })));
  expect(new Set(scripts).size).toBe(1);
  expect(existsSync(scripts[0]!)).toBe(true);
  expect(calls()).toEqual([expect.stringMatching(/^install --no-package-lock --ignore-scripts .* scriptc@0\.1\.7$/)]);
});

test("an install that fails leaves nothing, and says npm's words; one that died is begun anew", async () => {
  const failing = fakeNpm("echo half > half; echo 'npm error network' >&2; exit 1");
  const failure = await ensureCompiler({ cache, log, npm: failing }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ShimBuildError);
  expect(failure).toMatchObject({
    code: "CompilerUnreachable",
    message: expect.stringMatching(/npm ping.*npm error network/s),
  });
  const folder = `${scriptcVersion}-${process.arch}`;
  expect(readdirSync(join(cache, "scriptc"))).toEqual([`${folder}.lock`]);
  await ensureCompiler({ cache, log, npm: fakeNpm(works) });
  expect(readdirSync(join(cache, "scriptc")).sort()).toEqual([folder, `${folder}.lock`]);
});

test("an abort ends the install", async () => {
  const controller = new AbortController();
  const installing = ensureCompiler({ cache, log, npm: fakeNpm("exec sleep 600"), signal: controller.signal });
  setTimeout(() => controller.abort(new Error("enough")), 100);
  await expect(installing).rejects.toThrow();
});
