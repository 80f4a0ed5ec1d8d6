// Pools against holds and against the networks that use them. Pure.
import { readAllocations } from "../../api/pools/allocations.ts";
import { parseDomain } from "../../api/pools/domain.ts";
import { isAdopted, markedDomain } from "../../api/pools/pool-domain.ts";
import { poolNamesToRead } from "../../api/pools/pool-name.ts";
import type { SlicedRange } from "../../cluster/sliced-ranges.ts";
import type { Domain } from "../../ipam/ledger.ts";
import { describeOwner } from "../../ipam/owner.ts";
import { counted } from "../../net/counted.ts";
import { overlaps } from "../../net/prefix.ts";
import { membersOf, networkOf, type PoolRange } from "../../pools/membership.ts";
import { type MirrorPlan, planMirror } from "../../pools/mirror/mirror.ts";
import { usesOfPool } from "../../pools/networks.ts";
import { describeHeld, type PoolHold } from "../../pools/pool-hold.ts";
import { type Finding, finding, found, named } from "../finding.ts";
import type { Snapshot } from "../snapshot.ts";

type Pool = Snapshot["pools"][number];

/** A daemon keeps what it knows of a pool: a delete under it, and the next pod's daemon may go by another domain. */
const removal =
  "A delete alone is unsafe: daemons give addresses by what they remember of the pool, beside those of the one that is made anew. docs/objects.md, Removing a pool, has the order.";

export function examinePools(snapshot: Snapshot): Finding[] {
  const members = membersOf(snapshot.held, snapshot.index);
  return [
    ...snapshot.pools.flatMap((each) => examinePool(snapshot, each, members.get(each.range.key) ?? [])),
    ...overlapsOf(
      snapshot.pools.filter((each) => !isIdle(snapshot, each, members)).map(({ range }) => range),
      snapshot.slices.sliced.ranges,
    ),
    ...clashesOf(snapshot),
  ];
}

function examinePool(snapshot: Snapshot, { pool, range }: Pool, held: readonly PoolHold[]): Finding[] {
  const object = `IPPool ${range.key}`;
  const plan = planMirror(pool, held);
  const { unreadable } = readAllocations(pool);
  return [
    ...unreadable.map(({ message }): Finding =>
      finding("unreadable", "error", [object], {
        message,
        remedy: "Remove the key as the sentence says; until then the pool is not adopted.",
      }),
    ),
    ...entriesWithout(object, range, plan),
    ...staleEntries(object, range, plan, isAdopted(pool)),
    ...contested(object, pool, plan, held),
    ...unusedPool(object, snapshot, range, held.length > 0 || Object.keys(pool.spec.allocations).length > 0),
    ...mixedProtection(object, snapshot, range, markedDomain(pool)),
  ];
}

function entriesWithout(object: string, range: PoolRange, { foreign }: MirrorPlan): Finding[] {
  if (foreign.length === 0) return [];
  return found("entry-without-hold", "error", [object], {
    message: `${counted(foreign.length, "entry")} of ${object} without a hold: offsets ${named(foreign)}.`,
    remedy: "The controller adopts them when whereabouts is silent; holdfast check --repair makes the holds now.",
    repair: { kind: "adopt", pool: range.key },
  });
}

/** The mirror lags by a second: what differs is told as a warning, and is the controller's to write. */
function staleEntries(object: string, range: PoolRange, { changes }: MirrorPlan, mayRemove: boolean): Finding[] {
  const missing = changes.filter(({ from }) => from === undefined);
  const stale = changes.filter(({ to }) => to === undefined);
  const remedy = "The controller writes it within seconds: is one running? holdfast check --repair writes it now.";
  const tell = (code: Finding["code"], all: MirrorPlan["changes"], words: string, mayRepair: boolean) => {
    if (all.length === 0) return [];
    const message = `${all.length} ${words}: offsets ${named(all.map(({ key }) => key))}.`;
    const repair = { kind: "entries", pool: range.key, changes: all } as const;
    return found(code, "warning", [object], { message, remedy, ...(mayRepair && { repair }) });
  };
  return [
    ...tell("hold-without-entry", missing, `holds are not shown in ${object}`, true),
    ...tell("entry-without-hold", stale, `entries of ${object} are ours and have no hold any more`, mayRemove),
  ];
}

function contested(object: string, pool: Pool["pool"], plan: MirrorPlan, held: readonly PoolHold[]): Finding[] {
  return plan.contested.map((key): Finding => {
    const entry = pool.spec.allocations[key];
    const { entries } = readAllocations({ ...pool, spec: { ...pool.spec, allocations: { [key]: entry! } } });
    const address = entries[0]?.address.toString() ?? "";
    const holder = held.find(({ hold }) => hold.address.toString() === address);
    return finding("two-owners", "error", [object, ...(holder ? [describeHeld(holder)] : [])], {
      message: `${address} has two owners: ${entry?.podref} by ${object}, ${holder ? describeOwner(holder.hold.owner) : "another"} by its hold.`,
      remedy: `See which pod uses it (network-status), delete the other pod, then remove its record (entry ${key}, or the hold).`,
    });
  });
}

