// Runs vitest on the given files and counts what it reports.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { tally, type Totals } from "./tally.ts";

/** Ctrl-C reaches vitest by itself, as one of the terminal's group; the others are sent to one process and passed on. */
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export async function runVitest(root: string, files: readonly string[], flags: readonly string[]): Promise<Totals> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-test-"));
  const report = join(folder, "report.json");
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  let stoppedBy: NodeJS.Signals | undefined;
  let child: ChildProcess | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    stoppedBy = signal;
    if (signal !== "SIGINT") child?.kill(signal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  try {
    const exitCode = await new Promise<number>((resolve, reject) => {
      child = spawn(process.execPath, [vitest, "run", ...reporters, ...flags, ...files], {
        cwd: root,
        stdio: "inherit",
      });
      child.on("error", reject);
      child.on("exit", (code) => resolve(code ?? 1));
    });
    return tally(readReport(report), exitCode);
  } finally {
    for (const signal of signals) process.off(signal, onSignal);
    rmSync(folder, { recursive: true, force: true });
    // Only now, when vitest and what its tests have started are gone.
    if (stoppedBy !== undefined) process.kill(process.pid, stoppedBy);
  }
}

function readReport(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined; // vitest died before it wrote one; its exit code speaks
  }
}
