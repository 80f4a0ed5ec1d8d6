// The command tree of ./holdfast. A command is read when it is asked for: one needs a third of all modules.
import { Command, CommanderError } from "commander";

import { asError } from "../kube/abort.ts";
import { ListenError } from "../kube/process/listen.ts";
import { UsageError } from "./cluster-command.ts";

const version = "0.1.0";

/** Where commands print: the terminal, or a list in tests. */
export interface Output {
  line(text: string): void;
}

/** What makes each command: of the output and, where there is one, its part of the wiring. */
const commands = {
  adopt: async () => (await import("./adopt.ts")).adoptCommand,
  agent: async () => (await import("./dhcp/agent.ts")).agentCommand,
  check: async () => (await import("./check.ts")).checkCommand,
  claims: async () => (await import("./claims.ts")).claimsCommand,
  cni: async () => (await import("./cni.ts")).cniCommand,
  coexistence: async () => (await import("./coexistence.ts")).coexistenceCommand,
  controller: async () => (await import("./controller.ts")).controllerCommand,
  demo: async () => (await import("./local/demo.ts")).demoCommand,
  dhcp: async () => (await import("./dhcp/dhcp.ts")).dhcpCommand,
  explain: async () => (await import("./explain.ts")).explainCommand,
  import: async () => (await import("./import.ts")).importCommand,
  leases: async () => (await import("./leases.ts")).leasesCommand,
  migrate: async () => (await import("./migrate.ts")).migrateCommand,
  migrations: async () => (await import("./migrations.ts")).migrationsCommand,
  node: async () => (await import("./node.ts")).nodeCommand,
  pools: async () => (await import("./pools.ts")).poolsCommand,
  slices: async () => (await import("./slices.ts")).slicesCommand,
  tour: async () => (await import("./local/tour.ts")).tourCommand,
  up: async () => (await import("./local/up.ts")).upCommand,
  who: async () => (await import("./who.ts")).whoCommand,
};

type Name = keyof typeof commands;
type Maker<N extends Name> = Awaited<ReturnType<(typeof commands)[N]>>;
type Part<N extends Name> = Parameters<Maker<N>>[1];

/** By command, what only an entry point can do, because it takes parts from everywhere. */
export type Wiring = { readonly [N in Name as undefined extends Part<N> ? never : N]: Part<N> };

async function made(name: Name, output: Output, wiring: Wiring): Promise<Command> {
  const make = (await commands[name]()) as (output: Output, part: unknown) => Command;
  return make(output, (wiring as Readonly<Record<string, unknown>>)[name]);
}

/** With the command of this name alone, and only its modules; with all commands where none has the name. */
export async function program(output: Output, wiring: Wiring, name = ""): Promise<Command> {
  const top = new Command("holdfast")
    .description("IP addresses for Kubernetes pods and KubeVirt virtual machines that stay with their owner.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "say what a command does and what it takes")
    .helpCommand(false)
    .showHelpAfterError("(holdfast --help lists the commands)");
  const isVersion = name === "-V" || name === "--version";
  const all = Object.keys(commands) as Name[];
  const names = Object.hasOwn(commands, name) ? [name as Name] : isVersion ? [] : all;
  for (const command of await Promise.all(names.map((each) => made(each, output, wiring)))) top.addCommand(command);
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
