// What is removed of dead clusters, and what is not touched, with records and processes of the test's own.
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { childrenOf, identify, isAlive, sendSignal, withDescendants } from "./process.ts";
import { reap } from "./reaper.ts";
import { type ClusterState, readBootId, readStates, StateFile } from "./state.ts";

let root: string;
let children: ChildProcess[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "holdfast-reaper-"));
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(root, { recursive: true, force: true });
});

function sleeper(): number {
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  children.push(child);
  return child.pid!;
}

/** A process that has ended, with the identity it had. */
async function deadProcess() {
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  const identity = identify(child.pid!)!;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
  return identity;
}

async function leaveBehind(name: string, more: Partial<ClusterState>): Promise<ClusterState> {
  const folder = join(root, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "etcd.log"), "words");
  const owner = await deadProcess();
  const state = { name, bootId: readBootId(), owner, folder, processes: [], cgroups: [], ...more };
  writeFileSync(`${folder}.json`, JSON.stringify(state));
  return state;
}

test("what belongs to a dead owner is removed: its processes, its folder, its record", async () => {
  const pid = sleeper();
  const identity = identify(pid)!;
  await leaveBehind("lab-a", { processes: [{ role: "etcd", wrapper: false, ...identity }] });
  expect(await reap(root)).toEqual(["lab-a"]);
  expect(isAlive(identity)).toBe(false);
  expect(readdirSync(root).filter((name) => name.startsWith("lab"))).toEqual([]);
  expect(await reap(root)).toEqual([]);
});

test("what belongs to a living owner is left alone", async () => {
  const owner = identify(sleeper())!;
  const mine = identify(sleeper())!;
  const state = await leaveBehind("lab-b", { owner, processes: [{ role: "etcd", wrapper: false, ...mine }] });
  expect(await reap(root)).toEqual([]);
  expect(isAlive(mine)).toBe(true);
  expect(existsSync(state.folder)).toBe(true);
});

test("a pid that is another process by now is not touched, nor is any after a reboot", async () => {
  const innocent = identify(sleeper())!;
  const reused = { role: "etcd", wrapper: false, pid: innocent.pid, startTicks: innocent.startTicks - 1 };
  await leaveBehind("lab-c", { processes: [reused] });
  const unlucky = { role: "etcd", wrapper: false, ...innocent };
  await leaveBehind("lab-d", { bootId: "another-boot", processes: [unlucky] });
  expect((await reap(root)).sort()).toEqual(["lab-c", "lab-d"]);
  expect(isAlive(innocent)).toBe(true);
});

test("a file that is no record is left alone, and does not stop the others", async () => {
  writeFileSync(join(root, "torn.json"), "{");
  await leaveBehind("lab-e", {});
  expect(await reap(root)).toEqual(["lab-e"]);
  expect(existsSync(join(root, "torn.json"))).toBe(true);
});

test("a root that others can write is not trusted, nor is a record of another place", async () => {
  const elsewhere = mkdtempSync(join(tmpdir(), "holdfast-elsewhere-"));
  await leaveBehind("lab-g", { folder: elsewhere });
  expect(await reap(root)).toEqual([]);
  expect(existsSync(elsewhere)).toBe(true);
  rmSync(elsewhere, { recursive: true });
  chmodSync(root, 0o777);
  await expect(reap(root)).rejects.toThrow("only this user can write");
  expect(() => new StateFile("lab-h", root)).toThrow("only this user can write");
});

test("a record is there before its folder, and knows each process from the moment it is told", () => {
  const file = new StateFile("lab-f", root);
  file.recordProcess("etcd", sleeper());
  file.recordCgroups(["/sys/fs/cgroup/x"]);
  const [state] = readStates(root);
  expect(state).toEqual(file.state);
  expect(state).toMatchObject({
    owner: { pid: process.pid },
    processes: [{ role: "etcd" }],
    cgroups: ["/sys/fs/cgroup/x"],
  });
});

test("a process is known by its start, and so are those below it", async () => {
  const shell = spawn("sh", ["-c", "sleep 1000 & wait"], { stdio: "ignore" });
  children.push(shell);
  while (childrenOf(shell.pid!).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const family = withDescendants([shell.pid!]);
  expect(family.map(({ pid }) => pid)).toEqual([shell.pid, childrenOf(shell.pid!)[0]]);
  for (const one of family) expect(sendSignal(one, "SIGKILL")).toBe(true);
  expect(sendSignal({ ...family[0]!, startTicks: 1 }, "SIGKILL")).toBe(false);
});
