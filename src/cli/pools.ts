// `holdfast pools`: every pool, its range, how much of it is used, and by which networks.
import type { Command } from "commander";

import { type PoolRow, tableLines } from "../check/pool-table.ts";
import { ClusterCommand, type LookOptions, type Printed, print } from "./cluster-command.ts";
import type { Output } from "./program.ts";

export type ListPools = (options: LookOptions) => Promise<readonly PoolRow[]>;

export function poolsCommand(output: Output, pools: ListPools): Command {
  return new ClusterCommand("pools")
    .description("List the pools: range, used, free, network, and which definitions use them.")
    .systemNamespace()
    .printed()
    .action(async ({ output: format, ...options }: LookOptions & Printed) => {
      const rows = await pools(options);
      print(output, format, { pools: rows }, tableLines(rows));
    });
}
