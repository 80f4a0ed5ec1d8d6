// A real disk: links below a root, whole files, programs that run meanwhile.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { Disk } from "./disk.ts";
import type { Step } from "./plan.ts";

let root: string;
let disk: Disk;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "holdfast-disk-"));
  disk = new Disk(root);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (path: string, words: string, mode = 0o755): Step => ({
  kind: "write",
  replaces: false,
  file: { path, role: "own", content: new TextEncoder().encode(words), mode },
});

describe("a write", () => {
  test("makes the folders, the file and its mode, whatever the umask", () => {
    const before = process.umask(0o077);
    try {
      disk.perform(write("/opt/cni/bin/holdfast", "x", 0o755));
    } finally {
      process.umask(before);
    }
    expect(disk.find("/opt/cni/bin/holdfast")).toEqual({ content: Buffer.from("x"), mode: 0o755 });
    expect(readdirSync(join(root, "opt/cni/bin"))).toEqual(["holdfast"]);
  });

  test("that fails leaves what was there, and nothing else", () => {
    mkdirSync(join(root, "bin/holdfast/full"), { recursive: true }); // a folder cannot be replaced by a file
    expect(() => disk.perform(write("/bin/holdfast", "x"))).toThrow(
      /cannot be written.*what was there before is still there/s,
    );
    expect(readdirSync(join(root, "bin"))).toEqual(["holdfast"]);
  });

  test("replaces a program that is running, which goes on", async () => {
    mkdirSync(join(root, "bin"));
    const program = join(root, "bin/holdfast");
    copyFileSync("/bin/sleep", program);
    chmodSync(program, 0o755);
    const running = spawn(program, ["1000"]);
    await once(running, "spawn");
    expect(() => writeFileSync(program, "x")).toThrow("ETXTBSY"); // which is why it is not written in place
    disk.perform(write("/bin/holdfast", "new"));
    expect(readFileSync(program, "utf8")).toBe("new");
    expect(running.exitCode).toBeNull();
    running.kill("SIGKILL");
    const [, signal] = (await once(running, "exit")) as [number | null, string];
    expect(signal).toBe("SIGKILL");
  });
});

describe("links", () => {
  test("that are absolute start at the root, as they do for the host", () => {
    mkdirSync(join(root, "home/kubernetes/bin"), { recursive: true });
    mkdirSync(join(root, "opt/cni"), { recursive: true });
    symlinkSync("/home/kubernetes/bin", join(root, "opt/cni/bin"));
    disk.perform(write("/opt/cni/bin/holdfast", "x"));
    expect(readFileSync(join(root, "home/kubernetes/bin/holdfast"), "utf8")).toBe("x");
  });

  test("that are relative, and those that climb, stay below the root", () => {
    mkdirSync(join(root, "a"));
    symlinkSync("../../../../b", join(root, "a/link"));
    expect(disk.resolve("/a/link/c")).toBe(join(root, "b/c"));
    expect(disk.resolve("/../../etc")).toBe(join(root, "etc"));
  });

  test("of a file: the file itself is replaced, the link stays", () => {
    mkdirSync(join(root, "bin"));
    writeFileSync(join(root, "real"), "old");
    symlinkSync("../real", join(root, "bin/holdfast"));
    disk.perform(write("/bin/holdfast", "new"));
    expect(readFileSync(join(root, "real"), "utf8")).toBe("new");
  });

  test("in a circle are refused", () => {
    symlinkSync("two", join(root, "one"));
    symlinkSync("one", join(root, "two"));
    expect(() => disk.find("/one/x")).toThrow(/more than 40 links/);
  });
});

describe("a backup", () => {
  beforeEach(() => disk.perform(write("/bin/w", "upstream", 0o700)));

  test("is what was there, with its mode", () => {
    disk.perform({ kind: "backup", path: "/bin/w", to: "/bin/w.before-holdfast" });
    disk.perform(write("/bin/w", "ours"));
    expect(readFileSync(join(root, "bin/w.before-holdfast"), "utf8")).toBe("upstream");
    expect(statSync(join(root, "bin/w.before-holdfast")).mode & 0o777).toBe(0o700);
  });

  test("is never overwritten", () => {
    disk.perform(write("/bin/w.before-holdfast", "older"));
    const step: Step = { kind: "backup", path: "/bin/w", to: "/bin/w.before-holdfast" };
    expect(() => disk.perform(step)).toThrow("cannot be written");
    expect(readFileSync(join(root, "bin/w.before-holdfast"), "utf8")).toBe("older");
  });
});

test("what is there but cannot be read is an error, not an absence", () => {
  mkdirSync(join(root, "bin/holdfast"), { recursive: true });
  expect(() => disk.find("/bin/holdfast")).toThrow(/cannot be read/);
});

test("a removal", () => {
  disk.perform(write("/x", "1"));
  disk.perform({ kind: "remove", path: "/x" });
  expect(existsSync(join(root, "x"))).toBe(false);
});
