// The delegating plugin, compiled: once per state of its sources, into the cache beside Kubernetes.
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";

import { findGo } from "../../../tools/bootstrap/go.ts";
import { cacheRoot } from "../../../tools/kube/cache.ts";
import { acquireLock } from "../../../tools/kube/lock.ts";
import { run } from "../command.ts";
import { pluginName } from "./install.ts";

const folder = join(import.meta.dirname, "plugin");

/** The path of the program that stands in the place of Multus: ours, or the real one where MULTUS names it. */
export async function ensurePlugin(): Promise<string> {
  const given = process.env["MULTUS"];
  if (given) return given;
  const hash = createHash("sha256").update(process.arch);
  for (const name of globSync("*.{go,mod}", { cwd: folder }).sort()) hash.update(readFileSync(join(folder, name)));
  const target = join(cacheRoot(), "lab", `${pluginName}-${hash.digest("hex").slice(0, 16)}`);
  if (existsSync(target)) return target;
  const release = await acquireLock(`${target}.lock`, { onWait: () => {} });
  try {
    if (!existsSync(target)) await build(target);
    return target;
  } finally {
    await release();
  }
}

async function build(target: string): Promise<void> {
  const wanted = /^go (\S+)$/m.exec(readFileSync(join(folder, "go.mod"), "utf8"))?.[1] ?? "";
  const env = { ...process.env, CGO_ENABLED: "0", GOWORK: "off", GOFLAGS: "" };
  const unfinished = `${target}.unfinished`;
  await run([findGo(wanted).path, "build", "-trimpath", "-ldflags=-s -w", "-o", unfinished, "."], { cwd: folder, env });
  renameSync(unfinished, target);
}
