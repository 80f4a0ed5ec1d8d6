// Archives and images, read back by the machine's own tar.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { imageArchive } from "./image.ts";
import { tar } from "./tar.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-tar-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("the machine's own tar unpacks it: contents of any length, modes, links", () => {
  const sizes = [0, 1, 511, 512, 513, 10_000];
  const archive = tar([
    { kind: "folder", path: "bin/" },
    { kind: "folder", path: "tmp/", sticky: true },
    ...sizes.map((size) => ({ kind: "file" as const, path: `bin/f${size}`, content: Buffer.alloc(size, "x") })),
    { kind: "file", path: "bin/run", content: Buffer.from("#!/bin/sh\n"), executable: true },
    { kind: "link", path: "bin/sh", target: "run" },
  ]);
  writeFileSync(join(folder, "a.tar"), archive);
  execFileSync("tar", ["-xpf", "a.tar"], { cwd: folder });
  for (const size of sizes) expect(readFileSync(join(folder, `bin/f${size}`))).toEqual(Buffer.alloc(size, "x"));
  expect(statSync(join(folder, "bin/run")).mode & 0o7777).toBe(0o755);
  expect(statSync(join(folder, "bin/f1")).mode & 0o7777).toBe(0o644);
  expect(statSync(join(folder, "tmp")).mode & 0o7777).toBe(0o1777);
  expect(readlinkSync(join(folder, "bin/sh"))).toBe("run");
});

test("the same entries are the same bytes", () => {
  const entries = [{ kind: "file" as const, path: "a", content: Buffer.from("b") }];
  expect(tar(entries)).toEqual(tar(entries));
});

test("a path longer than a name is cut at a slash", () => {
  const paths = [`${"d".repeat(60)}/${"f".repeat(60)}`, `${"a".repeat(100)}/${"b".repeat(50)}/${"c".repeat(100)}`];
  writeFileSync(join(folder, "a.tar"), tar(paths.map((path) => ({ kind: "file", path, content: Buffer.from(path) }))));
  execFileSync("tar", ["-xf", "a.tar"], { cwd: folder });
  for (const path of paths) expect(readFileSync(join(folder, path), "utf8")).toBe(path);
});

test("a name that does not fit is refused, not cut", () => {
  for (const path of ["x".repeat(101), `${"d".repeat(156)}/f`, `d/${"f".repeat(101)}`, `${"d".repeat(120)}/`])
    expect(() => tar([{ kind: "folder", path }])).toThrow(RangeError);
  expect(() => tar([{ kind: "link", path: "a", target: "x".repeat(101) }])).toThrow(RangeError);
});

test("an image archive names its files by their digests", () => {
  const entries = [{ kind: "file" as const, path: "hello", content: Buffer.from("hello"), executable: true }];
  writeFileSync(join(folder, "i.tar"), imageArchive([{ name: "lab.local/a:1", entrypoint: ["/hello"], entries }]));
  execFileSync("tar", ["-xf", "i.tar"], { cwd: folder });
  const read = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8")) as unknown;
  const [image] = read("manifest.json") as [{ Config: string; RepoTags: string[]; Layers: [string] }];
  const digest = (file: string) =>
    createHash("sha256")
      .update(readFileSync(join(folder, file)))
      .digest("hex");
  expect(image.RepoTags).toEqual(["lab.local/a:1"]);
  expect(image.Config).toBe(`${digest(image.Config)}.json`);
  expect(image.Layers).toEqual([`${digest(image.Layers[0])}.tar`]);
  expect(read(image.Config)).toMatchObject({
    os: "linux",
    config: { Entrypoint: ["/hello"] },
    rootfs: { diff_ids: [`sha256:${digest(image.Layers[0])}`] },
  });
});
