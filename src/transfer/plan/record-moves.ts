// Which records of addresses follow which network: by domain and address, also where no pool has an entry, since a
// record without an entry counts as held.
import { networkAnnotation } from "../../api/holds/hold-marks.ts";
import { readAllocations } from "../../api/pools/allocations.ts";
import type { IPPool } from "../../api/pools/ip-pool.ts";
import { readPoolName } from "../../api/pools/pool-name.ts";
import { parseRange } from "../../api/pools/range.ts";
import { keyOf } from "../../kube/meta.ts";
import { contains, type Prefix } from "../../net/prefix.ts";
import { type AddressObject, type AddressRecord, movedRecord } from "../record/record-object.ts";
import { describeDomainKey, type DomainKey, networkDomain, type Placement } from "./goal.ts";
import type { Advice } from "./pool-moves.ts";
import { objectId } from "./survey.ts";

/** A part of a domain's addresses, and where they go. */
export interface Current {
  /** For people: a definition, or a pool that nobody's definition matches. */
  readonly label: string;
  readonly from: DomainKey;
  readonly prefix: Prefix;
  readonly to: Pick<Placement, "namespace" | "network">;
  /** The pool of it, where there is one: its entries decide where ranges overlap. */
  readonly pools: readonly IPPool[];
}

export interface RecordMove {
  readonly before: AddressObject;
  /** Undefined: the destination has it already, and only the old one goes. */
  readonly after?: AddressObject;
}

/** That an address is held, and in which domain: now, and afterwards. */
export interface Claim {
  readonly from: DomainKey;
  readonly to: DomainKey;
  readonly address: string;
  /** namespace/name */
  readonly podref: string;
  /** For people: the object that says it. */
  readonly source: string;
}

type Planned = { readonly record: AddressRecord; readonly after: AddressObject };

/** Key: namespace/name of a pool now. Value: afterwards. */
type Renamed = ReadonlyMap<string, string>;

export function recordMoves(records: readonly AddressRecord[], currents: readonly Current[], renamed: Renamed) {
  const conflicts: Advice[] = [];
  const byDomain = Map.groupBy(currents, ({ from }) => from);
  const planned: Planned[] = [];
  const claims: Claim[] = [];
  for (const record of records) {
    const after = afterOf(record, byDomain, renamed, conflicts);
    if (after !== undefined) planned.push({ record, after });
    if (record.network !== undefined && !record.isCooling) claims.push(claimOf(record, after));
  }
  return { moves: settle(records, planned, conflicts), claims, conflicts };
}

function claimOf(record: AddressRecord, after: AddressObject | undefined): Claim {
  const { namespace, network = "", address, object } = record;
  const from = networkDomain({ namespace, network });
  const podref = record.owner.split(" ")[0] ?? "";
  return { from, to: after ? domainOf(after) : from, address: `${address}`, podref, source: objectId(object) };
}

/** Of an object that carries its network: a pool of ours, or a reservation. */
export function domainOf({ metadata }: AddressObject | IPPool): DomainKey {
  const { namespace = "", annotations } = metadata;
  return networkDomain({ namespace, network: annotations?.[networkAnnotation] ?? "" });
}

function afterOf(
  record: AddressRecord,
  byDomain: ReadonlyMap<DomainKey, readonly Current[]>,
  renamed: Renamed,
  conflicts: Advice[],
): AddressObject | undefined {
  const { poolDomain, network, namespace } = record;
  if (poolDomain !== undefined) {
    const to = renamed.get(poolDomain);
    if (to === undefined) return undefined;
    return movedRecord(record, { namespace: to.split("/")[0] ?? "", network: "", poolDomain: to, renamed });
  }
  if (network === undefined) return undefined;
  const ofDomain = byDomain.get(networkDomain({ namespace, network })) ?? [];
  const here = ofDomain.filter(({ prefix }) => contains(prefix, record.address));
  const to = only(here) ?? only(here.filter((each) => isOf(record, each)));
  if (to !== undefined) {
    const stays = to.namespace === namespace && to.network === network;
    return stays ? undefined : movedRecord(record, { ...to, renamed });
  }
  if (here.length > 0) {
    conflicts.push({
      message: `${objectId(record.object)} (${record.owner}) may belong to ${here.map(({ label }) => label).join(" or to ")}, which go to different domains.`,
      fix: `Say of which pool it is: kubectl -n ${namespace} annotate ${record.object.kind.toLowerCase()} ${record.object.metadata.name} holdfast.io/pool=NAMESPACE/POOL`,
    });
  }
  return undefined;
}

