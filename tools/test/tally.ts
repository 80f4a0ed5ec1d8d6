// Counts what ran, and decides whether a run is green. A run that executed nothing is not.
import { relative } from "node:path";

export interface Skip {
  readonly suite: string;
  readonly reason: string;
  readonly required: boolean;
}

export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** The runner failed in a way that no test shows: a file that does not load, a worker that died. */
  readonly crashed: boolean;
  /** Failed tests and files that did not load, each with its reason's first line: repeated last, for a log's tail. */
  readonly failures: readonly string[];
  /** Path below the checkout -> milliseconds that it took. */
  readonly timesMs: ReadonlyMap<string, number>;
}

export const nothing: Totals = { passed: 0, failed: 0, skipped: 0, crashed: false, failures: [], timesMs: new Map() };

export function plusTotals(a: Totals, b: Totals): Totals {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    crashed: a.crashed || b.crashed,
    failures: [...a.failures, ...b.failures],
    timesMs: new Map([...a.timesMs, ...b.timesMs]),
  };
}

export function tally(report: unknown, exitCode: number, root = ""): Totals {
  const count = (key: string) => {
    const value = (report as Record<string, unknown> | undefined)?.[key];
    return typeof value === "number" ? value : 0;
  };
  const failed = count("numFailedTests");
  return {
    passed: count("numPassedTests"),
    failed,
    skipped: count("numPendingTests") + count("numTodoTests"),
    // No report, whatever the exit code: it is not known what ran.
    crashed: report === undefined || (exitCode !== 0 && failed === 0),
    failures: failuresOf(report),
    timesMs: timesOf(report, root),
  };
}

/** What could not be run at all: its needs could not be brought in, or vitest did not start. */
export function crashOf(error: unknown): Totals {
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { ...nothing, crashed: true, failures: [`npm test itself: ${words}`] };
}

/** The parts of vitest's report that name what failed. */
interface Report {
  readonly testResults?: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly startTime?: number;
    readonly endTime?: number;
    readonly assertionResults?: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

function timesOf(report: unknown, root: string): Map<string, number> {
  const results = (report as Report | undefined)?.testResults ?? [];
  return new Map(
    results.map(({ name, startTime = 0, endTime = 0 }) => [relative(root, name), Math.round(endTime - startTime)]),
  );
}

function failuresOf(report: unknown): readonly string[] {
  const failures: string[] = [];
  for (const { name, status, message = "", assertionResults = [] } of (report as Report | undefined)?.testResults ??
    []) {
    const failed = assertionResults.filter((each) => each.status === "failed");
    for (const { fullName, failureMessages = [] } of failed) {
      failures.push(`${name}: ${fullName}: ${firstLine(failureMessages[0] ?? "")}`);
    }
    if (status === "failed" && failed.length === 0) failures.push(`${name}: ${firstLine(message)}`);
  }
  return failures;
}

function firstLine(text: string): string {
  const [line = ""] = text.split("\n", 1);
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

/** A suite that could not run counts as one skipped; a crash of the runner as one failed. */
export function closingLine(totals: Totals, skips: readonly Skip[]): string {
  const failed = totals.failed + (totals.crashed ? 1 : 0);
  return `${totals.passed} passed, ${failed} failed, ${totals.skipped + skips.length} skipped`;
}

/** GitHub and GitLab set `true`, others `1`. */
export function inCi({ CI = "" }: NodeJS.ProcessEnv): boolean {
  return !["", "0", "false"].includes(CI);
}

export function verdict(totals: Totals, skips: readonly Skip[], ci: boolean): { exitCode: number; words: string[] } {
  const words = totals.failures.map((failure) => `failed: ${failure}`);
  if (totals.crashed) words.push("the test runner failed without a failing test: a file may not load; see above");
  const required = skips.filter((skip) => skip.required).map((skip) => skip.suite);
  if (ci && required.length > 0) {
    words.push(`CI must run every required suite; these were skipped: ${required.join(", ")}`);
  }
  const ran = totals.passed + totals.failed;
  if (ran === 0 && !totals.crashed) words.push("no test ran: check the path you gave");
  const red = totals.failed > 0 || words.length > 0;
  return { exitCode: red ? 1 : 0, words };
}
