import { spawn } from "node:child_process";
// `npm test`: every suite this machine can run, and a plain word about those it cannot.
//
//   npm test                            everything
//   npm test -- src/net                 the files whose path contains src/net
//   npm test -- src/net -t "RFC 5952"   and only the tests whose name matches
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ensureDebianPackages } from "../bootstrap/debian.ts";
import { suites } from "./suites.ts";
import { closingLine, tally, type Skip, type Totals, verdict } from "./tally.ts";

const root = join(import.meta.dirname, "..", "..");
const chosen = process.argv.slice(2);
const log = (line: string) => console.error(`holdfast: ${line}`);

if (chosen.includes("--help") || chosen.includes("-h")) {
  console.log("npm test [-- PATH... [-t NAME]]   runs every suite, or the test files whose path contains PATH\n");
  for (const suite of suites) console.log(`  ${suite.name.padEnd(12)} ${suite.about} (${suite.files.join(", ")})`);
  process.exit(0);
}

const paths = chosen.filter((argument, index) => !argument.startsWith("-") && chosen[index - 1] !== "-t");
const inPlay = suites.filter(
  ({ files }) => paths.length === 0 || paths.some((path) => files.some((f) => f.includes(path) || path.includes(f))),
);
const skips: Skip[] = [];
const runnable = inPlay.filter((suite) => {
  const { reason, missing } = ensureDebianPackages(suite.debian, log);
  if (reason === undefined) return true;
  skips.push({ suite: suite.name, reason: `needs ${missing.join(", ")}: ${reason}`, required: suite.required });
  return false;
});

const filters = chosen.length > 0 ? chosen : runnable.flatMap(({ files }) => files);
const totals = runnable.length === 0 ? { passed: 0, failed: 0, skipped: 0, crashed: false } : await runVitest(filters);
for (const { suite, reason } of skips) log(`skipped suite ${suite}: ${reason}`);
const { exitCode: ending, words } = verdict(totals, skips, process.env["CI"] === "true");
for (const word of words) log(word);
console.log(closingLine(totals, skips));
process.exit(ending);

async function runVitest(args: readonly string[]): Promise<Totals> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-test-"));
  const report = join(folder, "report.json");
  try {
    const exitCode = await new Promise<number>((resolve, reject) => {
      const child = spawn(
        process.execPath,
        [
          join(root, "node_modules", "vitest", "vitest.mjs"),
          "run",
          "--reporter=default",
          "--reporter=json",
          `--outputFile.json=${report}`,
          ...args,
        ],
        { cwd: root, stdio: "inherit" },
      );
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
