// An installation from end to end: take the shim that runs here, decide, do it, try it.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { posix } from "node:path";

import { Disk } from "./disk.ts";
import { InstallError, messageOf, planInstall, type Step } from "./plan.ts";
import { type Shim, wishOf } from "./wish.ts";

export interface InstallOptions {
  readonly binDir: string;
  /** The names of the plugin, each an executable of its own: a runtime starts it by `type`. */
  readonly names: readonly string[];
  /** The daemon's; undefined for the default. */
  readonly socket: string | undefined;
  /** Where the daemon looks for DELs that were kept; undefined for the default. */
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
  const conf = options.conf === undefined ? undefined : { name: options.conf, text: readGiven(options.conf) };
  const { whereaboutsKubeconfig: theirs } = options;
  const whereaboutsKubeconfig = theirs === undefined ? undefined : readGiven(theirs);
  const wish = wishOf({ ...options, shim, conf, whereaboutsKubeconfig });
  const steps = planInstall(wish, (path) => disk.find(path));
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
  const nodePath = options.node ?? (options.root === "/" ? process.execPath : undefined);
  // The host cannot see this container's Node: it comes along.
  const nodeContent = nodePath === undefined ? readFileSync(process.execPath) : undefined;
  return { kind: "fallback", launcher, nodePath, nodeContent };
}

/** The shim, or a sentence that says why it is none. */
async function nativeShim(shims: ShimSource): Promise<Shim | string> {
  try {
    const { path } = await shims({ native: true });
    const why = whyNotRunning(path);
    if (why === undefined) return { kind: "native", content: readFileSync(path) };
    return `${path} does not run here (${why}).`;
  } catch (error) {
    return `it cannot be built here (${messageOf(error)}).`;
  }
}

async function fallbackLauncher(shims: ShimSource): Promise<string> {
  try {
    const { path } = await shims({ native: false });
    return readFileSync(path, "utf8");
  } catch (cause) {
    const message = `there is no plugin to install, and none can be built here (${messageOf(cause)}): run tools/shim/main.ts when the image is made, with HOLDFAST_CACHE in it (docs/shim.md).`;
    throw new InstallError("no-shim", message, { cause });
  }
}

function readGiven(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const message = `${path} cannot be read (${messageOf(cause)}): give a file that is there.`;
    throw new InstallError("unreadable", message, { cause });
  }
}

/** A Node that starts on a busy machine takes some seconds at most. */
const patienceMs = 30_000;

/** Undefined where a plugin runs on this machine, else why not. It is asked for its versions, as runtimes do first. */
function whyNotRunning(path: string): string | undefined {
  const { error, status, signal, stdout, stderr } = spawnSync(path, [], {
    env: { CNI_COMMAND: "VERSION" },
    input: "{}",
    encoding: "utf8",
    timeout: patienceMs,
  });
  if (error !== undefined) return error.message;
  if (status === 0 && stdout.includes('"supportedVersions"')) return undefined;
  const end = signal === null ? `status ${status}` : `signal ${signal}`;
  return `it ended with ${end}${stderr === "" ? "" : `: ${stderr.trim().slice(0, 400)}`}`;
}

function assertRuns({ binDir, names }: InstallOptions, disk: Disk): void {
  for (const name of names) {
    const path = disk.resolve(posix.join(binDir, name));
    const why = whyNotRunning(path);
    if (why === undefined) continue;
    const message = `${path} is installed but does not run (${why}): is it on a file system that is mounted noexec? Give another --bin-dir, and the same to the runtime.`;
    throw new InstallError("does-not-run", message);
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
