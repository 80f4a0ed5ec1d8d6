// Which pool object becomes which: one for one, or several of one identity into one.
import { ObjectError } from "../../api/error.ts";
import { adoptedAnnotation, domainAnnotation } from "../../api/holds/hold-marks.ts";
import { describeObject } from "../../api/metadata.ts";
import { allocationKey } from "../../api/pools/allocation-key.ts";
import { readAllocations } from "../../api/pools/allocations.ts";
import { formatDomain, parseDomain } from "../../api/pools/domain.ts";
import type { IPPool, PoolAllocation } from "../../api/pools/ip-pool.ts";
import { markedDomain } from "../../api/pools/pool-domain.ts";
import { identityAnnotations } from "../../api/pools/pool-identity.ts";
import { type PoolIdentity, poolName } from "../../api/pools/pool-name.ts";
import { parseRange } from "../../api/pools/range.ts";
import type { Domain } from "../../ipam/ledger.ts";
import type { Placement } from "./goal.ts";
import type { Match, Matches } from "./match.ts";
import { objectKey, type Survey } from "./survey.ts";

export interface PoolMove {
  /** What is deleted at the end. */
  readonly from: readonly IPPool[];
  readonly after: IPPool;
  /** There already: it is extended instead of created. */
  readonly existing?: IPPool;
  /** namespace/name of the definitions that use it. */
  readonly definitions: readonly string[];
}

export interface Advice {
  /** What is wrong, of which object. */
  readonly message: string;
  /** What to do: a command where there is one. */
  readonly fix: string;
}

export interface PoolMoves {
  readonly moves: readonly PoolMove[];
  readonly conflicts: readonly Advice[];
  /** Key: namespace/name now. Value: namespace/name afterwards. Pools that stay are not in it. */
  readonly renamed: ReadonlyMap<string, string>;
}

interface Going {
  readonly pool: IPPool;
  readonly identity: PoolIdentity;
  readonly definitions: readonly string[];
}

export function poolMoves(survey: Survey, matches: Matches, destination: (match: Match) => Placement): PoolMoves {
  const conflicts: Advice[] = [];
  /** Key: namespace/name afterwards. */
  const going = new Map<string, Going[]>();
  const renamed = new Map<string, string>();
  for (const pool of survey.pools) {
    const key = objectKey(pool);
    const target = targetOf(pool, matches.get(key) ?? [], destination, conflicts);
    if (target === undefined || target.key === key) continue;
    renamed.set(key, target.key);
    going.set(target.key, [...(going.get(target.key) ?? []), target.going]);
  }
  const byKey = new Map(survey.pools.map((pool) => [objectKey(pool), pool]));
  const moves: PoolMove[] = [];
  for (const [key, parts] of going) {
    const existing = byKey.get(key);
    if (existing !== undefined && renamed.has(key)) {
      conflicts.push({
        message: `${describeObject("IPPool", existing.metadata)} moves away and another pool moves to its name.`,
        fix: "Migrate in two runs, one definition at a time: --definition namespace/name.",
      });
      continue;
    }
    const move = join(key, parts, existing, conflicts);
    if (move !== undefined) moves.push(move);
  }
  return { moves, conflicts, renamed };
}

interface Target {
  readonly key: string;
  readonly going: Going;
}

function targetOf(
  pool: IPPool,
  matches: readonly Match[],
  destination: (match: Match) => Placement,
  conflicts: Advice[],
): Target | undefined {
  const targets = new Map<string, Target>();
  const definitions = [...new Set(matches.map(({ network }) => network.key))];
  for (const match of matches) {
    const to = destination(match);
    const identity = { ...match.identity, network: to.network };
    try {
      const key = `${to.namespace}/${poolName(identity, to.naming)}`;
      targets.set(key, { key, going: { pool, identity, definitions } });
    } catch (error) {
      if (!(error instanceof ObjectError)) throw error;
      conflicts.push({ message: error.message, fix: `Give another name: --name ${match.network.key}=NAME.` });
      return undefined;
    }
  }
  if (targets.size < 2) return [...targets.values()][0];
  const same = definitions.map((each) => `--name ${each}=NAME`).join(" ");
  conflicts.push({
    message: `${describeObject("IPPool", pool.metadata)} is shared by ${definitions.join(", ")}, and would have to move to ${[...targets.keys()].join(" and to ")}: its addresses are unique among all of them today.`,
    fix: `Give them one name (${same}), and leave pools in the system namespace (--to named) where the definitions are in several.`,
  });
  return undefined;
}