/** The one place that all of them go to. */
function only(currents: readonly Current[]): Current["to"] | undefined {
  const keys = new Set(currents.map(({ to }) => networkDomain(to)));
  return keys.size === 1 ? currents[0]!.to : undefined;
}

function isOf({ pool, address }: AddressRecord, { pools }: Current): boolean {
  if (pool !== undefined) return pools.some((each) => keyOf(each) === pool);
  return pools.some((each) => readAllocations(each).entries.some((entry) => `${entry.address}` === `${address}`));
}

/** Two records that come to one name: of one owner they become one; a resting one gives way; else somebody decides. */
function settle(records: readonly AddressRecord[], planned: readonly Planned[], conflicts: Advice[]): RecordMove[] {
  const leaving = new Set(planned.map(({ record }) => objectId(record.object)));
  const taken = new Map<string, AddressRecord>();
  for (const record of records) if (!leaving.has(objectId(record.object))) taken.set(objectId(record.object), record);
  const heldFirst = planned.toSorted((a, b) => Number(a.record.isCooling) - Number(b.record.isCooling));
  return heldFirst.map(({ record, after }) => {
    const there = taken.get(objectId(after));
    if (there === undefined) {
      taken.set(objectId(after), record);
      return { before: record.object, after };
    }
    if (!record.isCooling && there.owner !== record.owner) conflicts.push(twice(record, there, after));
    return { before: record.object };
  });
}

function twice(one: AddressRecord, other: AddressRecord, after: AddressObject): Advice {
  const names = [one, other].map(({ object, owner }) => `${objectId(object)} (${owner || "nobody"})`);
  return {
    message: `${one.address} would be held twice as ${objectId(after)}: by ${names.join(" and by ")}.`,
    fix: other.isCooling
      ? "The second one rests only: try again when it has cooled down."
      : "Keep the two networks in different domains (--name namespace/definition=NAME), or restart one of the two pods on another address first.",
  };
}

/** Ranges of one domain that overlap are protected from each other today; in two domains they would not be. */
export function splits(currents: readonly Current[]): Advice[] {
  const found = new Map<string, Advice>();
  for (const group of Map.groupBy(currents, ({ from }) => from).values()) {
    if (only(group) !== undefined) continue;
    const sorted = group.toSorted((a, b) => a.prefix.length - b.prefix.length);
    for (const [n, wide] of sorted.entries()) {
      for (const narrow of sorted.slice(n + 1)) {
        const isApart = networkDomain(wide.to) !== networkDomain(narrow.to);
        if (!isApart || !contains(wide.prefix, narrow.prefix.network)) continue;
        found.set(`${wide.label} ${narrow.label}`, {
          message: `${wide.prefix} of ${wide.label} and ${narrow.prefix} of ${narrow.label} overlap in ${describeDomainKey(wide.from)} and would no longer be kept apart.`,
          fix: "Give both one name (--name namespace/definition=NAME), move both, or say that they are different wires: --allow-split.",
        });
      }
    }
  }
  return [...found.values()];
}

/** The network names that a pool's name may have in it, where no definition tells. */
export function possibleNetworks(pool: IPPool): Set<string> {
  const noted = pool.metadata.annotations?.[networkAnnotation];
  if (noted !== undefined) return new Set([noted]);
  const { prefix } = parseRange(pool.spec.range);
  const readings = readPoolName(pool.metadata.name ?? "").filter(({ range }) => `${range.prefix}` === `${prefix}`);
  return new Set(readings.length === 0 ? [""] : readings.map(({ before }) => before));
}
