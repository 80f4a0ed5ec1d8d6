// `holdfast migrate`: the commands. What they do is src/transfer's; the connection comes in bin/transfer.ts.
import { Command, Option } from "commander";

import { poolNamings } from "../api/pools/pool-name.ts";
import { destinations, type Goal } from "../transfer/plan/goal.ts";
import { ClusterCommand, collected, type LookOptions, type Printed, UsageError } from "./cluster-command.ts";
import type { Output } from "./program.ts";

export interface MigrateRequest extends LookOptions {
  readonly record: string;
  readonly dryRun: boolean;
}

export interface PlanRequest extends MigrateRequest, Printed {
  readonly goal: Goal;
}

export interface ApplyRequest extends MigrateRequest {
  readonly goal: Goal;
  readonly editNads: boolean;
}

export interface RollbackRequest extends MigrateRequest {
  readonly force: boolean;
}
export interface Migrate {
  plan(request: PlanRequest, output: Output): Promise<void>;
  apply(request: ApplyRequest, output: Output): Promise<void>;
  rollback(request: RollbackRequest, output: Output): Promise<void>;
}

interface GoalOptions extends Pick<Goal, "to" | "naming" | "keepNames" | "allowSplit"> {
  readonly name: readonly string[];
  readonly pool: readonly string[];
  readonly definition: readonly string[];
}

export function migrateCommand(output: Output, migrate: Migrate): Command {
  return new Command("migrate")
    .description("Move the pools of whereabouts to named or namespaced form, or back, while nobody writes.")
    .addCommand(
      goalOptions(commandOf("plan"))
        .description("Show what would move, what must be edited and what stands against it. Changes nothing.")
        .printed()
        .action((options: GoalOptions & Omit<PlanRequest, "goal">) =>
          migrate.plan({ ...options, goal: goalOf(options) }, output),
        ),
    )
    .addCommand(
      goalOptions(commandOf("apply"))
        .description(
          "Make every writer rest, record everything that is touched, move it, and let them write again. Killed, it goes on when called again.",
        )
        .option("--edit-nads", "change the definitions that must say where their pools are", false)
        .action((options: GoalOptions & Omit<ApplyRequest, "goal">) =>
          migrate.apply({ ...options, goal: goalOf(options) }, output),
        ),
    )
    .addCommand(
      commandOf("rollback")
        .description(
          "Put everything back as the record has it. Refuses where addresses given since would be forgotten.",
        )
        .option(
          "--force",
          "forget addresses given since: their pods keep running, and others may be given the same addresses",
          false,
        )
        .action((options: RollbackRequest) => migrate.rollback(options, output)),
    );
}

function commandOf(name: string): ClusterCommand {
  return new ClusterCommand(name)
    .systemNamespace("where whereabouts keeps its pools")
    .option("--record <place>", "the rollback file, or configmap:namespace/name", "holdfast-migration.json")
    .option("--dry-run", "say what would be done, and change nothing", false);
}

function goalOptions(command: ClusterCommand): ClusterCommand {
  return command
    .addOption(new Option("--to <form>", "where pools are to be").choices(destinations).makeOptionMandatory())
    .addOption(new Option("--naming <scheme>", "how pools are named there").choices(poolNamings).default("whereabouts"))
    .option(
      "--name <namespace/definition=name>",
      "the network_name of a definition; its configuration's name otherwise (repeat it)",
      collected,
      [],
    )
    .option("--keep-names", "leave network_name as it is", false)
    .option("--definition <namespace/name>", "move this one only (repeat it)", collected, [])
    .option(
      "--pool <namespace/pool=namespace/definition>",
      "whose a pool is that no rule matches (repeat it)",
      collected,
      [],
    )
    .option(
      "--allow-split",
      "overlapping ranges of one domain may go into different ones: they are different wires",
      false,
    );
}

function goalOf({ to, naming, name, pool, definition, keepNames, allowSplit }: GoalOptions): Goal {
  const names = new Map(name.map((text) => pair("--name", text)));
  const pools = new Map(pool.map((text) => pair("--pool", text)));
  return { to, naming, names, pools, only: new Set(definition), keepNames, allowSplit };
}

function pair(flag: string, text: string): [string, string] {
  const at = text.indexOf("=");
  const key = text.slice(0, Math.max(at, 0));
  if (/^[^/]+\/[^/]+$/.test(key)) return [key, text.slice(at + 1)];
  throw new UsageError(`${flag} ${JSON.stringify(text)} is not understood: write namespace/name=value.`);
}
