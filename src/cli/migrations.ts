// `holdfast migrations`: live migrations of VMs on the default network, as they are on record, and those that go on.
import type { Command } from "commander";

import { type MigrationFilter, migrationLines, type MigrationRow } from "../migration/receipts/migration-rows.ts";
import { ClusterCommand, type ConnectionOptions, print, type Printed } from "./cluster-command.ts";
import type { Output } from "./program.ts";

export type ListMigrations = (options: ConnectionOptions, filter: MigrationFilter) => Promise<readonly MigrationRow[]>;

interface Flags extends ConnectionOptions, Printed {
  readonly namespace?: string;
}

export function migrationsCommand(output: Output, migrations: ListMigrations): Command {
  return new ClusterCommand("migrations")
    .description(
      "List live migrations of VMs on the default network: from and to which node, how each ended, what told where the guest is, when the rows followed and how long that took. Kept on the target's pod, so as long as that is there.",
    )
    .argument("[vm]", "of this VM only: namespace/name, or a name of any namespace")
    .option("-n, --namespace <name>", "of this namespace only (default: all)")
    .printed()
    .examples(
      ["holdfast migrations", "all that are on record, and those that go on"],
      ["holdfast migrations shop/db", "of one VM"],
      ["holdfast migrations -o json", "for programs, with every step"],
    )
    .action(async (asked: string | undefined, { output: format, namespace, ...options }: Flags) => {
      const rows = await migrations(options, filterOf(asked, namespace));
      const none = "There is no migration on record, and none goes on.";
      print(output, format, { migrations: rows }, rows.length === 0 ? [none] : migrationLines(rows));
    });
}

function filterOf(asked: string | undefined, namespace: string | undefined): MigrationFilter {
  const [first, second] = asked?.split("/") ?? [];
  return second === undefined ? { namespace, vm: first } : { namespace: namespace ?? first, vm: second };
}
