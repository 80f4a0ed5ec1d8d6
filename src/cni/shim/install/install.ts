// An installation from end to end: take the shim that runs here, decide, do it, try it.
import { readFileSync } from "node:fs";
import { posix } from "node:path";

import { Disk } from "./disk.ts";
import { InstallError } from "./install-error.ts";
import { planInstall, type Step } from "./plan.ts";
import { whyNotRunning } from "./trial.ts";
import { type Demand, type Shim, wishOf } from "./wish.ts";

export interface InstallOptions {
  readonly binDir: string;
  readonly names: readonly string[];
  readonly socket: string | undefined;
  readonly spool: string | undefined;
  /** The one that runs on Node, though the native one may run too. */
  readonly fallback: boolean;
  /** Of the host, for the fallback; undefined for the one that runs this. */
  readonly node: string | undefined;
  readonly confDir: string;
  /** Files that this process reads. */
  readonly conf: string | undefined;
  readonly whereaboutsKubeconfig: string | undefined;
  /** Where the host's disk is: "/" or, in an init container, where it is mounted. */
  readonly root: string;
  readonly force: boolean;
  readonly dryRun: boolean;
}

/** Gives the path of a built shim, or rejects with a sentence. */
export type ShimSource = (options: { readonly native: boolean }) => Promise<{ readonly path: string }>;

/** Each line says what was done to one file, or would be. */
export async function install(
  options: InstallOptions,
  shims: ShimSource,
  say: (line: string) => void,
): Promise<readonly Step[]> {
  assertAbsolute({ "--bin-dir": options.binDir, "--conf-dir": options.confDir, "--root": options.root });
  if (options.node !== undefined) assertAbsolute({ "--node": options.node });
  const shim = await chooseShim(options, shims, say);
  const disk = new Disk(options.root);
  const steps = planInstall(wishOf(demandOf(options, shim)), (path) => disk.find(path));
  for (const step of steps) {
    if (!options.dryRun) disk.perform(step);
    say(describe(step, options.dryRun));
  }
  if (!options.dryRun && options.root === "/") assertRuns(options, disk);
  return steps;
}

async function chooseShim(options: InstallOptions, shims: ShimSource, say: (line: string) => void): Promise<Shim> {
  if (!options.fallback) {
    const native = await nativeShim(shims);
    if (typeof native !== "string") return native;
    say(
      `the native plugin is not used: ${native} The one that runs on Node is installed; it takes some 40 ms more for each call.`,
    );
  }
  const launcher = await fallbackLauncher(shims);
  if (options.node !== undefined) return { kind: "fallback", launcher, nodePath: options.node, nodeContent: undefined };
  if (options.root === "/") return { kind: "fallback", launcher, nodePath: process.execPath, nodeContent: undefined };
  // The host cannot see this container's Node: it comes along.
  return { kind: "fallback", launcher, nodePath: undefined, nodeContent: readFileSync(process.execPath) };
}

/** The shim, or a sentence that says why it is none. */
async function nativeShim(shims: ShimSource): Promise<Shim | string> {
  try {
    const { path } = await shims({ native: true });
    const why = whyNotRunning(path);
    if (why === undefined) return { kind: "native", content: readFileSync(path) };
    return `${path} does not run here (${why}).`;
  } catch (error) {
    return `it cannot be built here (${error instanceof Error ? error.message : String(error)}).`;
  }
}

async function fallbackLauncher(shims: ShimSource): Promise<string> {
  try {
    const { path } = await shims({ native: false });
    return readFileSync(path, "utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InstallError(
      "no-shim",
      `there is no plugin to install, and none can be built here (${why}): run tools/shim/main.ts when the image is made, with HOLDFAST_CACHE in it (docs/shim.md).`,
      { cause },
    );
  }
}

function demandOf(options: InstallOptions, shim: Shim): Demand {
  const { binDir, names, socket, spool, confDir, conf, whereaboutsKubeconfig, force } = options;
  return {
    binDir,
    names,
    shim,
    socket,
    spool,
    confDir,
    conf: conf === undefined ? undefined : { name: conf, text: readGiven(conf) },
    whereaboutsKubeconfig: whereaboutsKubeconfig === undefined ? undefined : readGiven(whereaboutsKubeconfig),
    force,
  };
}

function readGiven(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InstallError("unreadable", `${path} cannot be read (${why}): give a file that is there.`, { cause });
  }
}

function assertRuns({ binDir, names }: InstallOptions, disk: Disk): void {
  for (const name of names) {
    const path = disk.resolve(posix.join(binDir, name));
    const why = whyNotRunning(path);
    if (why === undefined) continue;
    throw new InstallError(
      "does-not-run",
      `${path} is installed but does not run (${why}): is it on a file system that is mounted noexec? Give another --bin-dir, and the same to the runtime.`,
    );
  }
}

function assertAbsolute(paths: Readonly<Record<string, string>>): void {
  for (const [flag, path] of Object.entries(paths)) {
    if (posix.isAbsolute(path)) continue;
    throw new InstallError("bad-path", `${flag} ${JSON.stringify(path)} is not absolute: begin it with "/".`);
  }
}

function describe(step: Step, dryRun: boolean): string {
  const would = dryRun ? "would be " : "";
  switch (step.kind) {
    case "write":
      return `${step.file.path}: ${would}${step.replaces ? "replaced" : "written"}`;
    case "keep":
      return `${step.path}: ${step.why}`;
    case "backup":
      return `${step.path}: ${would}kept as ${step.to}`;
    case "remove":
      return `${step.path}: ${would}removed`;
  }
}
