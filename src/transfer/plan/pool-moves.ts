// Which pool object becomes which: one for one, or several of one identity into one.
import { ObjectError } from "../../api/error.ts";
import { adoptedAnnotation, domainAnnotation } from "../../api/holds/hold-marks.ts";
import { allocationKey } from "../../api/pools/allocation-key.ts";
import { readAllocations } from "../../api/pools/allocations.ts";
import { formatDomain, parseDomain } from "../../api/pools/domain.ts";
import type { IPPool, PoolAllocation } from "../../api/pools/ip-pool.ts";
import { markedDomain } from "../../api/pools/pool-domain.ts";
import { identityAnnotations } from "../../api/pools/pool-identity.ts";
import { type PoolIdentity, poolName } from "../../api/pools/pool-name.ts";
import { parseRange } from "../../api/pools/range.ts";
import type { Domain } from "../../ipam/ledger.ts";
import { keyOf, picked } from "../../kube/meta.ts";
import { attempt } from "../../net/coded-error.ts";
import type { Placement } from "./goal.ts";
import type { Match, Matches } from "./match.ts";
import { objectId, type Survey } from "./survey.ts";

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

interface Going {
  readonly pool: IPPool;
  /** namespace/name afterwards. */
  readonly key: string;
  readonly identity: PoolIdentity;
  readonly definitions: readonly string[];
}

/** A pool that cannot move: what is wrong, and what to do. */
class Conflict extends Error {
  readonly fix: string;

  constructor(message: string, fix: string) {
    super(message);
    this.fix = fix;
  }
}

export function poolMoves(survey: Survey, matches: Matches, destination: (match: Match) => Placement) {
  const conflicts: Advice[] = [];
  const told = <T>(work: () => T) => {
    return attempt(Conflict, work, ({ message, fix }) => void conflicts.push({ message, fix }));
  };
  const targets = survey.pools.flatMap((pool) => {
    return told(() => targetOf(pool, matches.get(keyOf(pool)) ?? [], destination)) ?? [];
  });
  const going = targets.filter(({ pool, key }) => key !== keyOf(pool));
  /** Key: namespace/name now. Value: namespace/name afterwards. Pools that stay are not in it. */
  const renamed: ReadonlyMap<string, string> = new Map(going.map(({ pool, key }) => [keyOf(pool), key]));
  const byKey = new Map(survey.pools.map((pool) => [keyOf(pool), pool]));
  const moves = [...Map.groupBy(going, (each) => each.key)].flatMap(([key, parts]) => {
    const existing = byKey.get(key);
    return told(() => join(key, parts, existing, renamed.has(key))) ?? [];
  });
  return { moves, conflicts, renamed };
}

function targetOf(pool: IPPool, matches: readonly Match[], destination: (match: Match) => Placement) {
  const targets = new Map<string, Going>();
  const definitions = [...new Set(matches.map(({ network }) => network.key))];
  for (const match of matches) {
    const to = destination(match);
    const identity = { ...match.identity, network: to.network };
    const name = attempt(
      ObjectError,
      () => poolName(identity, to.naming),
      ({ message }) => {
        throw new Conflict(message, `Give another name: --name ${match.network.key}=NAME.`);
      },
    );
    const key = `${to.namespace}/${name}`;
    targets.set(key, { pool, key, identity, definitions });
  }
  if (targets.size < 2) return [...targets.values()][0];
  const same = definitions.map((each) => `--name ${each}=NAME`).join(" ");
  throw new Conflict(
    `${objectId(pool)} is shared by ${definitions.join(", ")}, and would have to move to ${[...targets.keys()].join(" and to ")}: its addresses are unique among all of them today.`,
    `Give them one name (${same}), and leave pools in the system namespace (--to named) where the definitions are in several.`,
  );
}

