// Slices against the pools that assign them, against each other and against what their nodes say. Pure.
import { blocksOf, floatingNode } from "../../api/slices/slice-grant.ts";
import { freshMs } from "../../cluster/fencing.ts";
import { counted } from "../../net/counted.ts";
import { comparePrefixes, containsPrefix, type Prefix } from "../../net/prefix.ts";
import { type Finding, finding, found, named } from "../finding.ts";
import type { SlicePoolView, SliceView } from "../slices/slice-view.ts";
import { leaseAgeMs, type SlicesSnapshot } from "../slices/snapshot.ts";
import { stateOf } from "../slices/table.ts";

export function examineSlices(snapshot: SlicesSnapshot): Finding[] {
  const slices = new Map(snapshot.slices.map((slice) => [placeOf(slice.namespace, slice.pool, slice), slice]));
  return [
    ...overlapsOf(snapshot, slices),
    ...snapshot.pools.flatMap((pool) => withoutObject(pool, slices)),
    ...unassigned(snapshot),
    ...snapshot.slices.flatMap(unreadableEntries),
    ...fenced(snapshot.slices),
    ...waiting(snapshot),
    ...silent(snapshot),
    ...snapshot.slices.flatMap((slice) => behind(snapshot, slice)),
  ];
}

interface Assigned {
  readonly node: string;
  readonly block: Prefix;
}

function placeOf(namespace: string, pool: string, { node, block }: Assigned): string {
  return `${namespace}/${pool} ${node} ${block}`;
}

type Placed = Assigned & { readonly pool: SlicePoolView };

/** A piece inside a slice is as it should be where the slice's grant has given it up. */
function overlapsOf(snapshot: SlicesSnapshot, slices: ReadonlyMap<string, SliceView>): Finding[] {
  const domains = Map.groupBy(snapshot.pools, (pool) => `${pool.namespace} ${networkOf(snapshot, pool)}`);
  return [...domains.values()].flatMap((pools) => {
    const all = pools.flatMap((pool): Placed[] => [
      ...pool.allocations.map((each) => ({ ...each, pool })),
      ...pool.floating.map((block) => ({ node: floatingNode, block, pool })),
    ]);
    const hasGivenUp = (giver: Placed, { block }: Placed) => {
      const without = slices.get(placeOf(giver.pool.namespace, giver.pool.name, giver))?.grant?.without ?? [];
      return blocksOf(without).some((each) => containsPrefix(each, block));
    };
    // Of two that are the same block, either may have given it up.
    return pairsOf(all).flatMap(([outer, inner]) =>
      hasGivenUp(outer, inner) || (outer.block.length === inner.block.length && hasGivenUp(inner, outer))
        ? []
        : [overlap(outer, inner)],
    );
  });
}

/** Blocks nest or are apart, so that in order the ones around a block are a stack. */
function pairsOf(all: readonly Placed[]): [Placed, Placed][] {
  const pairs: [Placed, Placed][] = [];
  const around: Placed[] = [];
  for (const each of all.toSorted((a, b) => comparePrefixes(a.block, b.block))) {
    while (around.length > 0 && !containsPrefix(around.at(-1)!.block, each.block)) around.pop();
    for (const outer of around) pairs.push([outer, each]);
    around.push(each);
  }
  return pairs;
}

function overlap(outer: Placed, inner: Placed): Finding {
  const objects = new Set([`NodeSlicePool ${outer.pool.key}`, `NodeSlicePool ${inner.pool.key}`]);
  return finding("slices-overlap", "error", [...objects], {
    message: `${outer.block} of node ${outer.node} and ${inner.block} of node ${inner.node} overlap, and neither gave it up: an address may be given twice.`,
    remedy:
      "Stop the controller's writes (scale it to 0), see with holdfast slices which of the two is in use, remove the other from status.allocations, and start it again.",
  });
}

/** The network of a pool, as far as anything says it. */
function networkOf({ sliced, slices }: SlicesSnapshot, { namespace, name }: SlicePoolView): string {
  const isIt = (each: { readonly namespace: string; readonly pool: string }) =>
    each.namespace === namespace && each.pool === name;
  return sliced.ranges.find(isIt)?.network ?? slices.find(isIt)?.network ?? name;
}

function withoutObject(pool: SlicePoolView, slices: ReadonlyMap<string, SliceView>): Finding[] {
  const bare = pool.allocations.filter((each) => !slices.has(placeOf(pool.namespace, pool.name, each)));
  if (bare.length === 0) return [];
  const which = named(bare.map(({ node, block }) => `${block} of ${node}`));
  return found("slice-without-object", "warning", [`NodeSlicePool ${pool.key}`], {
    message: `NodeSlicePool ${pool.key} has ${counted(bare.length, "assigned slice")} without an IPPool, which nobody hands out of: ${which}.`,
    remedy: "The controller writes them within seconds: is one running? Its log says why not.",
  });
}

