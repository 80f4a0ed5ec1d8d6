// Where built binaries and images live: outside the repository, one folder per version, shared by every checkout.
//
//   ${HOLDFAST_CACHE:-${XDG_CACHE_HOME:-~/.cache}/holdfast}/kube/<version>-<architecture>-<hash>/bin
//
// The hash is of go.mod, go.sum and the build flags: a change makes a new folder, and an old checkout keeps its own.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import { buildFlags } from "./programs.ts";

export const moduleFolder = join(import.meta.dirname, "module");

export function cacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  if (env["HOLDFAST_CACHE"]) return env["HOLDFAST_CACHE"];
  return join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "holdfast");
}

export interface KubeVersion {
  readonly kubernetes: string;
  /** Names the folder in the cache. */
  readonly key: string;
}

export function kubeVersion(folder: string = moduleFolder): KubeVersion {
  const goMod = readFileSync(join(folder, "go.mod"), "utf8");
  const kubernetes = /^\s*k8s\.io\/kubernetes (v\S+)/m.exec(goMod)?.[1];
  if (kubernetes === undefined) throw new Error(`${folder}/go.mod does not require k8s.io/kubernetes`);
  const hash = createHash("sha256")
    .update(goMod)
    .update(readFileSync(join(folder, "go.sum")))
    .update(buildFlags(kubernetes).join("\n"))
    .digest("hex");
  return { kubernetes, key: `${kubernetes}-${process.arch}-${hash.slice(0, 12)}` };
}
