// The build against a Go of the test's own: what is built, when, and what is said when it cannot be.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { ensureKubeBinaries, KubeBuildError } from "./build.ts";
import { cacheRoot, kubeVersion } from "./cache.ts";

let folder: string;
let module: string;
let cache: string;
let lines: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-kube-"));
  module = join(folder, "module");
  cache = join(folder, "cache");
  lines = [];
  mkdirSync(module);
  writeFileSync(join(module, "go.mod"), "module m\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/kubernetes v1.36.3\n)\n");
  writeFileSync(join(module, "go.sum"), "");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A Go that notes each call in `calls` and then does what `body` says; $out is where the binary must go. */
function fakeGo(body: string) {
  const path = join(folder, "go");
  writeFileSync(
    path,
    `#!/bin/sh
for last; do :; done
echo "$last" >> ${folder}/calls
while [ "$1" != -o ]; do shift; done; out=$2
${body}
`,
  );
  chmodSync(path, 0o755);
  return () => ({ path, version: "1.26.8" });
}
const works = "echo '#!/bin/sh' > $out; chmod +x $out";
const calls = () =>
  existsSync(join(folder, "calls")) ? readFileSync(join(folder, "calls"), "utf8").trim().split("\n") : [];
const ensure = (go: () => { path: string; version: string }, more = {}) =>
  ensureKubeBinaries({ cache, module, go, log: (line) => lines.push(line), ...more });

test("builds everything once, in the order that others wait for, and does nothing the second time", async () => {
  const go = fakeGo(works);
  const { folder: bin } = await ensure(go);
  expect(calls().slice(0, 3)).toEqual([
    "go.etcd.io/etcd/server/v3",
    "k8s.io/kubernetes/cmd/kube-apiserver",
    "k8s.io/kubernetes/cmd/kubectl",
  ]);
  expect(readdirSync(bin).sort()).toEqual([
    "cnitool",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
    "kubelet",
  ]);
  expect(lines.some((line) => /kubelet built in \d+ s \(6 of 7/.test(line))).toBe(true);
  await ensure(() => {
    throw new Error("Go is not asked for when everything is cached");
  });
  expect(calls()).toHaveLength(7);
});

test("builds only what is asked for", async () => {
  const binaries = await ensure(fakeGo(works), { only: ["kubectl"] });
  expect(readdirSync(binaries.folder)).toEqual(["kubectl"]);
  expect(binaries.path("kubectl")).toBe(join(binaries.folder, "kubectl"));
});

test("two builds at once build each binary once", async () => {
  const go = fakeGo(`sleep 0.1; ${works}`);
  await Promise.all([ensure(go), ensure(go), ensure(go)]);
  expect(calls()).toHaveLength(7);
});

test("a binary is never seen half-written, and the remains of a build that died are removed", async () => {
  const go = fakeGo(`echo half > $out; exit 2`);
  await expect(ensure(go, { only: ["etcd"] })).rejects.toMatchObject({ code: "BuildFailed" });
  const bin = join(cache, "kube", kubeVersion(module).key, "bin");
  expect(readdirSync(bin)).toEqual([]);
  writeFileSync(join(bin, "etcd.unfinished"), "of a build that was killed");
  await ensure(fakeGo(works), { only: ["etcd"] });
  expect(readdirSync(bin)).toEqual(["etcd"]);
});

test("without the module proxy the error says so, with Go's own words", async () => {
  const go = fakeGo(`echo 'go: k8s.io/kubernetes@v1.36.3: Get "x": dial tcp: lookup proxy: no such host' >&2; exit 1`);
  const failure = await ensure(go).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(KubeBuildError);
  expect(failure).toMatchObject({ code: "ModulesUnreachable" });
  expect((failure as Error).message).toMatch(/cannot fetch the source of etcd.*GOPROXY.*no such host/s);
});

test("an abort ends the build", async () => {
  const controller = new AbortController();
  const building = ensure(fakeGo("exec sleep 600"), { signal: controller.signal });
  setTimeout(() => controller.abort(new Error("enough")), 100);
  await expect(building).rejects.toThrow();
});

test("the key changes with the module, and names the version", () => {
  const before = kubeVersion(module);
  expect(before).toMatchObject({ kubernetes: "v1.36.3", key: expect.stringMatching(/^v1\.36\.3-\w+-[0-9a-f]{12}$/) });
  writeFileSync(join(module, "go.sum"), "another sum\n");
  expect(kubeVersion(module).key).not.toBe(before.key);
});

test("the cache is where HOLDFAST_CACHE says, then XDG_CACHE_HOME, then the home folder", () => {
  expect(cacheRoot({ HOLDFAST_CACHE: "/a", XDG_CACHE_HOME: "/b" })).toBe("/a");
  expect(cacheRoot({ XDG_CACHE_HOME: "/b" })).toBe("/b/holdfast");
  expect(cacheRoot({})).toMatch(/\/\.cache\/holdfast$/);
});
