// `holdfast slices`: which node has which slice and how full they are; what a range can carry; and taking slices from a node that is off.
import { Command } from "commander";

import { type RangeTable, rangeLines, type TableFilter } from "../check/slices/table.ts";
import { ClusterCommand, type LookOptions, type Printed } from "./cluster-command.ts";
import type { Output } from "./program.ts";
import { planCommand } from "./slices-plan.ts";
import { UsageError } from "./usage-error.ts";

export interface ReleaseRequest extends LookOptions {
  readonly node: string;
  readonly dryRun: boolean;
  readonly isConfirmed: boolean;
  /** Until the controller has removed them. */
  readonly wait: boolean;
  readonly observeMs: number;
  readonly timeoutMs: number;
}

export type ListSlices = (options: LookOptions & TableFilter) => Promise<readonly RangeTable[]>;
export type ReleaseSlices = (request: ReleaseRequest, output: Output) => Promise<void>;

/** What bin/ wires. */
export interface Slices {
  readonly list: ListSlices;
  readonly release: ReleaseSlices;
}

export function slicesCommand(output: Output, slices: Slices): Command {
  return new Command("slices")
    .description(
      "The slices of nodes: which node has what, what a range can carry, and taking them from a node that is off.",
    )
    .addCommand(listCommand(output, slices), { isDefault: true })
    .addCommand(planCommand(output))
    .addCommand(releaseCommand(output, slices));
}

function listCommand(output: Output, slices: Slices): Command {
  return new ClusterCommand("list")
    .description(
      "Show which node has which slice of each sliced range: fill, lent, borrowed, draining, fenced, waiting. What `holdfast slices` does.",
    )
    .systemNamespace(leasesPlace)
    .option("--node <name>", "slices of this node only")
    .option("--network <name>", "ranges of this network_name, or of this NodeSlicePool, only")
    .printed()
    .action(async ({ output: format, ...options }: LookOptions & TableFilter & Printed) => {
      const tables = await slices.list(options);
      if (format === "json") output.line(JSON.stringify({ ranges: tables }));
      else for (const line of linesOf(tables, options)) output.line(line);
    });
}

const leasesPlace = "where the Leases and the shared state are";

function linesOf(tables: readonly RangeTable[], { node, network }: TableFilter): string[] {
  if (tables.length > 0) return tables.flatMap((table, index) => [...(index > 0 ? [""] : []), ...rangeLines(table)]);
  const asked = [node && `node ${node}`, network && `network ${network}`].filter(Boolean).join(" and ");
  return [
    asked === "" ? "No range is cut into slices: node_slice_size asks for it." : `There are no slices of ${asked}.`,
  ];
}

type ReleaseFlags = Omit<ReleaseRequest, "node" | "isConfirmed"> & { readonly yesTheNodeIsOff: boolean };

function releaseCommand(output: Output, slices: Slices): Command {
  return new ClusterCommand("release")
    .description(
      "Declare a node off: its slices and the addresses of its pods go to others after five minutes of silence. Refuses while the node is heard of.",
    )
    .systemNamespace(leasesPlace)
    .argument("<node>", "the node's name")
    .option("--yes-the-node-is-off", "confirm that nothing runs on it any more: else addresses are given twice", false)
    .option("--dry-run", "show what would be released, and write nothing", false)
    .duration("--observe-seconds", "how long the node must stay silent under our eyes first", 90)
    .option("--no-wait", "do not wait until the controller has removed them")
    .duration("--timeout-seconds", "how long to wait for the controller", 600)
    .action(async (node: string, { yesTheNodeIsOff: isConfirmed, ...flags }: ReleaseFlags) => {
      if (node === "") throw new UsageError("the node has no name: give the one that `holdfast slices` shows.");
      await slices.release({ ...flags, node, isConfirmed }, output);
    });
}
