// `holdfast pools`: every pool, its range, how much of it is used, and by which networks.
import { Command, Option } from "commander";

import { type PoolRow, tableLines } from "../check/pool-table.ts";
import { type ConnectionOptions, withConnectionOptions } from "./connection.ts";
import type { Output } from "./program.ts";

export interface LookOptions extends ConnectionOptions {
  readonly systemNamespace: string;
}

export type ListPools = (options: LookOptions) => Promise<readonly PoolRow[]>;

export function poolsCommand(output: Output, pools: ListPools): Command {
  return withConnectionOptions(
    new Command("pools").description("List the pools: range, used, free, network, and which definitions use them."),
  )
    .option("--system-namespace <name>", "where pools without a namespace of their own are", "kube-system")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text"))
    .action(async ({ output: format, ...options }: LookOptions & { readonly output: "text" | "json" }) => {
      const rows = await pools(options);
      if (format === "json") output.line(JSON.stringify({ pools: rows }));
      else for (const line of tableLines(rows)) output.line(line);
    });
}
