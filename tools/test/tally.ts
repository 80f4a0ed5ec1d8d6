// Counts what ran, and decides whether a run is green. A run that executed nothing is not.

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
}

export const nothing: Totals = { passed: 0, failed: 0, skipped: 0, crashed: false };

export function plusTotals(a: Totals, b: Totals): Totals {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    crashed: a.crashed || b.crashed,
  };
}

export function tally(report: unknown, exitCode: number): Totals {
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
  };
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
  const words: string[] = [];
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
