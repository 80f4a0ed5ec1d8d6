// Which pool belongs to which network: by the rules that make a pool's name out of a range, in every scheme there was.
import { ObjectError } from "../../api/error.ts";
import type { IPPool } from "../../api/pools/ip-pool.ts";
import { assertPoolIs } from "../../api/pools/pool-identity.ts";
import { type PoolIdentity, poolNamesToRead, readPoolName } from "../../api/pools/pool-name.ts";
import { parseRange } from "../../api/pools/range.ts";
import { nodeSlicePoolNamesToRead } from "../../api/slices/slice-name.ts";
import { keyOf } from "../../kube/meta.ts";
import { attempt } from "../../net/coded-error.ts";
import { NetError } from "../../net/error.ts";
import { containsPrefix, parsePrefix, type Prefix } from "../../net/prefix.ts";
import { type Goal, placementOf } from "./goal.ts";
import type { Network, NetworkRange } from "./network.ts";
import { type Survey } from "./survey.ts";

export interface Match {
  readonly network: Network;
  /** The range, and the node where the pool is a node's slice. */
  readonly identity: PoolIdentity;
}

/** Key: namespace/name of the pool. Several matches: networks that share it. Pools without a match are not in it. */
export type Matches = ReadonlyMap<string, readonly Match[]>;

/** `byHand`: pool -> definition, where somebody said so. */
export function matchPools(survey: Survey, networks: readonly Network[], byHand: Goal["pools"] = new Map()): Matches {
  const byKey = new Map(survey.pools.map((pool) => [keyOf(pool), pool]));
  const found = new Map<string, Match[]>();
  const add = (key: string, match: Match) => found.set(key, [...(found.get(key) ?? []), match]);
  for (const network of networks) {
    const { namespace, naming } = placementOf(network, survey.systemNamespace);
    for (const [identity, range] of identitiesOf(network, survey)) {
      const written = identity.node === "" ? range.written : undefined;
      // A network_name that no name can carry has no pools.
      for (const name of attempt(ObjectError, () => poolNamesToRead(identity, naming, written)) ?? []) {
        const pool = byKey.get(`${namespace}/${name}`);
        if (pool !== undefined && isPool(pool, identity)) add(keyOf(pool), { network, identity });
      }
    }
  }
  for (const [key, definition] of byHand) {
    const pool = byKey.get(key);
    const network = networks.find((each) => each.key === definition);
    if (pool === undefined || network === undefined) continue;
    const identity = { range: parseRange(pool.spec.range).prefix, network: network.networkName, node: "" };
    found.set(key, [{ network, identity }]);
  }
  return found;
}

function identitiesOf(network: Network, survey: Survey): [PoolIdentity, NetworkRange][] {
  return network.ranges.flatMap((range): [PoolIdentity, NetworkRange][] => {
    const whole: PoolIdentity = { range: range.prefix, network: network.networkName, node: "" };
    return [whole, ...slicesOf(network, range.prefix, survey)].map((each) => [each, range]);
  });
}

function isPool(pool: IPPool, identity: PoolIdentity): boolean {
  const assert = () => {
    assertPoolIs(pool, identity);
    return true;
  };
  return attempt(ObjectError, assert, () => false);
}

/** Slices that the NodeSlicePool names, and those of nodes that are gone: names of their pools still say the node. */
function slicesOf(network: Network, range: Prefix, survey: Survey): PoolIdentity[] {
  const { sliceLength, networkName, configurationName } = network;
  if (sliceLength === undefined) return [];
  const found = new Map<string, PoolIdentity>();
  const add = (slice: Prefix, node: string) => {
    if (node !== "") found.set(`${node} ${slice}`, { range: slice, network: networkName, node });
  };
  const names = nodeSlicePoolNamesToRead({ network: networkName, configuration: configurationName, range });
  for (const slices of survey.slices.filter(({ metadata }) => names.includes(metadata.name ?? ""))) {
    for (const { nodeName, sliceRange } of slices.status?.allocations ?? []) {
      const slice = attempt(NetError, () => parsePrefix(sliceRange));
      if (slice !== undefined) add(slice, nodeName);
    }
  }
  for (const pool of survey.pools) {
    const { prefix } = parseRange(pool.spec.range);
    if (prefix.length !== sliceLength || !containsPrefix(range, prefix)) continue;
    const { name = "" } = pool.metadata;
    const readings = (["whereabouts", "slices"] as const).flatMap((naming) => readPoolName(name, naming));
    for (const { before, after } of readings) {
      if (after !== "") add(prefix, after);
      else if (networkName === "") add(prefix, before);
      else add(prefix, afterNetwork(before, networkName));
    }
    // The design papers' name has no range in it.
    if (readings.length === 0 && networkName !== "") add(prefix, afterNetwork(name, networkName));
  }
  return [...found.values()];
}

/** Empty: it is another network's. */
function afterNetwork(text: string, network: string): string {
  return text.startsWith(`${network}-`) ? text.slice(network.length + 1) : "";
}
