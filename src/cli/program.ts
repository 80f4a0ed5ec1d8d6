// The command tree of ./holdfast.
import { Command, CommanderError } from "commander";

import type { ShimSource } from "../cni/shim/install/install.ts";
import { asError } from "../kube/abort.ts";
import { type Adopt, adoptCommand } from "./adopt.ts";
import { type Check, checkCommand } from "./check.ts";
import { type Claims, claimsCommand } from "./claims.ts";
import { cniCommand } from "./cni.ts";
import { type Coexistence, coexistenceCommand } from "./coexistence.ts";
import { controllerCommand, type RunController } from "./controller.ts";
import { explainCommand } from "./explain.ts";
import { type Import, importCommand } from "./import.ts";
import { type Migrate, migrateCommand } from "./migrate.ts";
import { nodeCommand, type RunNode } from "./node.ts";
import { type ListPools, poolsCommand } from "./pools.ts";
import { type Slices, slicesCommand } from "./slices.ts";
import { tourCommand } from "./tour.ts";
import { upCommand, type Up } from "./up.ts";
import { UsageError } from "./usage-error.ts";
import { type Who, whoCommand } from "./who.ts";

const version = "0.1.0";

/** Where commands print: the terminal, or a list in tests. */
export interface Output {
  line(text: string): void;
}

/** What only an entry point can do, because it takes parts from everywhere. */
export interface Wiring {
  readonly adopt: Adopt;
  readonly check: Check;
  readonly claims: Claims;
  readonly coexistence: Coexistence;
  readonly controller: RunController;
  readonly import: Import;
  readonly migrate: Migrate;
  readonly node: RunNode;
  readonly pools: ListPools;
  /** Builds the CNI plugin, or finds it built. */
  readonly shims: ShimSource;
  readonly slices: Slices;
  readonly up: Up;
  readonly who: Who;
}

export function program(output: Output, wiring: Wiring): Command {
  return new Command("holdfast")
    .description("IP addresses for Kubernetes pods and KubeVirt virtual machines that stay with their owner.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "say what a command does and what it takes")
    .helpCommand(false)
    .showHelpAfterError("(holdfast --help lists the commands)")
    .addCommand(adoptCommand(output, wiring.adopt))
    .addCommand(checkCommand(output, wiring.check))
    .addCommand(claimsCommand(output, wiring.claims))
    .addCommand(cniCommand(output, wiring.shims))
    .addCommand(coexistenceCommand(output, wiring.coexistence))
    .addCommand(controllerCommand(output, wiring.controller))
    .addCommand(explainCommand(output))
    .addCommand(importCommand(output, wiring.import))
    .addCommand(migrateCommand(output, wiring.migrate))
    .addCommand(nodeCommand(output, wiring.node))
    .addCommand(poolsCommand(output, wiring.pools))
    .addCommand(slicesCommand(output, wiring.slices))
    .addCommand(tourCommand(output))
    .addCommand(upCommand(output, wiring.up))
    .addCommand(whoCommand(output, wiring.who));
}

/** Runs one command line. The result is the exit code: 0 done, 1 refused or failed, 2 wrong usage. */
export async function run(
  argv: readonly string[],
  output: Output,
  complain: (text: string) => void,
  wiring: Wiring,
): Promise<number> {
  try {
    const top = program(output, wiring);
    for (const command of withAllBelow(top)) {
      command.exitOverride().configureOutput({
        writeOut: (text) => output.line(text.trimEnd()),
        writeErr: (text) => complain(text.trimEnd()),
      });
    }
    if (argv.length === 0) {
      output.line(top.helpInformation().trimEnd());
      return 2;
    }
    await top.parseAsync([...argv], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof UsageError) {
      complain(`holdfast: ${error.message}`);
      return error.exitCode;
    }
    complain(`holdfast: ${asError(error).message}`);
    complain(traced(error));
    return 1;
  }
}

/** A stack is for us: whoever runs the command is told how to get it. */
function traced(error: unknown): string {
  if (process.env["HOLDFAST_TRACE"] !== "1")
    return "If this looks like a defect, HOLDFAST_TRACE=1 shows where it comes from.";
  return asError(error).stack ?? "";
}

function withAllBelow(command: Command): Command[] {
  return [command, ...command.commands.flatMap((child) => withAllBelow(child))];
}
