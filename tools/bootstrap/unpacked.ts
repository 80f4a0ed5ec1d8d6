// A Debian package unpacked beside the system: for a program of which the machine may have another version already, and
// which need not be installed to be run. Needs no root; nothing outside the cache is touched. A package that only
// stands for another (linux-image-cloud-amd64) is unpacked with it.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

import { cacheRoot } from "../kube/cache.ts";

/** The folder that the package's files are below, as in `<folder>/usr/bin/kubectl`. */
export function unpackedFolder(name: string): string {
  return join(cacheRoot(), "debian", name);
}

/** Undefined when it is there; otherwise why not, with the remedy. */
export function ensureUnpacked(name: string, log: (line: string) => void): string | undefined {
  const folder = unpackedFolder(name);
  if (existsSync(folder)) return undefined;
  log(`unpacking Debian's ${name} into ${folder}`);
  mkdirSync(join(folder, ".."), { recursive: true });
  const work = mkdtempSync(`${folder}.`);
  try {
    const why = unpack(name, work);
    if (why === undefined) renameSync(join(work, "files"), folder); // whole or not at all
    return why;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Into the folder `files` of the given one. Undefined when it is there; otherwise why not. */
function unpack(name: string, work: string): string | undefined {
  const here = { cwd: work, encoding: "utf8" } as const;
  const download = () => spawnSync("apt-get", ["download", "-q", name], here);
  let got = download();
  if (got.error !== undefined) return `this is no Debian (no apt-get), and ${name} comes from there`;
  if (got.status !== 0 && process.getuid?.() === 0) {
    spawnSync("apt-get", ["update", "-q"], { stdio: "ignore" });
    got = download();
  }
  const archive = readdirSync(work).find((file) => file.startsWith(`${name}_`));
  if (archive === undefined) return `apt-get download ${name} failed: ${got.stderr.trim()}; try \`apt-get update\``;
  const unpacked = spawnSync("dpkg-deb", ["-x", archive, "files"], here);
  if (unpacked.status !== 0) return `dpkg-deb could not unpack ${archive}: ${unpacked.stderr.trim()}`;
  const part = partOf(spawnSync("dpkg-deb", ["--field", archive, "Version", "Depends"], here).stdout);
  // Two packages may name each other.
  const isNew = part !== undefined && !readdirSync(work).some((file) => file.startsWith(`${part}_`));
  return isNew ? unpack(part, work) : undefined;
}

/** The package that it depends on at its own version: a part of it, and its only one where it stands for another. */
function partOf(fields: string): string | undefined {
  const version = /^Version: (.*)$/m.exec(fields)?.[1];
  const depends = /^Depends: (.*)$/m.exec(fields)?.[1]?.split(/, */) ?? [];
  return depends.find((each) => each.endsWith(` (= ${version})`))?.split(" ")[0];
}
