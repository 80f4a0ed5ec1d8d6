// `holdfast check`: what does not fit together, and with --repair what can be set right safely.
import type { Command } from "commander";

import type { Finding } from "../check/finding.ts";
import { counted } from "../net/counted.ts";
import { ClusterCommand, type LookOptions, type Printed, UsageError, print } from "./cluster-command.ts";
import type { Output } from "./program.ts";

export interface CheckOptions extends LookOptions {
  readonly repair: boolean;
  readonly observeMs: number;
  readonly cooldownMs: number;
  readonly allowMassRelease: boolean;
}

/** One of severity `info` leaves the exit code alone. */
export interface CheckedFinding extends Omit<Finding, "repair"> {
  /** With --repair: whether it was set right, and in a sentence how, or why not. */
  readonly repaired?: { readonly isDone: boolean; readonly words: string };
}

export type Check = (options: CheckOptions) => Promise<readonly CheckedFinding[]>;

export function checkCommand(output: Output, check: Check): Command {
  return new ClusterCommand("check")
    .description(
      "Compare pools, holds, networks, pods and claims, and say what does not fit together. Exit code 0: all fits; 1: findings.",
    )
    .systemNamespace()
    .option(
      "--repair",
      "set right what is safe: hold what running pods and claims use, then free what two looks find leaked",
      false,
    )
    .duration("--observe-seconds", "with --repair, time between the two looks at a leak", 30)
    .duration("--cooldown-seconds", "with --repair, how long a freed address rests", 30)
    .option("--allow-mass-release", "with --repair, free even where more than 30 % look leaked at once", false)
    .printed()
    .action(async ({ output: format, ...options }: CheckOptions & Printed) => {
      const findings = await check(options);
      print(output, format, { findings }, linesOf(findings));
      const left = findings.filter(({ severity, repaired }) => severity !== "info" && repaired?.isDone !== true).length;
      if (left > 0) throw new UsageError(`${counted(left, "finding needs", "findings need")} attention.`, 1);
    });
}

function linesOf(findings: readonly CheckedFinding[]): string[] {
  if (findings.length === 0) return ["Pools, holds, networks, pods and claims fit together."];
  return findings.flatMap(({ severity, code, objects, message, remedy, repaired }) => [
    `${severity} ${code}: ${message}`,
    `  objects: ${objects.join(", ")}`,
    repaired === undefined ? `  remedy: ${remedy}` : `  ${repaired.isDone ? "repaired" : "left"}: ${repaired.words}`,
  ]);
}
