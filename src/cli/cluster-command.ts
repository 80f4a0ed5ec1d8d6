// A command that asks a cluster, and options read while parsing: numbers, times, lists. A UsageError names a wrong one.
import { Command, Option } from "commander";

import { type Level, levels } from "../log/log.ts";
import type { Output } from "./program.ts";

export interface ConnectionOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export interface LookOptions extends ConnectionOptions {
  readonly systemNamespace: string;
}

export interface DaemonOptions extends LookOptions {
  /** 0: a free one. */
  readonly metricsPort: number;
  readonly metricsHost: string;
  readonly logLevel: Level;
  readonly logFormat: "json" | "text";
}

export class ReadingCommand extends Command {
  /** Shown below the options: a command line, and what it is for. */
  examples(...all: readonly (readonly [string, string])[]): this {
    const width = Math.max(...all.map(([line]) => line.length));
    const lines = all.map(([line, words]) => `  ${line.padEnd(width)}  ${words}`);
    return this.addHelpText("after", ["", "Examples:", ...lines].join("\n"));
  }

  printed(): this {
    return this.addOption(
      new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text"),
    );
  }

  number(flag: string, description: string, max: number, standard?: number): this {
    const option = new Option(`${flag} <number>`, description).argParser((text) => numberOf(flag, text, max));
    return this.addOption(standard === undefined ? option : option.default(standard));
  }

  /** `--cooldown-seconds 30` is handed over as `cooldownMs: 30_000`. */
  duration(flag: string, description: string, standard?: number, longest?: number): this {
    const { ms, max } = units[/(seconds|minutes|hours)$/.exec(flag)![0] as keyof typeof units];
    const option = new DurationOption(`${flag} <number>`, description);
    option.argParser((text) => ms * numberOf(flag, text, longest ?? max));
    return this.addOption(standard === undefined ? option : option.default(ms * standard, String(standard)));
  }

  /** With commas. */
  names(flags: string, description: string, standard: readonly string[]): this {
    const read = (text: string) => text.split(",").flatMap((each) => each.trim() || []);
    const option = new Option(flags, description).argParser(read);
    return this.addOption(option.default(standard, JSON.stringify(standard.join(","))));
  }
}

export class ClusterCommand extends ReadingCommand {
  constructor(name: string) {
    super(name);
    this.option(
      "--kubeconfig <file>",
      "how to reach the API server (default: in a pod its service account, else KUBECONFIG or ~/.kube/config; what is no daemon then finds `holdfast up`)",
    ).option("--context <name>", "which context of the kubeconfig");
  }

  systemNamespace(description = "where pools without a namespace of their own are"): this {
    return this.option("--system-namespace <name>", description, "kube-system");
  }

  /** Of a process that stays: what it serves, and how it logs. */
  daemon(metricsPort: number): this {
    return this.number(
      "--metrics-port",
      "port of /metrics, /healthz and /readyz; 0 takes a free one",
      65_535,
      metricsPort,
    )
      .option("--metrics-host <address>", "address to serve them on", "0.0.0.0")
      .addOption(new Option("--log-level <level>", "what to log").choices(levels).default("info"))
      .addOption(new Option("--log-format <format>", "how to log").choices(["json", "text"]).default("json"));
  }
}

/** A day, a week, a year: who asks for more has mistyped. */
const units = {
  seconds: { ms: 1000, max: 86_400 },
  minutes: { ms: 60_000, max: 10_080 },
  hours: { ms: 3_600_000, max: 8760 },
} as const;

class DurationOption extends Option {
  override attributeName(): string {
    return super.attributeName().replace(/(Seconds|Minutes|Hours)$/, "Ms");
  }
}

export interface Printed {
  readonly output: "text" | "json";
}

/** As `printed` was answered: the data in one line, or the lines for people. */
export function print(output: Output, format: Printed["output"], data: object, lines: Iterable<string>): void {
  for (const line of format === "json" ? [JSON.stringify(data)] : lines) output.line(line);
}

export function numberOf(flag: string, text: string, max: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value <= max) return value;
  throw new UsageError(`${flag} ${JSON.stringify(text)} is no number that it takes: give 0 to ${max}.`);
}

/** Of an option that may be repeated. */
export const collected = (value: string, earlier: readonly string[]) => [...earlier, value];

export class UsageError extends Error {
  /** 1: understood, but refused. 2: not understood. */
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 2, options?: ErrorOptions) {
    super(message, options);
    this.name = "UsageError";
    this.exitCode = exitCode;
  }
}
