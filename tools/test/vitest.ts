// Runs vitest on the given files and counts what it reports.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { tally, type Totals } from "./tally.ts";

export async function runVitest(root: string, files: readonly string[], flags: readonly string[]): Promise<Totals> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-test-"));
  const report = join(folder, "report.json");
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  try {
    const exitCode = await new Promise<number>((resolve, reject) => {
      const child = spawn(process.execPath, [vitest, "run", ...reporters, ...flags, ...files], {
        cwd: root,
        stdio: "inherit",
      });
      child.on("error", reject);
      child.on("exit", (code) => resolve(code ?? 1));
    });
    return tally(readReport(report), exitCode);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readReport(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined; // vitest died before it wrote one; its exit code speaks
  }
}
