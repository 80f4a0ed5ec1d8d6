// How many slices and nodes a range carries: the arithmetic behind `holdfast slices plan`. Pure.
import { bitsOf } from "../../net/address.ts";
import { counted } from "../../net/counted.ts";
import { common, difference, IntervalSet } from "../../net/interval-set.ts";
import { intervalOf } from "../../net/interval.ts";
import { Prefix } from "../../net/prefix.ts";
import type { SlicePlan } from "./facts.ts";

/** Half of etcd's default limit (1.5 MiB) is too near; at this size a write of the status takes some milliseconds. */
export const objectBytesMax = 512 * 1024;
/** Names of cloud machines are 20 to 60 characters long. */
const nodeNameLength = 40;
/** metadata, spec, totals and three conditions. */
const objectBytesBase = 2048;
/** Pods that a kubelet runs on a node by default. */
const podsPerNodeUsual = 110n;

export interface Capacity {
  readonly range: Prefix;
  readonly sliceLength: number;
  /** Slices with any useful address, the floating part left out. */
  readonly slices: bigint;
  readonly addressesPerSlice: bigint;
  /** Useful addresses of all slices together. */
  readonly usable: bigint;
  readonly floating?: Prefix;
}

/** `useful`: the addresses that definitions hand out; default: the whole range. */
export function capacityOf(
  range: Prefix,
  sliceLength: number,
  floatingLength?: number,
  useful: IntervalSet = IntervalSet.of([intervalOf(range)]),
): Capacity {
  const floating = floatingLength === undefined ? undefined : Prefix.around(range.last, floatingLength);
  const inside = common([intervalOf(range)], useful);
  const handedOut = floating === undefined ? inside : difference(inside, [intervalOf(floating)]);
  return {
    range,
    sliceLength,
    slices: totalsOf(handedOut, sliceLength, []).total,
    addressesPerSlice: 1n << BigInt(bitsOf(range.family) - sliceLength),
    usable: handedOut.size,
    ...(floating !== undefined && { floating }),
  };
}

/** The slices that have any of these addresses, as a set of all their addresses. */
function slicesAround(addresses: IntervalSet, sliceLength: number): IntervalSet {
  const set = new IntervalSet();
  for (const { first, last } of addresses) {
    set.add({ first: Prefix.around(first, sliceLength).first, last: Prefix.around(last, sliceLength).last });
  }
  return set;
}

/** A slice of which any part is assigned counts as assigned. */
export function totalsOf(useful: IntervalSet, sliceLength: number, blocks: readonly Prefix[]): SlicePlan["totals"] {
  const all = slicesAround(useful, sliceLength);
  const touched = slicesAround(IntervalSet.of(blocks.map(intervalOf)), sliceLength);
  const total = countOf(all, sliceLength);
  const assigned = countOf(common(touched, all), sliceLength);
  return { total, assigned, free: total - assigned };
}

function countOf(slices: IntervalSet, sliceLength: number): bigint {
  for (const { first } of slices) return slices.size / Prefix.around(first, sliceLength).size;
  return 0n;
}

export interface SizingPlan extends Capacity {
  readonly nodes: number;
  /** Nodes that get a slice of their own. */
  readonly carried: bigint;
  /** Slices that are left for nodes that join or fill theirs. */
  readonly spare: bigint;
  /** Addresses of a node with one slice: as many pods with one interface each. */
  readonly podsPerNode: bigint;
  /** Of the NodeSlicePool object at so many nodes with names of 40 characters. */
  readonly objectBytes: number;
  readonly suggestions: readonly string[];
}

export function sizeFor(capacity: Capacity, nodes: number): SizingPlan {
  const { slices, addressesPerSlice, usable } = capacity;
  const wanted = BigInt(nodes);
  const carried = slices < wanted ? slices : wanted;
  const average = slices === 0n ? 0n : usable / slices;
  const podsPerNode = average < addressesPerSlice ? average : addressesPerSlice;
  const longest = String(Prefix.around(capacity.range.last, capacity.sliceLength)).length;
  // In the API server's compact JSON.
  const bytesPerLine = '{"nodeName":"","sliceRange":""},'.length + nodeNameLength + longest;
  const objectBytes = objectBytesBase + Number(carried) * bytesPerLine;
  const sized = { ...capacity, nodes, carried, spare: slices - carried, podsPerNode, objectBytes };
  return { ...sized, suggestions: suggestionsFor(sized) };
}

function suggestionsFor(plan: Omit<SizingPlan, "suggestions">): string[] {
  const { range, sliceLength, slices, nodes, spare, objectBytes, podsPerNode } = plan;
  const found: string[] = [];
  const better = bestLength(plan);
  if (slices < BigInt(nodes)) {
    const cut =
      better === undefined ? `give the network a larger range than ${range}` : `write node_slice_size /${better}`;
    const what = `/${sliceLength} makes ${counted(slices, "slice")}, and ${counted(nodes, "node needs one", "nodes need one each")}`;
    found.push(`${what}: ${cut}. Until then nodes lend each other parts.`);
  } else if (spare * 10n < BigInt(nodes)) {
    const remedy = better === undefined || better === sliceLength ? "a larger range" : `/${better}`;
    const what = `Only ${counted(spare, "slice is", "slices are")} left for growth, less than a tenth of ${counted(nodes, "node")}`;
    found.push(`${what}: ${remedy} would leave more.`);
  }
  if (podsPerNode < podsPerNodeUsual && better !== undefined && better < sliceLength) {
    const what = `A slice has ${podsPerNode} addresses and a node runs up to ${podsPerNodeUsual} pods`;
    found.push(`${what}: /${better} fits both pods and nodes.`);
  }
  const large = `The NodeSlicePool would be ${objectBytes} bytes, above ${objectBytesMax}`;
  if (objectBytes > objectBytesMax) found.push(`${large}: split the network into several ranges.`);
  return found;
}

/** The largest slices of which there are a quarter more than nodes; undefined: not even single addresses are enough. */
function bestLength({ range, nodes, usable }: Omit<SizingPlan, "suggestions">): number | undefined {
  const needed = BigInt(nodes) + (BigInt(nodes) + 3n) / 4n;
  if (usable < needed) return undefined;
  const bits = bitsOf(range.family);
  for (let length = bits; length >= range.length; length--) {
    if (usable >> BigInt(bits - length) < needed) return length + 1;
  }
  return range.length;
}
