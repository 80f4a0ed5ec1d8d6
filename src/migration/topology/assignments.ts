// What each node is to be told of itself: its number, and its subnets as they are granted. Pure.
//
// Promised: a subnet is told to the node that the NodeSlicePool names, and to no other; a node that has a granted one
// keeps it. Of a cluster subnet that no pool cuts nothing is told: what a node says stays.
import { comparePrefixes, overlaps, type Prefix } from "../../net/prefix.ts";
import type { ClusterNetwork } from "./cluster-network.ts";
import { largestNodeId, type NodeFacts } from "./node-facts.ts";
import { compareAge } from "./zone-of-nodes.ts";

/** One block of a cluster subnet, and the node that it is assigned to. */
export interface Assigned {
  readonly node: string;
  readonly block: Prefix;
}

export interface SubnetPool {
  readonly range: Prefix;
  readonly assigned: readonly Assigned[];
}

/** What a node's annotations are to say; undefined: as they do. `subnets` may be empty: what it has is another's. */
export interface Telling {
  readonly node: string;
  readonly id?: number;
  readonly subnets?: readonly Prefix[];
}

/** `pools`: at most one of each cluster subnet. */
export function tellingsOf(
  nodes: readonly NodeFacts[],
  pools: readonly SubnetPool[],
  { subnets }: Pick<ClusterNetwork, "subnets">,
): readonly Telling[] {
  const ids = idsOf(nodes);
  return nodes.flatMap((node): Telling[] => {
    const id = ids.get(node.name);
    const wanted = subnetsOf(node, pools, subnets);
    const isSame = wanted === undefined || wanted.join() === node.subnets.join();
    if (id === node.id && isSame) return [];
    return [
      { node: node.name, ...(id !== undefined && id !== node.id && { id }), ...(!isSame && { subnets: wanted }) },
    ];
  });
}

/** Everybody keeps the number that he has, the older of two who have one; the others get the lowest that is free. */
function idsOf(nodes: readonly NodeFacts[]): ReadonlyMap<string, number> {
  const ids = new Map<string, number>();
  const taken = new Set<number>([0, 1]);
  const inOrder = nodes.toSorted(compareAge);
  for (const { name, id } of inOrder) {
    if (id === undefined || taken.has(id)) continue;
    taken.add(id);
    ids.set(name, id);
  }
  let next = 2;
  for (const { name } of inOrder) {
    if (ids.has(name)) continue;
    while (taken.has(next)) next++;
    if (next > largestNodeId) break;
    taken.add(next);
    ids.set(name, next);
  }
  return ids;
}

function subnetsOf(
  node: NodeFacts,
  pools: readonly SubnetPool[],
  subnets: ClusterNetwork["subnets"],
): readonly Prefix[] | undefined {
  const granted = subnets.map(({ prefix, nodeLength }) => {
    const pool = pools.find(({ range }) => comparePrefixes(range, prefix) === 0);
    return { pool, mine: pool && ownBlock(node, pool, nodeLength) };
  });
  // Both families at once: a node with one of two is half a node.
  if (granted.every(({ mine }) => mine !== undefined)) return granted.map(({ mine }) => mine!);
  const anothers = node.subnets.filter((each) =>
    granted.some(({ pool }) =>
      pool?.assigned.some(({ node: owner, block }) => owner !== node.name && overlaps(block, each)),
    ),
  );
  return anothers.length > 0 ? [] : undefined;
}

/** The one that it has; else the lowest. A node that runs short gets further slices: one switch has one subnet. */
function ownBlock({ name, subnets }: NodeFacts, { assigned }: SubnetPool, length: number): Prefix | undefined {
  const whole = assigned
    .filter(({ node, block }) => node === name && block.length === length)
    .map(({ block }) => block);
  const known = whole.find((block) => subnets.some((each) => comparePrefixes(each, block) === 0));
  return known ?? whole.toSorted(comparePrefixes)[0];
}
