// `holdfast up`: the command. What it starts is wired in bin/, which may import everything.
import { homedir } from "node:os";
import { join } from "node:path";

import { Command } from "commander";

import type { Output } from "./program.ts";
import { UsageError } from "./usage-error.ts";

export interface UpOptions {
  /** Where the database and the kubeconfig are; made if it is not there. */
  readonly data: string;
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** Make the example network. */
  readonly example: boolean;
}

/** Runs until it is told to stop. */
export type Up = (options: UpOptions, output: Output) => Promise<void>;

const defaultData = join(process.env["XDG_STATE_HOME"] ?? join(homedir(), ".local", "state"), "holdfast");

export function upCommand(output: Output, up: Up): Command {
  return new Command("up")
    .description(
      "Run Holdfast on this machine, on its own Kubernetes API, until Ctrl-C. For one machine; clusters use their own API server.",
    )
    .option("--data <folder>", "where its database and its kubeconfig are kept (default: ~/.local/state/holdfast)")
    .option(
      "--host <address>",
      "address to listen on; whoever reaches it and has the token may do everything",
      "127.0.0.1",
    )
    .option("--port <number>", "port to listen on; 0 takes a free one", "7443")
    .option("--no-example", "do not make the example network")
    .action((options: { data?: string; host: string; port: string; example: boolean }) =>
      up({ ...options, data: options.data ?? defaultData, port: portOf(options.port) }, output),
    );
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new UsageError(`--port ${JSON.stringify(text)} is no port: give 0 (a free one) to 65535.`);
}