/** A slice on its way out may have left the pool before its object goes. */
function unassigned({ pools, slices }: SlicesSnapshot): Finding[] {
  const assigned = new Set(
    pools.flatMap((pool) => pool.allocations.map((each) => placeOf(pool.namespace, pool.name, each))),
  );
  return slices.flatMap((slice): Finding[] => {
    const state = stateOf(slice);
    if (assigned.has(placeOf(slice.namespace, slice.pool, slice)) || state === "fenced" || state === "sealed")
      return [];
    const objects = [`IPPool ${slice.key}`, `NodeSlicePool ${slice.namespace}/${slice.pool}`];
    return found("slice-unassigned", state === "active" ? "error" : "warning", objects, {
      message: `Node ${slice.node} has ${slice.block} by IPPool ${slice.key}, and NodeSlicePool ${slice.namespace}/${slice.pool} does not assign it: it may be assigned to another.`,
      remedy:
        "Is a controller running? Its log says whether it takes the slice up again. Do not delete the IPPool while pods of the node hold addresses of it.",
    });
  });
}

function unreadableEntries({ key, faults }: SliceView): Finding[] {
  return faults.map((message) =>
    finding("unreadable", "error", [`IPPool ${key}`], {
      message,
      remedy: "Remove the key as the sentence says; the node's daemon writes what it holds.",
    }),
  );
}

function fenced(slices: readonly SliceView[]): Finding[] {
  const byNode = Map.groupBy(
    slices.filter((slice) => slice.fenced !== ""),
    ({ node }) => node,
  );
  return [...byNode].map(([node, all]) => {
    const objects = all.map(({ key }) => `IPPool ${key}`);
    return finding("slice-fenced", "warning", objects, {
      message: `Of node ${node}, ${counted(all.length, "slice")} fenced and still there: ${named(all.map(({ block, fenced: by }) => `${block} by ${by}`))}.`,
      remedy:
        "The controller removes them within seconds: is one running? Do not switch the node on before they are gone.",
    });
  });
}

/** One finding for one reason: where a range is exhausted, many nodes wait for the same. */
function waiting({ leases }: SlicesSnapshot): Finding[] {
  const all = [...leases.values()].flatMap(({ node, slices }) =>
    Object.entries(slices.waiting).map(([key, why]) => ({ node, key, why })),
  );
  return [...Map.groupBy(all, ({ key, why }) => `${key}\0${why}`).values()].map((same): Finding => {
    const { key, why } = same[0]!;
    const [namespace = "", network = "", range = ""] = key.split(" ");
    const who = same.length === 1 ? `Node ${same[0]!.node} has` : `${same.length} nodes have`;
    const which = same.length === 1 ? "" : ` They are ${named(same.map(({ node }) => node))}.`;
    const objects = same.slice(0, 10).map(({ node }) => `Node ${node}`);
    return finding("slice-waiting", "warning", objects, {
      message: `${who} no slice of ${range} (${network === "" ? "no network name" : `network ${network}`}, ${namespace}): ${why}${which}`,
      remedy:
        "Enlarge the range, make node_slice_size smaller, or free what is not used: holdfast slices shows who has it.",
    });
  });
}

function silent({ leases, slices, nowMs }: SlicesSnapshot): Finding[] {
  const byNode = Map.groupBy(
    slices.filter((slice) => slice.fenced === ""),
    ({ node }) => node,
  );
  return [...byNode].flatMap(([node, all]): Finding[] => {
    const lease = leases.get(node);
    const ageMs = leaseAgeMs(lease, nowMs);
    if (ageMs !== undefined && ageMs < freshMs) return [];
    const heard =
      ageMs === undefined
        ? "has never renewed its Lease"
        : `last renewed its Lease ${Math.floor(ageMs / 60_000)} minutes ago`;
    const isOver = ageMs !== undefined && ageMs > lease!.authorityMs;
    const rest = isOver ? "; it hands nothing out any more" : "";
    return found("node-silent", "warning", [`Node ${node}`], {
      message: `The daemon of node ${node} ${heard}${rest}; it has ${counted(all.length, "slice")}, and what the mirror shows may be old.`,
      remedy: `Look at its daemon (holdfast node). If the machine is switched off for good: holdfast slices release ${node}.`,
    });
  });
}

/** What the node's word says and the object does not show. */
function behind({ leases, nowMs }: SlicesSnapshot, slice: SliceView): Finding[] {
  const { node, key, grant, word, entries } = slice;
  const lease = leases.get(node);
  const ageMs = leaseAgeMs(lease, nowMs);
  const isFresh = ageMs !== undefined && ageMs < freshMs;
  if (slice.fenced !== "" || grant === undefined || !isFresh) return [];
  const reasons = [
    ...(word === undefined ? ["its daemon has not taken it up"] : []),
    ...(word !== undefined && word.used !== entries.length
      ? [`its daemon holds ${counted(word.used, "address")}, and shown are ${entries.length}`]
      : []),
    ...(word !== undefined && lease!.journal !== "" && word.journal !== lease!.journal
      ? [`it was written by journal ${word.journal}, and the node's is ${lease!.journal} now`]
      : []),
    ...(word !== undefined && (word.generation !== grant.generation || word.serial < grant.serial)
      ? [
          `its daemon works by grant ${word.generation}.${word.serial}, and ${grant.generation}.${grant.serial} is written`,
        ]
      : []),
  ];
  if (reasons.length === 0) return [];
  return found("mirror-behind", "warning", [`IPPool ${key}`], {
    message: `IPPool ${key} of node ${node} is behind: ${reasons.join("; ")}.`,
    remedy: `The daemon writes it within seconds. If it stays, see its log and its metrics on node ${node}.`,
  });
}
