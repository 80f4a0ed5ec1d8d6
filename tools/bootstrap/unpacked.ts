// A Debian package unpacked beside the system: for a program of which the machine may have another version already, and
// which need not be installed to be run. Needs no root; nothing outside the cache is touched.
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
    const download = () => spawnSync("apt-get", ["download", "-q", name], { cwd: work, encoding: "utf8" });
    let got = download();
    if (got.error !== undefined) return `this is no Debian (no apt-get), and ${name} comes from there`;
    if (got.status !== 0 && process.getuid?.() === 0) {
      spawnSync("apt-get", ["update", "-q"], { stdio: "ignore" });
      got = download();
    }
    const archive = readdirSync(work).find((file) => file.endsWith(".deb"));
    if (archive === undefined) return `apt-get download ${name} failed: ${got.stderr.trim()}; try \`apt-get update\``;
    const unpack = spawnSync("dpkg-deb", ["-x", archive, "files"], { cwd: work, encoding: "utf8" });
    if (unpack.status !== 0) return `dpkg-deb could not unpack ${archive}: ${unpack.stderr.trim()}`;
    renameSync(join(work, "files"), folder); // whole or not at all
    return undefined;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
