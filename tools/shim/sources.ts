// The sources of the shim, and the key under which a build is kept: a changed source gets a new folder.
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { scriptcVersion } from "./compiler.ts";

export const root = join(import.meta.dirname, "..", "..");
export const nativeSource = "src/cni/shim/native.ts";
export const bindings = "src/cni/shim/libc.json";
export const portableSource = "src/cni/shim/portable.ts";

/** The sources and the build itself, tests aside. */
const files = ["src/cni/shim/*.{ts,json}", "src/cni/protocol/limits.ts", "tools/shim/*.ts"];

/** `more`: whatever else the result depends on. */
export function buildKey(more: readonly string[]): string {
  const hash = createHash("sha256").update([scriptcVersion, process.arch, ...more].join("\n"));
  const names = globSync(files, { cwd: root }).filter((name) => !name.endsWith(".test.ts"));
  for (const name of names.sort()) hash.update(`\n${name}\n`).update(readFileSync(join(root, name)));
  return `${process.arch}-${hash.digest("hex").slice(0, 16)}`;
}
