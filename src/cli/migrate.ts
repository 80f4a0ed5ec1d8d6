// `holdfast migrate`: the commands. What they do is src/transfer's; the connection comes in bin/transfer.ts.
import { Command, Option } from "commander";

import { type PoolNaming, poolNamings } from "../api/pools/pool-name.ts";
import { type Destination, destinations, type Goal } from "../transfer/plan/goal.ts";
import { type ConnectionOptions, withConnectionOptions } from "./connection.ts";
import type { Output } from "./program.ts";
import { UsageError } from "./usage-error.ts";

export interface MigrateRequest extends ConnectionOptions {
  readonly systemNamespace: string;
  /** A path, or configmap:namespace/name. */
  readonly record: string;
  readonly dryRun: boolean;
}

export interface PlanRequest extends MigrateRequest {
  readonly goal: Goal;
  readonly output: "text" | "json";
}

export interface ApplyRequest extends MigrateRequest {
  readonly goal: Goal;
  readonly editDefinitions: boolean;
}

export interface RollbackRequest extends MigrateRequest {
  readonly force: boolean;
}

/** What bin/ wires. */
export interface Migrate {
  plan(request: PlanRequest, output: Output): Promise<void>;
  apply(request: ApplyRequest, output: Output): Promise<void>;
  rollback(request: RollbackRequest, output: Output): Promise<void>;
}

interface CommonOptions extends ConnectionOptions {
  systemNamespace: string;
  record: string;
  dryRun?: boolean;
}

interface GoalOptions extends CommonOptions {
  to: Destination;
  naming: PoolNaming;
  name: string[];
  pool: string[];
  definition: string[];
  keepNames?: boolean;
  allowSplit?: boolean;
}

export function migrateCommand(output: Output, migrate: Migrate): Command {
  return new Command("migrate")
    .description("Move the pools of whereabouts to named or namespaced form, or back, while nobody writes.")
    .addCommand(
      goalOptions(common(new Command("plan")))
        .description("Show what would move, what must be edited and what stands against it. Changes nothing.")
        .addOption(new Option("-o, --output <format>", "how to print it").choices(["text", "json"]).default("text"))
        .action((options: GoalOptions & { output: "text" | "json" }) =>
          migrate.plan({ ...requestOf(options), goal: goalOf(options), output: options.output }, output),
        ),
    )
    .addCommand(
      goalOptions(common(new Command("apply")))
        .description(
          "Make every writer rest, record everything that is touched, move it, and let them write again. Killed, it goes on when called again.",
        )
        .option("--edit-nads", "change the definitions that must say where their pools are")
        .action((options: GoalOptions & { editNads?: boolean }) =>
          migrate.apply(
            { ...requestOf(options), goal: goalOf(options), editDefinitions: options.editNads === true },
            output,
          ),
        ),
    )
    .addCommand(
      common(new Command("rollback"))
        .description(
          "Put everything back as the record has it. Refuses where addresses given since would be forgotten.",
        )
        .option(
          "--force",
          "forget addresses given since: their pods keep running, and others may be given the same addresses",
        )
        .action((options: CommonOptions & { force?: boolean }) =>
          migrate.rollback({ ...requestOf(options), force: options.force === true }, output),
        ),
    );
}

function common(command: Command): Command {
  return withConnectionOptions(command)
    .option("--system-namespace <namespace>", "where whereabouts keeps its pools", "kube-system")
    .option("--record <place>", "the rollback file, or configmap:namespace/name", "holdfast-migration.json")
    .option("--dry-run", "say what would be done, and change nothing");
}

function goalOptions(command: Command): Command {
  return command
    .addOption(new Option("--to <form>", "where pools are to be").choices(destinations).makeOptionMandatory())
    .addOption(new Option("--naming <scheme>", "how pools are named there").choices(poolNamings).default("whereabouts"))
    .option(
      "--name <namespace/definition=name>",
      "the network_name of a definition; its configuration's name otherwise (repeat it)",
      collect,
      [],
    )
    .option("--keep-names", "leave network_name as it is")
    .option("--definition <namespace/name>", "move this one only (repeat it)", collect, [])
    .option(
      "--pool <namespace/pool=namespace/definition>",
      "whose a pool is that no rule matches (repeat it)",
      collect,
      [],
    )
    .option("--allow-split", "overlapping ranges of one domain may go into different ones: they are different wires");
}

const collect = (value: string, all: string[]) => [...all, value];

function requestOf({ kubeconfig, context, systemNamespace, record, dryRun }: CommonOptions): MigrateRequest {
  return {
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(context !== undefined && { context }),
    systemNamespace,
    record,
    dryRun: dryRun === true,
  };
}

function goalOf({ to, naming, name, pool, definition, keepNames, allowSplit }: GoalOptions): Goal {
  return {
    to,
    naming,
    names: new Map(name.map((text) => pair("--name", text))),
    pools: new Map(pool.map((text) => pair("--pool", text))),
    only: new Set(definition),
    keepNames: keepNames === true,
    allowSplit: allowSplit === true,
  };
}

function pair(flag: string, text: string): [string, string] {
  const at = text.indexOf("=");
  const key = text.slice(0, Math.max(at, 0));
  if (/^[^/]+\/[^/]+$/.test(key)) return [key, text.slice(at + 1)];
  throw new UsageError(`${flag} ${JSON.stringify(text)} is not understood: write namespace/name=value.`);
}
