// The folder of remembered sandboxes, on a real disk.
import { mkdtemp, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import type { KnownSandbox } from "./fence-sandbox.ts";
import { Sandboxes } from "./fence-sandboxes.ts";

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "holdfast-sandboxes-"));
});
afterEach(() => rm(state, { recursive: true }));

const sandbox = (containerId: string, interfaceName = "net1"): KnownSandbox => ({
  containerId,
  interfaceName,
  netns: "/run/netns/x",
  netnsId: "4:1",
  pod: { namespace: "shop", name: "launcher", uid: "p" },
  claim: { namespace: "shop", name: "vm.blue", uid: "c" },
  holds: [{ namespace: "kube-system", domain: "network:", address: "10.0.0.7" }],
});
const files = async () => readdir(join(state, "sandboxes"));

it("what was added is there after a start, what was removed is not", async () => {
  const before = await Sandboxes.open(state);
  for (const each of ["a", "b", "c"]) await before.add(sandbox(each));
  await before.add(sandbox("a", "net2"));
  await before.remove({ containerId: "b", interfaceName: "net1" });
  await before.remove({ containerId: "never", interfaceName: "net1" });
  const after = await Sandboxes.open(state);
  const shown = after.all().map(({ containerId, interfaceName }) => `${containerId} ${interfaceName}`);
  expect(shown.toSorted()).toEqual(["a net1", "a net2", "c net1"]);
  expect(after.get({ containerId: "a", interfaceName: "net2" })).toEqual(sandbox("a", "net2"));
  expect(after.damaged).toBe(0);
});

it("a second ADD of the same sandbox replaces what is known", async () => {
  const sandboxes = await Sandboxes.open(state);
  await sandboxes.add(sandbox("a"));
  await sandboxes.add({ ...sandbox("a"), netnsId: "4:2" });
  expect((await Sandboxes.open(state)).all()).toEqual([{ ...sandbox("a"), netnsId: "4:2" }]);
  expect(await files()).toHaveLength(1);
});

it("a file that is cut, and one that a crash left half written, are removed and stop nobody", async () => {
  const before = await Sandboxes.open(state);
  await before.add(sandbox("a"));
  const [torn] = await files();
  await before.add(sandbox("b"));
  await truncate(join(state, "sandboxes", torn!), 20);
  await writeFile(join(state, "sandboxes", "half.json.new"), "{");
  const after = await Sandboxes.open(state);
  expect(after.all()).toEqual([sandbox("b")]);
  expect(after.damaged).toBe(1);
  expect(await files()).toHaveLength(1);
});

it("an id that climbs names no other file", async () => {
  const sandboxes = await Sandboxes.open(state);
  await sandboxes.add(sandbox("../../evil"));
  expect(await readdir(state)).toEqual(["sandboxes"]);
  expect((await Sandboxes.open(state)).all()).toEqual([sandbox("../../evil")]);
});

it("a folder that cannot be made is said with its path", async () => {
  await writeFile(join(state, "sandboxes"), "a file");
  await expect(Sandboxes.open(state)).rejects.toMatchObject({
    code: "disk",
    message: expect.stringContaining(state) as unknown,
  });
});
