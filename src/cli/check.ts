// `holdfast check`: what does not fit together, and with --repair what can be set right safely.
import { Command, Option } from "commander";

import { type ConnectionOptions, withConnectionOptions } from "./connection.ts";
import { numberOf } from "./controller.ts";
import type { Output } from "./program.ts";
import { UsageError } from "./usage-error.ts";

export interface CheckOptions extends ConnectionOptions {
  readonly systemNamespace: string;
  readonly repair: boolean;
  readonly observeMs: number;
  readonly cooldownMs: number;
  readonly allowMassRelease: boolean;
}

/** One finding, as it is printed. */
export interface CheckedFinding {
  readonly code: string;
  /** `info`: it passes by itself, and leaves the exit code alone. */
  readonly severity: "error" | "warning" | "info";
  readonly objects: readonly string[];
  readonly message: string;
  readonly remedy: string;
  /** With --repair: whether it was set right, and in a sentence how, or why not. */
  readonly repaired?: { readonly isDone: boolean; readonly words: string };
}

export type Check = (options: CheckOptions) => Promise<readonly CheckedFinding[]>;

type Flags = ConnectionOptions & {
  readonly systemNamespace: string;
  readonly repair: boolean;
  readonly observeSeconds: string;
  readonly cooldownSeconds: string;
  readonly allowMassRelease: boolean;
  readonly output: "text" | "json";
};

export function checkCommand(output: Output, check: Check): Command {
  return withConnectionOptions(
    new Command("check").description(
      "Compare pools, holds, networks, pods and claims, and say what does not fit together. Exit code 0: all fits; 1: findings.",
    ),
  )
    .option("--system-namespace <name>", "where pools without a namespace of their own are", "kube-system")
    .option(
      "--repair",
      "set right what is safe: hold what running pods and claims use, then free what two looks find leaked",
      false,
    )
    .option("--observe-seconds <number>", "with --repair, time between the two looks at a leak", "30")
    .option("--cooldown-seconds <number>", "with --repair, how long a freed address rests", "30")
    .option("--allow-mass-release", "with --repair, free even where more than 30 % look leaked at once", false)
    .addOption(new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text"))
    .action(async ({ observeSeconds, cooldownSeconds, output: format, ...rest }: Flags) => {
      const observeMs = 1000 * numberOf("--observe-seconds", observeSeconds, 86_400);
      const cooldownMs = 1000 * numberOf("--cooldown-seconds", cooldownSeconds, 86_400);
      const findings = await check({ ...rest, observeMs, cooldownMs });
      if (format === "json") output.line(JSON.stringify({ findings }));
      else for (const line of linesOf(findings)) output.line(line);
      const left = findings.filter(({ severity, repaired }) => severity !== "info" && repaired?.isDone !== true).length;
      if (left > 0)
        throw new UsageError(left === 1 ? "1 finding needs attention." : `${left} findings need attention.`, 1);
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
