// `holdfast slices`: nodes' slices and how full they are; what a range can carry; taking those of a node that is off.
import { Command } from "commander";

import { countOf } from "../api/fields.ts";
import type { ReleaseOptions } from "../check/slices/release-node.ts";
import { type RangeTable, rangeLines, type TableFilter } from "../check/slices/table.ts";
import { parseIpamConfig } from "../cni/config/ipam-config.ts";
import { parseNetwork } from "../cni/config/network.ts";
import { usefulOf } from "../cni/config/pool-definition.ts";
import { CniError } from "../cni/error.ts";
import { counted } from "../net/counted.ts";
import { capacityOf, objectBytesMax, type SizingPlan, sizeFor } from "../slices/plan/capacity.ts";
import {
  ClusterCommand,
  type LookOptions,
  type Printed,
  UsageError,
  collected,
  numberOf,
  ReadingCommand,
  print,
} from "./cluster-command.ts";
import type { Output } from "./program.ts";

type Asked = "node" | "dryRun" | "isConfirmed" | "wait" | "observeMs" | "timeoutMs";
export type ReleaseRequest = LookOptions & Pick<ReleaseOptions, Asked>;

export type ListSlices = (options: LookOptions & TableFilter) => Promise<readonly RangeTable[]>;
export type ReleaseSlices = (request: ReleaseRequest, output: Output) => Promise<void>;
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
      const ranges = await slices.list(options);
      print(output, format, { ranges }, linesOf(ranges, options));
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

interface Flags extends Printed {
  readonly range: string;
  readonly size: string;
  readonly nodes: number;
  readonly floating?: string;
  readonly start?: string;
  readonly end?: string;
  readonly exclude: readonly string[];
  readonly l3: boolean;
}

/** Kubernetes carries 5,000; who asks for more than a million has mistyped. */
const nodesMax = 1_000_000;

function planCommand(output: Output): Command {
  return new ReadingCommand("plan")
    .description(
      "Compute what a range carries when it is cut into slices. Needs no cluster. Exit code 1: it does not fit.",
    )
    .requiredOption("--range <cidr>", "the range, as in the configuration: 10.0.0.0/8, or 10.0.0.10-10.0.3.250/16")
    .requiredOption("--size <length>", "node_slice_size: the prefix length of a slice, /22")
    .requiredOption("--nodes <number>", "how many nodes there will be", (text) => numberOf("--nodes", text, nodesMax))
    .option("--floating <length>", "floating_slice_size: the part that belongs to no node, /20")
    .option("--start <address>", "range_start: lowest address to hand out")
    .option("--end <address>", "range_end: highest address to hand out")
    .option("--exclude <block>", "address, CIDR or A-B that is never handed out (repeat it for more)", collected, [])
    .option("--l3", "the first and the last address of the network are usable (enable_l3)", false)
    .printed()
    .action((flags: Flags) => plan(flags, output));
}

function plan(flags: Flags, output: Output): void {
  const { range, sliceLength, floatingLength, useful, nodes } = questionOf(flags);
  const sized = sizeFor(capacityOf(range, sliceLength, floatingLength, useful), nodes);
  print(output, flags.output, asData(sized), planLines(sized));
  if (!fits(sized))
    throw new UsageError(`${range} in slices of /${sliceLength} does not carry ${counted(nodes, "node")}.`, 1);
}

function fits({ carried, nodes, objectBytes }: SizingPlan): boolean {
  return carried >= BigInt(nodes) && objectBytes <= objectBytesMax;
}

/** Read by the parser of the CNI configuration: what it refuses there is refused here, in the same words. */
function questionOf({ range, size, floating, start, end, exclude, l3, nodes }: Flags) {
  const ipam = {
    type: "holdfast",
    range,
    node_slice_size: size,
    ...(floating !== undefined && { floating_slice_size: floating }),
    ...(start !== undefined && { range_start: start }),
    ...(end !== undefined && { range_end: end }),
    exclude,
    enable_l3: l3,
  };
  try {
    const { config } = parseIpamConfig(
      parseNetwork(JSON.stringify({ cniVersion: "1.0.0", name: "plan", type: "bridge", ipam })),
    );
    const parsed = config.ranges[0]!;
    if (parsed.sliceLength === undefined)
      throw new UsageError(`--size ${JSON.stringify(size)} is no prefix length: give one, like /22.`);
    return {
      range: parsed.prefix,
      sliceLength: parsed.sliceLength,
      floatingLength: parsed.floatingLength,
      useful: usefulOf(config, parsed),
      nodes,
    };
  } catch (error) {
    if (error instanceof CniError) throw new UsageError(error.message, 2, { cause: error });
    throw error;
  }
}

/** Numbers as long as they are exact, as in our objects. */
function asData({ range, sliceLength, floating, ...rest }: SizingPlan): Record<string, unknown> {
  const plain = Object.entries(rest).map(([key, value]) => [key, typeof value === "bigint" ? countOf(value) : value]);
  return {
    range: String(range),
    sliceSize: `/${sliceLength}`,
    ...(floating && { floating: String(floating) }),
    ...(Object.fromEntries(plain) as Record<string, unknown>),
    fits: fits({ range, sliceLength, ...rest }),
  };
}

function planLines(sized: SizingPlan): string[] {
  const { range, sliceLength, nodes, slices, addressesPerSlice, carried, spare, usable, podsPerNode, floating } = sized;
  const { objectBytes, suggestions } = sized;
  const facts: readonly (readonly [string, string])[] = [
    ["slices", `${slices} of ${counted(addressesPerSlice, "address")}`],
    ["nodes", `${carried} with a slice of their own; ${counted(spare, "slice")} left for nodes that join or need more`],
    ["pods", `${podsPerNode} on a node with one slice; ${usable} in all`],
    ["floating", floating === undefined ? "" : `${floating}, ${counted(floating.size, "address")} of no node`],
    [
      "object",
      `NodeSlicePool of about ${kib(objectBytes)}, of ${kib(objectBytesMax)}, if nodes' names have 40 characters`,
    ],
  ];
  return [
    `${range} in slices of /${sliceLength} for ${counted(nodes, "node")}: ${fits(sized) ? "it fits" : "it does not fit"}`,
    ...facts.flatMap(([name, text]) => (text === "" ? [] : [`  ${name.padEnd(8)}  ${text}`])),
    ...suggestions.map((each) => `  advice    ${each}`),
  ];
}

function kib(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} KiB`;
}
