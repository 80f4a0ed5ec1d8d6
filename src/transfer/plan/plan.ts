// The plan of a migration: a pure function of what the cluster has and of what is wanted. It says everything that will
// happen, and whatever stands against it. Promised: no address is lost (each record and entry is in the destination, or
// stays), none is in two places, and the plan of a migrated cluster is empty. Not promised: that the network on the
// wire follows: that is the definitions' part.
import { readAllocations } from "../../api/pools/allocations.ts";
import type { IPPool } from "../../api/pools/ip-pool.ts";
import { markedDomain } from "../../api/pools/pool-domain.ts";
import { parseRange } from "../../api/pools/range.ts";
import { keyOf } from "../../kube/meta.ts";
import { counted } from "../../net/counted.ts";
import { contains } from "../../net/prefix.ts";
import { readRecord } from "../record/record-object.ts";
import { type DefinitionEdit, definitionEdit } from "./definition-edit.ts";
import { describeDomainKey, destinationOf, type Goal, networkDomain, placementOf } from "./goal.ts";
import { type Matches, matchPools } from "./match.ts";
import { type Network, readNetwork } from "./network.ts";
import { type Advice, type PoolMove, poolMoves } from "./pool-moves.ts";
import { type Claim, type Current, possibleNetworks, type RecordMove, recordMoves, splits } from "./record-moves.ts";
import { objectId, type Survey } from "./survey.ts";

export interface Plan {
  readonly pools: readonly PoolMove[];
  readonly records: readonly RecordMove[];
  readonly edits: readonly DefinitionEdit[];
  /** Pools that no definition matches, and definitions that cannot be read: they stay as they are. */
  readonly unmatched: readonly Advice[];
  /** With any of these nothing is applied. */
  readonly conflicts: readonly Advice[];
}

export function makePlan(survey: Survey, goal: Goal): Plan {
  const readings = survey.definitions.map((definition) => readNetwork(definition));
  const networks = readings.filter((reading) => typeof reading === "object");
  const matches = matchPools(survey, networks, goal.pools);
  const destination = (network: Network) => destinationOf(network, goal, survey.systemNamespace);
  const pools = poolMoves(survey, matches, ({ network }) => destination(network));
  const { records, unread } = readRecords(survey, networks);
  const currents = currentsOf(survey, networks, matches, goal);
  const moved = recordMoves(records, currents, pools.renamed);
  const edits = networks.flatMap((network) => definitionEdit(network, destination(network)) ?? []);
  const moves = pools.moves.length + moved.moves.length + edits.length > 0;
  return {
    pools: pools.moves,
    records: moved.moves,
    edits,
    unmatched: [
      ...survey.pools.flatMap((pool) => (matches.has(keyOf(pool)) ? [] : [unmatchedPool(pool, networks, goal)])),
      ...[...readings.filter((reading) => typeof reading === "string"), ...survey.unreadable].map(unreadable),
    ],
    conflicts: [
      ...wrongRequests(survey, networks, goal),
      ...pools.conflicts,
      ...moved.conflicts,
      ...(goal.allowSplit ? [] : splits(currents)),
      ...collisions(currents, moved.claims),
      ...networks.flatMap((network) => sliceConflict(network, goal, survey)),
      ...(moves ? unread : []),
    ],
  };
}

export function isEmpty(plan: Plan): boolean {
  return plan.pools.length + plan.records.length + plan.edits.length === 0;
}

/** Every object that is moved, as it was. */
export function originalsOf({ records, pools }: Pick<Plan, "records" | "pools">) {
  return [...records.map(({ before }) => before), ...pools.flatMap(({ from }) => from)];
}

function readRecords(survey: Survey, networks: readonly Network[]) {
  const names = new Set(["", ...networks.map(({ networkName }) => networkName)]);
  const read = [...survey.reservations, ...survey.holds].map((object) => readRecord(object, names));
  const fix = "Do what it says, then plan again: nobody knows which address it holds.";
  const unread = read.filter((each) => typeof each === "string").map((message): Advice => ({ message, fix }));
  return { records: read.filter((each) => typeof each !== "string"), unread };
}

/** Networks by their ranges, and pools without a network, which stay: both say whose an address may be. */
function currentsOf(survey: Survey, networks: readonly Network[], matches: Matches, goal: Goal): Current[] {
  const destination = (network: Network) => destinationOf(network, goal, survey.systemNamespace);
  const naturally = survey.pools.filter((pool) => matches.has(keyOf(pool)) && !goal.pools.has(keyOf(pool)));
  const ofNetworks = networks.flatMap((network) => {
    const from = networkDomain(placementOf(network, survey.systemNamespace));
    const rest = { label: network.key, from, to: destination(network) };
    const pools = naturally.filter((pool) =>
      matches.get(keyOf(pool))?.some((match) => match.network.key === network.key),
    );
    if (!network.protectsOverlaps && !pools.some(isOfNetwork)) return [];
    return network.ranges.map(({ prefix }) => ({ ...rest, prefix, pools }));
  });
  const ofPools = survey.pools.flatMap((pool): Current[] => {
    if (naturally.includes(pool)) return [];
    const by = matches.get(keyOf(pool))?.[0]?.network;
    if (by?.protectsOverlaps === false && !isOfNetwork(pool)) return [];
    const { namespace = "" } = pool.metadata;
    const { prefix } = parseRange(pool.spec.range);
    const label = objectId(pool);
    return [...possibleNetworks(pool)].map((network) => {
      const to = by === undefined ? { namespace, network } : destination(by);
      return { label, from: networkDomain({ namespace, network }), prefix, to, pools: [pool] };
    });
  });
  return [...ofNetworks, ...ofPools];
}