function join(
  key: string,
  parts: readonly Going[],
  existing: IPPool | undefined,
  conflicts: Advice[],
): PoolMove | undefined {
  const [first] = parts;
  const others = [...(existing === undefined ? [] : [existing]), ...parts.map(({ pool }) => pool)];
  const base = others[0]!;
  const range = parseRange(base.spec.range);
  if (others.some((pool) => `${parseRange(pool.spec.range).prefix}` !== `${range.prefix}`)) {
    conflicts.push({
      message: `${others.map((pool) => `${describeObject("IPPool", pool.metadata)} (${pool.spec.range})`).join(" and ")} would all be named ${key}.`,
      fix: "Choose a naming that has the range in it (--naming whereabouts), or other names (--name namespace/definition=NAME).",
    });
    return undefined;
  }
  const allocations = union(others, base.spec.range, conflicts);
  if (allocations === undefined || first === undefined) return undefined;
  const [namespace = "", name = ""] = key.split("/");
  const identified = { ...base.metadata.annotations, ...identityAnnotations(first.identity) };
  const domain = movedDomain(others, first.identity.network, key);
  const annotations = { ...without(identified, domainAnnotation), ...(domain && { [domainAnnotation]: domain }) };
  const after: IPPool = {
    apiVersion: base.apiVersion,
    kind: base.kind,
    metadata: {
      name,
      namespace,
      ...(base.metadata.labels && { labels: base.metadata.labels }),
      annotations: adopted(others) ? annotations : without(annotations, adoptedAnnotation),
    },
    spec: { ...base.spec, allocations },
  };
  const definitions = [...new Set(parts.flatMap((part) => part.definitions))];
  return { from: parts.map(({ pool }) => pool), after, ...(existing && { existing }), definitions };
}

/** Where all parts say the same of overlaps, so does the whole, under its new name; else whoever adopts it says so anew. */
function movedDomain(pools: readonly IPPool[], network: string, key: string): Domain | undefined {
  const scopes = new Set(pools.map((pool) => markedDomain(pool)).map((marked) => marked && parseDomain(marked).scope));
  const [scope, another] = scopes;
  if (scope === undefined || another !== undefined) return undefined;
  return scope === "network" ? formatDomain({ scope, network }) : `${scope}:${key}`;
}

/** The whole is adopted only where each part was. */
function adopted(pools: readonly IPPool[]): boolean {
  return pools.every(({ metadata }) => metadata.annotations?.[adoptedAnnotation] !== undefined);
}

function without(record: Readonly<Record<string, string>>, key: string): Record<string, string> {
  return Object.fromEntries(Object.entries(record).filter(([each]) => each !== key));
}

/** Every entry of every pool, under the keys of the range as it is written here; undefined where that cannot be said exactly. */
function union(
  pools: readonly IPPool[],
  range: string,
  conflicts: Advice[],
): Record<string, PoolAllocation> | undefined {
  const all: Record<string, PoolAllocation> = {};
  for (const pool of pools) {
    const entries = pool.spec.range === range ? pool.spec.allocations : rekeyed(pool, range, conflicts);
    if (entries === undefined) return undefined;
    for (const [key, entry] of Object.entries(entries)) {
      const there = all[key];
      if (there !== undefined && (there.podref !== entry.podref || there.ifname !== entry.ifname)) {
        conflicts.push({
          message: `Entry ${key} of range ${range} is ${there.podref}'s in one pool and ${entry.podref}'s in ${describeObject("IPPool", pool.metadata)}: two pods have one address.`,
          fix: `Delete one of the two pods, and its entry: kubectl -n ${pool.metadata.namespace} edit ippool ${pool.metadata.name}`,
        });
        return undefined;
      }
      all[key] = entry;
    }
  }
  return all;
}

function rekeyed(pool: IPPool, range: string, conflicts: Advice[]): Record<string, PoolAllocation> | undefined {
  const { entries, unreadable } = readAllocations(pool);
  const unclear = entries.filter(({ others }) => others.length > 0).length + unreadable.length;
  const keys = Object.keys(pool.spec.allocations);
  try {
    if (unclear === 0) {
      return Object.fromEntries(
        entries.map(({ address }, n) => [allocationKey(parseRange(range), address), pool.spec.allocations[keys[n]!]!]),
      );
    }
  } catch (error) {
    if (!(error instanceof ObjectError)) throw error;
  }
  conflicts.push({
    message: `${describeObject("IPPool", pool.metadata)} counts from ${pool.spec.range}, and some of its entries cannot be counted from ${range}.`,
    fix: `Let its pods go first, or set their entries right: kubectl -n ${pool.metadata.namespace} edit ippool ${pool.metadata.name}`,
  });
  return undefined;
}
