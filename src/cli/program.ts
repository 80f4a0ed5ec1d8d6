// The command tree of ./holdfast. A command is read when it is asked for: one needs a third of all modules.
import { Command, CommanderError } from "commander";

import type { ShimSource } from "../cni/shim/install/install.ts";
import { asError } from "../kube/abort.ts";
import { ListenError } from "../kube/process/listen.ts";
import type { Adopt } from "./adopt.ts";
import type { Check } from "./check.ts";
import type { Claims } from "./claims.ts";
import { UsageError } from "./cluster-command.ts";
import type { Coexistence } from "./coexistence.ts";
import type { RunController } from "./controller.ts";
import type { RunAgent } from "./dhcp/agent.ts";
import type { TraceDhcp } from "./dhcp/dhcp.ts";
import type { Import } from "./import.ts";
import type { ListLeases } from "./leases.ts";
import type { Migrate } from "./migrate.ts";
import type { RunNode } from "./node.ts";
import type { ListPools } from "./pools.ts";
import type { Slices } from "./slices.ts";
import type { Up } from "./up.ts";
import type { Who } from "./who.ts";

const version = "0.1.0";

/** Where commands print: the terminal, or a list in tests. */
export interface Output {
  line(text: string): void;
}

/** What only an entry point can do, because it takes parts from everywhere. */
export interface Wiring {
  readonly adopt: Adopt;
  readonly agent: RunAgent;
  readonly check: Check;
  readonly claims: Claims;
  readonly coexistence: Coexistence;
  readonly controller: RunController;
  readonly import: Import;
  readonly leases: ListLeases;
  readonly migrate: Migrate;
  readonly node: RunNode;
  readonly pools: ListPools;
  /** Builds the CNI plugin, or finds it built. */
  readonly shims: ShimSource;
  readonly slices: Slices;
  readonly traceDhcp: TraceDhcp;
  readonly up: Up;
  readonly who: Who;
}

type Maker = (output: Output, wiring: Wiring) => Promise<Command>;

const commands: Readonly<Record<string, Maker>> = {
  adopt: async (output, { adopt }) => (await import("./adopt.ts")).adoptCommand(output, adopt),
  agent: async (output, { agent }) => (await import("./dhcp/agent.ts")).agentCommand(output, agent),
  check: async (output, { check }) => (await import("./check.ts")).checkCommand(output, check),
  claims: async (output, { claims }) => (await import("./claims.ts")).claimsCommand(output, claims),
  cni: async (output, { shims }) => (await import("./cni.ts")).cniCommand(output, shims),
  coexistence: async (output, wiring) =>
    (await import("./coexistence.ts")).coexistenceCommand(output, wiring.coexistence),
  controller: async (output, wiring) => (await import("./controller.ts")).controllerCommand(output, wiring.controller),
  dhcp: async (output, { traceDhcp }) => (await import("./dhcp/dhcp.ts")).dhcpCommand(output, traceDhcp),
  explain: async (output) => (await import("./explain.ts")).explainCommand(output),
  import: async (output, wiring) => (await import("./import.ts")).importCommand(output, wiring.import),
  leases: async (output, { leases }) => (await import("./leases.ts")).leasesCommand(output, leases),
  migrate: async (output, { migrate }) => (await import("./migrate.ts")).migrateCommand(output, migrate),
  node: async (output, { node }) => (await import("./node.ts")).nodeCommand(output, node),
  pools: async (output, { pools }) => (await import("./pools.ts")).poolsCommand(output, pools),
  slices: async (output, { slices }) => (await import("./slices.ts")).slicesCommand(output, slices),
  tour: async (output) => (await import("./tour.ts")).tourCommand(output),
  up: async (output, { up }) => (await import("./up.ts")).upCommand(output, up),
  who: async (output, { who }) => (await import("./who.ts")).whoCommand(output, who),
};

/** With the command of this name alone, and only its modules; with all commands where none has the name. */
export async function program(output: Output, wiring: Wiring, name = ""): Promise<Command> {
  const top = new Command("holdfast")
    .description("IP addresses for Kubernetes pods and KubeVirt virtual machines that stay with their owner.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "say what a command does and what it takes")
    .helpCommand(false)
    .showHelpAfterError("(holdfast --help lists the commands)");
  const isVersion = name === "-V" || name === "--version";
  const makers = Object.hasOwn(commands, name) ? [commands[name]!] : isVersion ? [] : Object.values(commands);
  for (const made of await Promise.all(makers.map((make) => make(output, wiring)))) top.addCommand(made);
  return top;
}

/** Runs one command line. The result is the exit code: 0 done, 1 refused or failed, 2 wrong usage. */
export async function run(
  argv: readonly string[],
  output: Output,
  complain: (text: string) => void,
  wiring: Wiring,
): Promise<number> {
  try {
    const top = await program(output, wiring, argv[0]);
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
    if (error instanceof ListenError) {
      complain(`holdfast: ${error.message}`);
      return 1;
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
