// A kept DEL is done once a daemon is there, before an ADD; a file that is no DEL does no harm.
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { spooledLimitBytes } from "../../cni/protocol/limits.ts";
import { requestFrame } from "../../cni/shim/wire.ts";
import { realClock } from "../../kube/clock.ts";
import { silent } from "../../log/log.ts";
import { Spool, type SpoolOptions } from "./spool.ts";

let folder: string;
const at = (name: string) => join(folder, name);
const ever = new AbortController().signal;
beforeEach(() => void (folder = join(mkdtempSync(join(tmpdir(), "spool-")), "spool")));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const utf8 = new TextEncoder();

function request(containerId: string, more: Record<string, string> = {}): Uint8Array {
  const environment = { CNI_COMMAND: "DEL", CNI_CONTAINERID: containerId, CNI_IFNAME: "net1", ...more };
  const variables = Object.entries(environment).map(([key, value]) => `${key}=${value}\0`);
  return requestFrame(utf8.encode(variables.join("")), utf8.encode("{}"));
}

function put(name: string, bytes: Uint8Array | string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(at(name), bytes, { mode: 0o600 });
}

/** A daemon's life; `release` notes what it was asked for. */
function made(more: Partial<SpoolOptions> = {}) {
  const released: string[] = [];
  const outcomes: string[] = [];
  const spool = new Spool({
    folder,
    ownUid: process.getuid?.() ?? 0,
    clock: realClock,
    log: silent,
    release: async ({ containerId, interfaceName }) => void released.push(`${containerId}/${interfaceName}`),
    onTaken: (outcome) => outcomes.push(outcome),
    ...more,
  });
  return { spool, released, outcomes };
}

const box = (containerId: string) => ({ containerId, interfaceName: "net1" });

test("at the start: everything that was kept, and the folder is root's alone", async () => {
  for (const name of ["1-1.del", "2-2.del", "3-3.del"]) put(name, request(`box-${name[0]}`));
  chmodSync(folder, 0o755);
  const { spool, released, outcomes } = made();
  await spool.open();
  expect(released.sort()).toEqual(["box-1/net1", "box-2/net1", "box-3/net1"]);
  expect(outcomes).toEqual(["done", "done", "done"]);
  expect(readdirSync(folder)).toEqual([]);
  expect((statSync(folder).mode & 0o777).toString(8)).toBe("700");
});

test("a folder that is not there is made, and one that is removed by hand costs nothing", async () => {
  const { spool } = made();
  await spool.open();
  expect(existsSync(folder)).toBe(true);
  rmSync(folder, { recursive: true });
  await spool.settled(box("x"), ever);
});

test("an ADD waits for what was kept before it came, also where a round is under way that looked too early", async () => {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const released: string[] = [];
  const { spool } = made({
    release: async ({ containerId }) => {
      begun.resolve();
      if (containerId === "first") await gate.promise;
      released.push(containerId);
    },
  });
  await spool.open();
  put("1-1.del", request("first"));
  const one = spool.settled(box("a"), ever);
  await begun.promise;
  put("2-2.del", request("second"));
  const two = spool.settled(box("b"), ever);
  gate.resolve();
  await one;
  await two;
  expect(released).toEqual(["first", "second"]);
  expect(readdirSync(folder)).toEqual([]);
});

test("an ADD that is called off while it waits is called off", async () => {
  const { spool } = made({ release: () => new Promise(() => {}) });
  put("1-1.del", request("stuck"));
  const off = new AbortController();
  const waiting = spool.settled(box("a"), off.signal);
  off.abort(new Error("hung up"));
  await expect(waiting).rejects.toThrow("hung up");
});

test("one that cannot be done stays, keeps back an ADD of its own sandbox alone, and is done later", async () => {
  let fails = true;
  const { spool, outcomes } = made({
    release: async () => {
      if (fails) throw new Error("the disk is full");
    },
  });
  put("1-1.del", request("box"));
  await spool.settled(box("other"), ever);
  await expect(spool.settled(box("box"), ever)).rejects.toMatchObject({ code: 11 });
  expect(readdirSync(folder)).toEqual(["1-1.del"]);
  fails = false;
  await spool.settled(box("box"), ever);
  expect(outcomes).toEqual(["done"]);
});

test("killed between the release and the end of the file: the next daemon does it again, and that is all", async () => {
  put("1-1.del", request("box"));
  const killed = made({ release: () => new Promise(() => {}) });
  void killed.spool.open();
  const { spool, released } = made();
  await spool.open();
  expect(released).toEqual(["box/net1"]);
  await made().spool.open();
  expect(readdirSync(folder)).toEqual([]);
});

describe("what is no DEL is removed, told, and keeps nobody back:", () => {
  test.each<[string, Uint8Array | string]>([
    ["nothing", ""],
    ["text", "DEL everything"],
    ["half of one", request("box").subarray(0, 40)],
    ["one and more", Buffer.concat([request("box"), Buffer.from("x")])],
    ["another version", Buffer.from("HFQ\x02\0\0\0\0\0\0\0\0")],
    ["a length beyond the limit", Buffer.from("HFQ\x01\xff\xff\xff\xff\xff\xff\xff\xff", "latin1")],
    ["an ADD", request("box", { CNI_COMMAND: "ADD", CNI_NETNS: "/x", CNI_ARGS: "K8S_POD_NAME=a" })],
    ["a GC", request("box", { CNI_COMMAND: "GC", CNI_PATH: "/x" })],
    ["a sandbox that is a path", request("../../etc")],
  ])("%s", async (_, bytes) => {
    put("1-1.del", bytes);
    put("2-2.del", request("good"));
    const { spool, released, outcomes } = made();
    await spool.open();
    expect(released).toEqual(["good/net1"]);
    expect(outcomes.sort()).toEqual(["discarded", "done"]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a file beyond the bound, which is not even read", async () => {
    put("1-1.del", request("box"));
    truncateSync(at("1-1.del"), spooledLimitBytes + 1);
    const { spool, released, outcomes } = made();
    await spool.open();
    expect([released, outcomes]).toEqual([[], ["discarded"]]);
  });

  test("a link, whatever it leads to", async () => {
    put("elsewhere", request("box"));
    symlinkSync(at("elsewhere"), at("1-1.del"));
    const { spool, released } = made();
    await spool.open();
    expect(released).toEqual([]);
    expect(readdirSync(folder)).toEqual(["elsewhere"]);
  });

  test("a pipe that nobody writes to, and a folder", async () => {
    mkdirSync(at("2-2.del"), { recursive: true });
    execFileSync("/usr/bin/mkfifo", [at("1-1.del")]);
    const { spool, outcomes } = made();
    await spool.open();
    await spool.settled(box("x"), ever);
    expect(outcomes).toEqual(["discarded"]);
    expect(readdirSync(folder)).toEqual(["2-2.del"]);
  });

  test.skipIf(process.getuid?.() !== 0)("another user's", async () => {
    put("1-1.del", request("box"));
    chownSync(at("1-1.del"), 65_534, 65_534);
    const { spool, released } = made();
    await spool.open();
    expect(released).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });
});

test("what a killed plugin left unfinished goes after a while, and not before", async () => {
  put("1-1.new", "half");
  put("2-2.new", "half");
  utimesSync(at("1-1.new"), 1, 1);
  await made().spool.open();
  expect(readdirSync(folder)).toEqual(["2-2.new"]);
});

test("what is called otherwise is not looked at", async () => {
  put("README", "hands off");
  await made().spool.open();
  expect(readdirSync(folder)).toEqual(["README"]);
});
