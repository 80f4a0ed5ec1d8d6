// scriptc, the compiler from TypeScript to a native executable: one exact version, installed by npm into the cache.
//
// It is no entry of package.json: the registry lacks its packages for some platforms, and `npm ci` would refuse a lock
// file with it everywhere (docs/shim.md).
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { acquireLock } from "../kube/lock.ts";
import { ShimBuildError } from "./build-error.ts";
import { lastLines, runCommand } from "./command.ts";

export const scriptcVersion = "0.1.7";

export interface CompilerOptions {
  readonly cache: string;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal;
  /** What fetches it; a program of the test's own in tests. */
  readonly npm?: string;
}

/** The script to run with Node. The folder appears at once with everything in it, or not at all. */
export async function ensureCompiler({ cache, log, signal, npm = "npm" }: CompilerOptions): Promise<string> {
  const folder = join(cache, "scriptc", `${scriptcVersion}-${process.arch}`);
  const script = join(folder, "node_modules", "scriptc", "dist", "bootstrap.js");
  if (existsSync(script)) return script;
  const release = await acquireLock(`${folder}.lock`, {
    onWait: () => log(`another process is installing scriptc ${scriptcVersion}; waiting for it`),
    ...(signal && { signal }),
  });
  try {
    if (!existsSync(script)) await install(folder, { log, npm, ...(signal && { signal }) });
    return script;
  } finally {
    await release();
  }
}

async function install(
  folder: string,
  { log, npm, signal }: { log: (line: string) => void; npm: string; signal?: AbortSignal },
): Promise<void> {
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true }); // of an install that died
  mkdirSync(unfinished, { recursive: true });
  writeFileSync(join(unfinished, "package.json"), '{ "private": true }\n');
  log(`installing scriptc ${scriptcVersion} into ${folder} (once; about 300 MB)`);
  const flags = ["--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status, words } = await runCommand([npm, "install", ...flags, `scriptc@${scriptcVersion}`], {
    cwd: unfinished,
    ...(signal && { signal }),
  });
  if (status !== 0) {
    rmSync(unfinished, { recursive: true, force: true });
    throw new ShimBuildError(
      "CompilerUnreachable",
      `npm cannot install scriptc@${scriptcVersion}: check that the registry is reachable (\`npm ping\`). npm's own words:\n${lastLines(words)}`,
    );
  }
  renameSync(unfinished, folder);
}
