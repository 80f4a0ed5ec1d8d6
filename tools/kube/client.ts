// Builds the Go program of tools/kube/client into the cache, once per state of its sources: an operator's unchanged
// libraries, to try API servers with. As for the rest of Kubernetes, Go fetches its modules from the proxy.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { findGo } from "../bootstrap/go.ts";
import { buildOne, goVersionOf } from "./build.ts";
import { cacheRoot, kubeVersion } from "./cache.ts";
import { acquireLock } from "./lock.ts";

const module = join(import.meta.dirname, "client");

/** The path of the program. */
export async function ensureGoClient(): Promise<string> {
  const hash = createHash("sha256");
  for (const file of readdirSync(module).sort()) hash.update(file).update(readFileSync(join(module, file)));
  const folder = join(cacheRoot(), "kube", `client-${process.arch}-${hash.digest("hex").slice(0, 12)}`);
  const program = { name: "client", package: "." };
  const path = join(folder, program.name);
  if (existsSync(path)) return path;
  const release = await acquireLock(join(folder, "build.lock"));
  try {
    mkdirSync(folder, { recursive: true });
    const go = findGo(goVersionOf(module));
    if (!existsSync(path)) await buildOne(go, module, folder, program, kubeVersion().kubernetes, undefined);
  } finally {
    await release();
  }
  return path;
}
