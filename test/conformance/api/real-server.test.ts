// Where the real binaries are looked for, and what is said when they are not there.
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import { kubeBinaries } from "./real-server.ts";

const binaries = ["etcd", "kube-apiserver", "kube-controller-manager"];
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-binaries-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("takes the folder that HOLDFAST_KUBE_BIN names", () => {
  for (const name of binaries) writeFileSync(join(folder, name), "");
  expect(kubeBinaries({ HOLDFAST_KUBE_BIN: folder })).toBe(folder);
});

it("takes the newest build in the cache", () => {
  for (const [version, secondsAgo] of [
    ["v1", 100],
    ["v2", 0],
    ["v3", 50],
  ] as const) {
    const bin = join(folder, "kube", version, "bin");
    mkdirSync(bin, { recursive: true });
    for (const name of binaries) writeFileSync(join(bin, name), "");
    const time = Date.now() / 1000 - secondsAgo;
    utimesSync(bin, time, time);
  }
  expect(kubeBinaries({ HOLDFAST_CACHE: folder })).toBe(join(folder, "kube", "v2", "bin"));
});

it("says so when there is no build at all", () => {
  expect(() => kubeBinaries({ HOLDFAST_CACHE: folder })).toThrow(
    `etcd, kube-apiserver, kube-controller-manager not found in ${folder}/kube/*/bin`,
  );
});

it("says which binaries are missing, and how to get them", () => {
  writeFileSync(join(folder, "etcd"), "");
  const look = () => kubeBinaries({ HOLDFAST_KUBE_BIN: folder });
  expect(look).toThrow(`kube-apiserver, kube-controller-manager not found in ${folder}`);
  expect(look).toThrow("HOLDFAST_KUBE_BIN");
});