/** A sliced range may have shared pools beside it: one of drained slices, and one for its floating part. */
function unusedPool(object: string, snapshot: Snapshot, range: PoolRange, isHeld: boolean): Finding[] {
  if (isUsed(snapshot, range)) return [];
  return found("pool-without-network", "info", [object], {
    message: `No NetworkAttachmentDefinition uses ${object}; a network that is configured on the nodes may.`,
    remedy: `${isHeld ? "Something of it is held: leave it" : "Nothing of it is held, and it harms nobody: leave it, or remove it by day"}. ${removal}`,
  });
}

function isUsed({ networks, slices }: Snapshot, range: PoolRange): boolean {
  if (usesOfPool([...networks.uses, ...networks.sliced], range).length > 0) return true;
  const { namespace, name } = range;
  return slices.sliced.ranges.some((each) => each.namespace === namespace && floatingNames(each).includes(name));
}

/** An empty pool of a range that no definition has any more: whatever it overlaps, nothing is handed out of it. */
function isIdle(snapshot: Snapshot, { pool, range }: Pool, members: ReadonlyMap<string, readonly PoolHold[]>): boolean {
  const isHeld = (members.get(range.key) ?? []).length > 0 || Object.keys(pool.spec.allocations).length > 0;
  return !isHeld && !isUsed(snapshot, range);
}

/** Of the pool of the part that belongs to no node; none where there is no such part. */
function floatingNames({ floating, network }: SlicedRange): string[] {
  return floating === undefined ? [] : poolNamesToRead({ range: floating, network, node: "" });
}

/** enable_overlapping_ranges on and off for one pool: its mark decides for all, and some do not get what they say. */
function mixedProtection(object: string, { networks }: Snapshot, range: PoolRange, marked?: Domain): Finding[] {
  const own = usesOfPool(networks.uses, range);
  const isWhole = marked === undefined || parseDomain(marked).scope === "network";
  const others = own.filter(({ config }) => config.overlappingRanges !== isWhole);
  const isMixed = new Set(own.map(({ config }) => config.overlappingRanges)).size > 1;
  if (others.length === 0 || (marked === undefined && !isMixed)) return [];
  const definitions = [...new Set(others.map(({ definition }) => definition))];
  const message = isWhole
    ? `${object} is handed out with enable_overlapping_ranges: true, also for ${definitions.join(", ")}, which say false: an address is given once in the whole network.`
    : `${object} is handed out with enable_overlapping_ranges: false, and ${definitions.join(", ")} say true: their pods are refused, since one address could be given twice.`;
  const objects = [object, ...definitions.map((definition) => `NetworkAttachmentDefinition ${definition}`)];
  const remedy = isWhole
    ? "Set it alike in all of them, or give one of them a network_name of its own. Where nobody says true, their namespaces do not administer the pool: set pool_namespace: nad, or name them with --trusted-namespaces of the daemons and the controller before the pool is used first."
    : `Set it to false in all of them, or give those that say true a network_name of their own: either is safe at any hour, and the next pods go by it. ${removal}`;
  return found("mixed-protection", isWhole ? "warning" : "error", objects, { message, remedy });
}

/** The pool of a sliced range says who arbitrates what is shared of it; the one of its floating part lies in it. */
function isFloatingIn(part: PoolRange, whole: PoolRange, sliced: readonly SlicedRange[]): boolean {
  return sliced.some((each) => {
    const { namespace, network, range } = each;
    const isWhole = poolNamesToRead({ range, network, node: "" }).includes(whole.name);
    return namespace === part.namespace && isWhole && floatingNames(each).includes(part.name);
  });
}

function overlapsOf(ranges: readonly PoolRange[], sliced: readonly SlicedRange[]): Finding[] {
  const domains = Map.groupBy(ranges, (range) => `${range.namespace} ${networkOf(range)}`);
  return [...domains.values()].flatMap((pools) =>
    pools.flatMap((a, index) =>
      pools.slice(index + 1).flatMap((b): Finding[] => {
        if (a.range.prefix.family !== b.range.prefix.family || !overlaps(a.range.prefix, b.range.prefix)) return [];
        if (isFloatingIn(a, b, sliced) || isFloatingIn(b, a, sliced)) return [];
        return found("overlapping-ranges", "warning", [`IPPool ${a.key}`, `IPPool ${b.key}`], {
          message: `${a.range.prefix} and ${b.range.prefix} overlap in one network.`,
          remedy: "Safe while enable_overlapping_ranges is on; otherwise give one of them a network_name of its own.",
        });
      }),
    ),
  );
}

/** Two pools of one network that give one address to two pods, by their entries. */
function clashesOf({ pools }: Snapshot): Finding[] {
  /** namespace, network and address -> the first entry that names it */
  const seen = new Map<string, { readonly object: string; readonly podref: string }>();
  return pools.flatMap(({ pool, range }) =>
    readAllocations(pool).entries.flatMap(({ address, owner }): Finding[] => {
      const place = `${range.namespace} ${networkOf(range)} ${address}`;
      const here = { object: `IPPool ${range.key}`, podref: `${owner.namespace}/${owner.name}` };
      const before = seen.get(place);
      if (before === undefined) seen.set(place, here);
      if (before === undefined || before.podref === here.podref) return [];
      return found("two-owners", "error", [before.object, here.object], {
        message: `${address} has two owners: ${before.podref} by ${before.object}, ${here.podref} by ${here.object}.`,
        remedy: "Delete one of the two pods, unless enable_overlapping_ranges is off on purpose.",
      });
    }),
  );
}
