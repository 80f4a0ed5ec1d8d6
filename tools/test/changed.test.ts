import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type Graph, graphOf, isPure, reachedBy } from "./changed.ts";

const files: Readonly<Record<string, string>> = {
  "src/net/address.ts": "export const address = 1;",
  "src/net/alone.ts": "export const alone = 1;",
  "src/net/file.ts":
    'import type { Stats } from "node:fs";\nimport { read } from "../node/read.ts"; console.log(read);',
  "src/node/read.ts": 'import { readFileSync } from "node:fs"; export const read = readFileSync;',
  "src/net/typed.ts": 'import type { Stats } from "node:fs"; export const typed = (stats: Stats) => stats.size;',
  "src/net/file.test.ts": 'import "./file.ts";\nimport "./typed.ts";',
  "src/node/daemon.ts": 'import { address } from "../net/address.ts"; export const daemon = address;',
  "bin/holdfast.ts": 'import { daemon } from "../src/node/daemon.ts"; console.log(daemon);',
  "test/caller.ts": 'import { alone } from "../src/net/alone.ts"; console.log(alone);',
  "src/net/address.test.ts": 'import { address } from "./address.ts"; console.log(address);',
  "test/starts.process.test.ts": 'import { join } from "node:path"; console.log(join("bin", "holdfast.ts"));',
  "src/net/typed.test.ts": 'import type { address } from "./address.ts"; export type Address = typeof address;',
  "test/calls.process.test.ts": 'console.log(new URL("caller.ts", import.meta.url));',
  "test/applies.real.test.ts": 'import { join } from "node:path"; console.log(join("deploy", "crds"));',
};
const tests = Object.keys(files).filter((file) => file.endsWith(".test.ts"));

describe("what a change reaches", () => {
  const root = mkdtempSync(join(tmpdir(), "holdfast-changed-"));
  let graph: Graph;
  beforeAll(() => {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(join(root, dirname(file)), { recursive: true });
      writeFileSync(join(root, file), text);
    }
    graph = graphOf(root, tests);
  });
  afterAll(() => rmSync(root, { recursive: true }));

  test.each([
    [["src/net/address.ts"], ["src/net/address.test.ts", "test/starts.process.test.ts"]],
    [["src/node/daemon.ts"], ["test/starts.process.test.ts"]],
    [["src/net/alone.ts"], ["test/calls.process.test.ts"]],
    [["src/net/address.test.ts"], ["src/net/address.test.ts"]],
    [["deploy/crds/pool.yaml"], ["test/applies.real.test.ts"]],
    [["docs/testing.md", "bench/nobody.ts"], []],
    [["package-lock.json"], tests],
  ])("%j", (changed, reached) => {
    expect(reachedBy(graph, tests, changed, (file) => files[file] ?? "")).toEqual(reached);
  });

  test.each([
    ["src/net/address.ts", true],
    ["src/net/typed.ts", true],
    ["src/node/read.ts", false],
    ["src/net/file.ts", false], // by what it imports
    ["bin/holdfast.ts", false],
    ["test/caller.ts", false], // what tests stand on is judged by them
    ["deploy/crds/pool.yaml", false], // no source
  ])("%s is pure: %s", (file, expected) => {
    expect(isPure(graph, file, (each) => files[each] ?? "")).toBe(expected);
  });
});
