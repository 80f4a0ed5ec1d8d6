// Where the real binaries are looked for, and what is said when they are not there.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import { kubeBinaries } from "./real-server.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-binaries-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("takes the folder that HOLDFAST_KUBE_BIN names", () => {
  for (const name of ["etcd", "kube-apiserver", "kube-controller-manager"]) writeFileSync(join(folder, name), "");
  expect(kubeBinaries({ HOLDFAST_KUBE_BIN: folder })).toBe(folder);
});

it("says which binaries are missing, and how to get them", () => {
  writeFileSync(join(folder, "etcd"), "");
  const look = () => kubeBinaries({ HOLDFAST_KUBE_BIN: folder });
  expect(look).toThrow(`kube-apiserver, kube-controller-manager not found in ${folder}`);
  expect(look).toThrow("HOLDFAST_KUBE_BIN");
});
