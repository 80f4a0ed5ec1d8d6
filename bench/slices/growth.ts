// What a cluster costs per node, at each size, and whether that stays the same as it grows. Pure.
import { rounded } from "../cni/figures.ts";

/** Costs of one size, in all. Key: what is paid, with its unit. */
export type Costs = Readonly<Record<string, number>>;

export interface Size {
  readonly nodes: number;
  readonly costs: Costs;
}

export function perNode({ nodes, costs }: Size): Costs {
  return Object.fromEntries(Object.entries(costs).map(([name, cost]) => [name, rounded(cost / nodes, 3)]));
}

/** The cost of a time with nothing to do: Leases are renewed and clocks looked at, whatever else happens. */
export interface Idle {
  readonly elapsedMs: number;
  readonly costs: Costs;
}

/** The costs of the work alone, without the idle costs of that time. Rounding must not make a cost negative. */
export function withoutIdle(costs: Costs, elapsedMs: number, idle: Idle): Costs {
  const share = elapsedMs / idle.elapsedMs;
  return Object.fromEntries(
    Object.entries(costs).map(([name, cost]) => [
      name,
      Math.max(0, rounded(cost - (idle.costs[name] ?? 0) * share, 0)),
    ]),
  );
}

export interface Growth {
  readonly from: number;
  readonly to: number;
  /** A node's cost in the largest cluster over that in the smallest: 1 is flat, 2 twice as dear. Key: as in Costs. */
  readonly ratios: Costs;
  readonly isFlat: boolean;
}

/** undefined where there is only one size. `tolerance`: up to this ratio counts as flat. */
export function growthOf(sizes: readonly Size[], tolerance: number): Growth | undefined {
  const sorted = sizes.toSorted((a, b) => a.nodes - b.nodes);
  const smallest = sorted[0];
  const largest = sorted.at(-1);
  if (smallest === undefined || largest === undefined || smallest.nodes === largest.nodes) return undefined;
  const before = perNode(smallest);
  const ratios = Object.fromEntries(
    Object.entries(perNode(largest)).map(([name, cost]) => [name, ratioOf(cost, before[name] ?? 0)]),
  );
  const isFlat = Object.values(ratios).every((ratio) => ratio <= tolerance);
  return { from: smallest.nodes, to: largest.nodes, ratios, isFlat };
}

/** What cost nothing before and costs something now has grown without measure. */
function ratioOf(cost: number, before: number): number {
  if (before === 0) return cost === 0 ? 1 : Number.MAX_SAFE_INTEGER;
  return rounded(cost / before);
}

/** Whether a cluster of that size fits, by what each node of the last one took; undefined: it does. */
export function whyNotFitting(
  nodes: number,
  last: { readonly nodes: number; readonly usedBytes: number } | undefined,
  availableBytes: number,
): string | undefined {
  if (last === undefined) return undefined;
  const neededBytes = (last.usedBytes / last.nodes) * nodes;
  if (neededBytes <= availableBytes * share) return undefined;
  const gib = (bytes: number) => `${rounded(bytes / 2 ** 30, 1)} GiB`;
  return (
    `${nodes} nodes would need ${gib(neededBytes)} (${last.nodes} took ${gib(last.usedBytes)}), ` +
    `and ${gib(availableBytes)} are available; a fifth of that is left alone`
  );
}

/** Garbage that is not collected yet, and the page cache of etcd, need the rest. */
const share = 0.8;
