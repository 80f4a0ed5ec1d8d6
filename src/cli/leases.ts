// `holdfast leases`: the addresses of networks with managed DHCP, whose each is, and in which state.
import type { Command } from "commander";

import { leaseLines, type LeaseRow } from "../check/vmnet/table.ts";
import { ClusterCommand, type LookOptions, type Printed, UsageError, print } from "./cluster-command.ts";
import type { Output } from "./program.ts";

/** Undefined: there is no such pool. */
export type ListLeases = (options: LookOptions, pool?: string) => Promise<readonly LeaseRow[] | undefined>;

export function leasesCommand(output: Output, leases: ListLeases): Command {
  return new ClusterCommand("leases")
    .description(
      "List the addresses that managed DHCP serves: MAC, VM, network, pool, and whether each is bound, quarantined, resting, reserved or excluded.",
    )
    .argument("[pool]", "of this pool (ippl) only: namespace/name, or a name of any namespace")
    .systemNamespace("where holds and agents are")
    .printed()
    .examples(
      ["holdfast leases", "all networks"],
      ["holdfast leases shop/net-48", "one pool"],
      ["holdfast leases -o json", "for programs"],
    )
    .action(async (pool: string | undefined, { output: format, ...options }: LookOptions & Printed) => {
      const rows = await leases(options, pool);
      if (rows === undefined)
        throw new UsageError(`there is no pool ${pool}: kubectl get ippl -A lists those that there are.`, 1);
      print(output, format, { leases: rows }, leaseLines(rows));
    });
}
