// The built shim in the cache, made when it is not there: for `holdfast cni install`, the tests and the benchmarks.
//
// Promised: the file is whole, executable and has answered VERSION once on this machine; the same sources give the same
// file; two builds never run at once. Not promised: that a fallback runs where the Node of its first line is not.
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { cacheRoot } from "../kube/cache.ts";
import { acquireLock } from "../kube/lock.ts";
import { ShimBuildError } from "./build-error.ts";
import { runCommand } from "./command.ts";
import { ensureCompiler } from "./compiler.ts";
import { buildFallback } from "./fallback.ts";
import { buildNative, requireLinker } from "./native.ts";
import { buildKey } from "./sources.ts";

export interface Shim {
  readonly path: string;
  readonly linkage: "static" | "dynamic" | "script";
}

export interface EnsureOptions {
  /** The compiled one, or the one that runs on Node. */
  readonly native: boolean;
  readonly cache?: string;
  readonly log?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** For the hook of a test that needs it: mostly seconds, but a machine's first fetches 300 MB, a minute at 5 MB/s. */
export const coldBuildTimeoutMs = 10 * 60_000;

export async function ensureShim({
  native,
  cache = cacheRoot(),
  log = () => {},
  signal,
}: EnsureOptions): Promise<Shim> {
  // The fallback's first line has this Node in it.
  const key = native ? buildKey([]) : buildKey([process.execPath]);
  const folder = join(cache, "shim", `${native ? "native" : "fallback"}-${key}`);
  const made = found(folder);
  if (made !== undefined) return made;
  const release = await acquireLock(`${folder}.lock`, {
    onWait: () => log("another process is building the shim; waiting for it"),
    ...(signal && { signal }),
  });
  try {
    return found(folder) ?? (await make(folder, native, { cache, log, ...(signal && { signal }) }));
  } finally {
    await release();
  }
}

function found(folder: string): Shim | undefined {
  const path = join(folder, "holdfast");
  const note = join(folder, "linkage");
  // The note is written last.
  if (!existsSync(path) || !existsSync(note)) return undefined;
  return { path, linkage: readFileSync(note, "utf8") as Shim["linkage"] };
}

async function make(
  folder: string,
  native: boolean,
  { cache, log, signal }: { cache: string; log: (line: string) => void; signal?: AbortSignal },
): Promise<Shim> {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "holdfast");
  const unfinished = `${path}.unfinished`;
  const linkage = native
    ? await makeNative(unfinished, { cache, log, ...(signal && { signal }) })
    : await makeFallback(unfinished);
  chmodSync(unfinished, 0o755);
  await assertRuns(unfinished);
  renameSync(unfinished, path);
  writeFileSync(join(folder, "linkage"), linkage);
  log(`the shim is built: ${path} (${linkage})`);
  return { path, linkage };
}

async function makeNative(
  target: string,
  options: { cache: string; log: (line: string) => void; signal?: AbortSignal },
): Promise<Shim["linkage"]> {
  await requireLinker();
  const compiler = await ensureCompiler(options);
  return buildNative({ compiler, target, log: options.log, ...(options.signal && { signal: options.signal }) });
}

async function makeFallback(target: string): Promise<Shim["linkage"]> {
  writeFileSync(target, await buildFallback(process.execPath));
  return "script";
}

async function assertRuns(path: string): Promise<void> {
  const { status, words } = await runCommand([path], { cwd: dirname(path), env: { CNI_COMMAND: "VERSION" } });
  if (status === 0 && words.includes('"supportedVersions"')) return;
  throw new ShimBuildError("DoesNotRun", `${path} is built but does not run here (status ${status}): ${words}`);
}
