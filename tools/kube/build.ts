// Builds the real Kubernetes from the Go module proxy into the cache, once per version.
//
// Promised: a binary in the cache is whole (built under another name, then renamed); two builds never run at once on
// one machine; nothing is done when everything is there. Not promised: that the proxy still has the source years from
// now; with the Go module cache one can still build.
import { spawn } from "node:child_process";
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

import { findGo, type Go } from "../bootstrap/go.ts";
import { cacheRoot, kubeVersion, moduleFolder } from "./cache.ts";
import { acquireLock } from "./lock.ts";
import { buildFlags, type Program, type ProgramName, programs } from "./programs.ts";

export interface KubeBinaries {
  readonly folder: string;
  readonly kubernetesVersion: string;
  path(name: ProgramName): string;
}

export interface BuildOptions {
  /** Only these; all of them otherwise. */
  readonly only?: readonly ProgramName[];
  readonly log?: (line: string) => void;
  readonly signal?: AbortSignal;
  readonly cache?: string;
  readonly module?: string;
  readonly go?: () => Go;
}

export class KubeBuildError extends Error {
  override readonly name = "KubeBuildError";
  readonly code: "ModulesUnreachable" | "BuildFailed";

  constructor(code: KubeBuildError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** How often a running build says so: the API server takes 200 s on 2 cores, and silence looks like a hang. */
const heartbeatMs = 15_000;

/** Go's words when it cannot fetch a module: no route, no name, refused, cut off, or forbidden by its own settings. */
const unreachable =
  /dial tcp|no such host|connection refused|i\/o timeout|TLS handshake|proxyconnect|module lookup disabled|: EOF|\b(403|404|410|50\d) /;

export async function ensureKubeBinaries(options: BuildOptions = {}): Promise<KubeBinaries> {
  const version = kubeVersion(options.module);
  const root = join(options.cache ?? cacheRoot(), "kube", version.key);
  const folder = join(root, "bin");
  const wanted = programs.filter(({ name }) => options.only?.includes(name) ?? true);
  const missing = () => wanted.filter(({ name }) => !isExecutable(join(folder, name)));
  if (missing().length > 0) {
    const log = options.log ?? (() => {});
    const release = await acquireLock(join(root, "build.lock"), {
      onWait: () => log(`another process is building Kubernetes ${version.kubernetes}; waiting for it`),
      ...(options.signal && { signal: options.signal }),
    });
    try {
      await buildAll(missing(), folder, version.kubernetes, options, log);
    } finally {
      await release();
    }
  }
  return { folder, kubernetesVersion: version.kubernetes, path: (name) => join(folder, name) };
}

async function buildAll(
  missing: readonly Program[],
  folder: string,
  kubernetes: string,
  options: BuildOptions,
  log: (line: string) => void,
): Promise<void> {
  if (missing.length === 0) return; // another process built them while this one waited
  const module = options.module ?? moduleFolder;
  const go = (options.go ?? (() => findGo(goVersionOf(module))))();
  mkdirSync(folder, { recursive: true });
  for (const file of readdirSync(folder)) if (file.endsWith(unfinished)) rmSync(join(folder, file)); // of a dead build
  log(`building Kubernetes ${kubernetes} with Go ${go.version} into ${folder} (once; about 6 minutes on 2 cores)`);
  const startedMs = Date.now();
  for (const [index, program] of missing.entries()) {
    const oneStartedMs = Date.now();
    const timer = setInterval(
      () => log(`  still building ${program.name}, ${secondsSince(oneStartedMs)} s`),
      heartbeatMs,
    );
    try {
      await buildOne(go, module, folder, program, kubernetes, options.signal);
    } finally {
      clearInterval(timer);
    }
    const place = `${index + 1} of ${missing.length}`;
    log(`  ${program.name} built in ${secondsSince(oneStartedMs)} s (${place}, ${secondsSince(startedMs)} s in all)`);
  }
}

const unfinished = ".unfinished";

/** Of any module of ours: the program appears whole in the folder, or not at all. */
export async function buildOne(
  go: Go,
  module: string,
  folder: string,
  program: { readonly name: string; readonly package: string },
  kubernetes: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const temporary = join(folder, `${program.name}${unfinished}`);
  const { status, words } = await run(
    go.path,
    [...buildFlags(kubernetes), "-o", temporary, program.package],
    module,
    signal,
  );
  if (status === 0) {
    renameSync(temporary, join(folder, program.name));
    return;
  }
  rmSync(temporary, { force: true });
  const tail = words.trim().split("\n").slice(-6).join("\n");
  if (unreachable.test(words)) {
    throw new KubeBuildError(
      "ModulesUnreachable",
      `cannot fetch the source of ${program.name}: Go's module proxy does not answer. Check the network and ` +
        `\`go env GOPROXY\`; a Go module cache that was filled elsewhere works too. Go's own words:\n${tail}`,
    );
  }
  throw new KubeBuildError("BuildFailed", `go build of ${program.name} failed in ${module}; Go's own words:\n${tail}`);
}

/** Go prints a line per downloaded module; what matters is at the end, and 64 KiB hold about 600 lines of it. */
const wordsLimit = 64 * 1024;

async function run(command: string, args: readonly string[], cwd: string, signal: AbortSignal | undefined) {
  // What a person set for their own Go projects (a workspace, another target) must not leak into these binaries.
  const env = { ...process.env, CGO_ENABLED: "0", GOOS: "linux", GOARCH: "", GOWORK: "off", GOFLAGS: "" };
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "ignore", "pipe"], ...(signal && { signal }) });
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(-wordsLimit);
  });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { status, words };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function goVersionOf(module: string): string {
  return /^go (\d+\.\d+(?:\.\d+)?)$/m.exec(readFileSync(join(module, "go.mod"), "utf8"))?.[1] ?? "1.26";
}

function secondsSince(startedMs: number): number {
  return Math.round((Date.now() - startedMs) / 1000);
}