function join(key: string, parts: readonly Going[], existing: IPPool | undefined, isLeaving: boolean): PoolMove {
  const [first] = parts;
  if (existing !== undefined && isLeaving) {
    const message = `${objectId(existing)} moves away and another pool moves to its name.`;
    throw new Conflict(message, "Migrate in two runs, one definition at a time: --definition namespace/name.");
  }
  const others = [...(existing === undefined ? [] : [existing]), ...parts.map(({ pool }) => pool)];
  const base = others[0]!;
  const range = parseRange(base.spec.range);
  if (others.some((pool) => `${parseRange(pool.spec.range).prefix}` !== `${range.prefix}`)) {
    throw new Conflict(
      `${others.map((pool) => `${objectId(pool)} (${pool.spec.range})`).join(" and ")} would all be named ${key}.`,
      "Choose a naming that has the range in it (--naming whereabouts), or other names (--name namespace/definition=NAME).",
    );
  }
  const allocations = union(others, base.spec.range);
  const [namespace = "", name = ""] = key.split("/");
  const identified = { ...base.metadata.annotations, ...identityAnnotations(first!.identity) };
  const domain = movedDomain(others, first!.identity.network, key);
  const { [domainAnnotation]: _, [adoptedAnnotation]: adopted, ...rest } = identified;
  // The whole is adopted only where each part was.
  const isAdopted = others.every(({ metadata }) => metadata.annotations?.[adoptedAnnotation] !== undefined);
  const annotations = {
    ...rest,
    ...(domain && { [domainAnnotation]: domain }),
    ...(isAdopted && adopted !== undefined && { [adoptedAnnotation]: adopted }),
  };
  const { apiVersion, kind } = base;
  const metadata = { name, namespace, ...picked(base.metadata, "labels"), annotations };
  const after: IPPool = { apiVersion, kind, metadata, spec: { ...base.spec, allocations } };
  const definitions = [...new Set(parts.flatMap((part) => part.definitions))];
  return { from: parts.map(({ pool }) => pool), after, ...(existing && { existing }), definitions };
}

/** Where all parts say the same of overlaps, so does the whole, under its new name; else whoever adopts it says so. */
function movedDomain(pools: readonly IPPool[], network: string, key: string): Domain | undefined {
  const scopes = new Set(pools.map((pool) => markedDomain(pool)).map((marked) => marked && parseDomain(marked).scope));
  const [scope, another] = scopes;
  if (scope === undefined || another !== undefined) return undefined;
  return scope === "network" ? formatDomain({ scope, network }) : `${scope}:${key}`;
}

type Entries = Record<string, PoolAllocation>;

/** Every entry of every pool, under the keys of the range as it is written. */
function union(pools: readonly IPPool[], range: string): Entries {
  const all: Entries = {};
  for (const pool of pools) {
    const entries = pool.spec.range === range ? pool.spec.allocations : rekeyed(pool, range);
    for (const [key, entry] of Object.entries(entries)) {
      const there = all[key];
      if (there !== undefined && (there.podref !== entry.podref || there.ifname !== entry.ifname)) {
        throw new Conflict(
          `Entry ${key} of range ${range} is ${there.podref}'s in one pool and ${entry.podref}'s in ${objectId(pool)}: two pods have one address.`,
          `Delete one of the two pods, and its entry: kubectl -n ${pool.metadata.namespace} edit ippool ${pool.metadata.name}`,
        );
      }
      all[key] = entry;
    }
  }
  return all;
}

function rekeyed(pool: IPPool, range: string): Entries {
  const { entries, unreadable } = readAllocations(pool);
  const unclear = entries.filter(({ others }) => others.length > 0).length + unreadable.length;
  const values = Object.values(pool.spec.allocations);
  const cidr = parseRange(range);
  const rekey = () => Object.fromEntries(entries.map(({ address }, n) => [allocationKey(cidr, address), values[n]!]));
  const all = unclear === 0 ? attempt(ObjectError, rekey) : undefined;
  if (all !== undefined) return all;
  throw new Conflict(
    `${objectId(pool)} counts from ${pool.spec.range}, and some of its entries cannot be counted from ${range}.`,
    `Let its pods go first, or set their entries right: kubectl -n ${pool.metadata.namespace} edit ippool ${pool.metadata.name}`,
  );
}