/** Handed out in the whole network's domain, whatever a definition says of overlaps: its records are reservations. */
function isOfNetwork(pool: IPPool): boolean {
  return markedDomain(pool)?.startsWith("network:") === true;
}

/** What comes into one domain from several: one address must not have two owners there. */
function collisions(currents: readonly Current[], records: readonly Claim[]): Advice[] {
  const entries = currents.flatMap(({ from, to, pools, prefix }) =>
    pools.flatMap((pool) =>
      readAllocations(pool).entries.flatMap(({ address, owner }): Claim[] => {
        if (!contains(prefix, address)) return [];
        const podref = `${owner.namespace}/${owner.name}`;
        const source = objectId(pool);
        return [{ from, to: networkDomain(to), address: `${address}`, podref, source }];
      }),
    ),
  );
  const found = new Map<string, Advice>();
  for (const [to, group] of Map.groupBy([...records, ...entries], (claim) => claim.to)) {
    if (new Set(group.map(({ from }) => from)).size < 2) continue;
    /** Key: an address. */
    const first = new Map<string, Claim>();
    for (const claim of group) {
      const there = first.get(claim.address);
      if (there === undefined) first.set(claim.address, claim);
      else if (there.from !== claim.from && there.podref !== claim.podref) {
        found.set(`${to} ${claim.address}`, {
          message: `${claim.address} would be held twice in ${describeDomainKey(to)}: by ${there.podref} (${there.source}) and by ${claim.podref} (${claim.source}).`,
          fix: "Keep the two networks in different domains (--name namespace/definition=NAME), or restart one of the two pods on another address first.",
        });
      }
    }
  }
  return [...found.values()];
}

function unmatchedPool(pool: IPPool, networks: readonly Network[], goal: Goal): Advice {
  const { namespace, name } = pool.metadata;
  const count = Object.keys(pool.spec.allocations).length;
  const { prefix } = parseRange(pool.spec.range);
  const near = networks.filter(({ ranges }) => ranges.some((range) => `${range.prefix}` === `${prefix}`));
  const message = `${objectId(pool)} (${pool.spec.range}, ${counted(count, "entry")}) matches no definition.`;
  if (near.length > 0) {
    const commands = near.map(({ key }) => `holdfast migrate plan --to ${goal.to} --pool ${namespace}/${name}=${key}`);
    return { message, fix: `If it belongs to one that has this range: ${commands.join("   or   ")}` };
  }
  // Daemons may remember its domain: a delete alone is not safe.
  const removal = "docs/objects.md, Removing a pool, has the order in which it can go.";
  if (count === 0) return { message, fix: `Nothing is in it, and it harms nobody. ${removal}` };
  const pods = [...new Set(Object.values(pool.spec.allocations).map(({ podref }) => podref))];
  const some = `${pods.slice(0, 3).join(", ")}${pods.length > 3 ? ` and ${pods.length - 3} more` : ""}`;
  return { message, fix: `It stays as it is. If ${some} are gone: ${removal}` };
}

function unreadable(message: string): Advice {
  return { message, fix: "It is left alone. Set it right and plan again, if it is to be moved." };
}

function wrongRequests(survey: Survey, networks: readonly Network[], goal: Goal): Advice[] {
  const keys = new Set(networks.map(({ key }) => key));
  const pools = new Set(survey.pools.map(keyOf));
  const nobody = (flag: string, key: string): Advice => ({
    message: `${flag} names ${key}, and there is no such ${flag === "--pool" ? "pool" : "definition with an ipam of ours"}.`,
    fix: "Write namespace/name as the plan shows it.",
  });
  return [
    ...[...goal.names.keys()].flatMap((key) => (keys.has(key) ? [] : [nobody("--name", key)])),
    ...[...goal.only].flatMap((key) => (keys.has(key) ? [] : [nobody("--definition", key)])),
    ...[...goal.pools].flatMap(([pool, key]) => [
      ...(pools.has(pool) ? [] : [nobody("--pool", pool)]),
      ...(keys.has(key) ? [] : [nobody("--pool ...=", key)]),
    ]),
  ];
}

/** A NodeSlicePool is named by network_name and stays in the system namespace: what would lose it is refused. */
function sliceConflict(network: Network, goal: Goal, survey: Survey): Advice[] {
  if (network.sliceLength === undefined) return [];
  const now = placementOf(network, survey.systemNamespace);
  const to = destinationOf(network, goal, survey.systemNamespace);
  const name = network.networkName === "" ? network.configurationName : network.networkName;
  const after = to.network === "" ? network.configurationName : to.network;
  if (now.namespace === to.namespace && name === after) return [];
  const message = `Definition ${network.key} is cut into node slices by NodeSlicePool ${name}, which would not be found as ${to.namespace}/${after}.`;
  const fix = `Give it that name and leave it in the system namespace: --to named --name ${network.key}=${name}, or leave it out with --definition.`;
  return [{ message, fix }];
}
