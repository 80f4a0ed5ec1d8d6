// Runs vitest on the given files and counts what it reports.
import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { WriteStream } from "node:tty";

import { tally, type Totals } from "./tally.ts";

/** Passed on to vitest's group: it has left the terminal's. */
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** `inherit`: the terminal is its own. `lines`: others write there at the same time, so only whole lines pass. */
type Output = "inherit" | "lines";

export async function runVitest(
  root: string,
  files: readonly string[],
  flags: readonly string[],
  output: Output,
): Promise<Totals> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-test-"));
  const report = join(folder, "report.json");
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  let stoppedBy: NodeJS.Signals | undefined;
  let child: ChildProcess | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    stoppedBy = signal;
    if (child?.pid !== undefined) signalGroup(child.pid, signal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  try {
    const exitCode = await new Promise<number>((resolve, reject) => {
      child = inGroup(process.execPath, [vitest, "run", ...reporters, ...flags, ...files], {
        cwd: root,
        stdio: output === "inherit" ? ["pipe", "inherit", "inherit"] : ["pipe", "pipe", "pipe"],
      });
      if (child.stdout !== null) passLines(child.stdout, process.stdout);
      if (child.stderr !== null) passLines(child.stderr, process.stderr);
      child.on("error", reject);
      child.on("close", (code) => resolve(code ?? 1));
      // What a test left behind may hold the pipe for as long as it lives.
      child.on("exit", (code) => setTimeout(() => resolve(code ?? 1), 5000).unref());
    });
    return tally(readReport(report), exitCode, root);
  } finally {
    for (const signal of signals) process.off(signal, onSignal);
    if (child?.pid !== undefined) endGroup(child.pid);
    rmSync(folder, { recursive: true, force: true });
    // Only now, when vitest and what its tests have started are gone.
    if (stoppedBy !== undefined) process.kill(process.pid, stoppedBy);
  }
}

/** Starts a program as the head of a process group, which ends with this process at the latest. stdin is a pipe. */
export function inGroup(program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const leader = join(import.meta.dirname, "group.ts");
  return spawn(process.execPath, [leader, program, ...args], { ...options, detached: true });
}

/** Whatever is left of it. */
export function endGroup(pid: number): void {
  signalGroup(pid, "SIGKILL");
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody is left.
  }
}

/** To the beginning of a terminal's line, which is empty then. */
export const clearLine = "\r\u001B[K";

function passLines(from: Readable, to: WriteStream): void {
  createInterface({ input: from }).on("line", (line) => to.write(`${to.isTTY ? clearLine : ""}${line}\n`));
}

function readReport(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined; // vitest died before it wrote one; its exit code speaks
  }
}
