// What to do with addresses that another system has given: purely, from what it says and from what is held already.
import { domainOfPool } from "../../api/pools/domain.ts";
import { poolName } from "../../api/pools/pool-name.ts";
import type { Domain } from "../../ipam/ledger.ts";
import type { Owner } from "../../ipam/owner.ts";
import { contains, type Prefix } from "../../net/prefix.ts";
import { placementOf } from "../plan/goal.ts";
import type { Network } from "../plan/network.ts";
import type { ForeignAllocation } from "./foreign.ts";

export interface Destined {
  readonly allocation: ForeignAllocation;
  readonly network: Network;
  readonly range: Prefix;
  /** Of the objects. */
  readonly namespace: string;
  readonly domain: Domain;
  /** namespace/name */
  readonly pool: string;
}

/** `held`: key is what `holdKey` makes. */
export function planTakeover(
  allocations: readonly ForeignAllocation[],
  networks: readonly Network[],
  systemNamespace: string,
  held: ReadonlyMap<string, Owner>,
) {
  const take = new Map<string, Destined>();
  /** Recorded for the same owner already. */
  const already: Destined[] = [];
  /** Sentences: nothing is written for these. */
  const refused: string[] = [];
  for (const allocation of allocations) {
    const destined = destinedTo(allocation, networks, systemNamespace);
    if (typeof destined === "string") {
      refused.push(destined);
      continue;
    }
    const key = holdKey(destined.namespace, destined.domain, `${allocation.address}`);
    const holder = held.get(key) ?? take.get(key)?.allocation.owner;
    if (holder === undefined) take.set(key, destined);
    else if (!isSame(holder, allocation.owner)) {
      const words = `${allocation.address} is ${nameOf(allocation.owner)}'s by ${allocation.source}, and ${nameOf(holder)}'s already`;
      refused.push(`${words}: two pods have one address. Restart one of them on another.`);
    } else if (held.has(key)) already.push(destined);
  }
  return { take: [...take.values()], already, refused };
}

export function holdKey(namespace: string, domain: Domain, address: string): string {
  return `${namespace} ${domain} ${address}`;
}

function destinedTo(allocation: ForeignAllocation, networks: readonly Network[], system: string): Destined | string {
  const { address, source } = allocation;
  const found = new Map<string, Destined>();
  for (const network of networks) {
    const range = network.ranges.find(({ prefix }) => contains(prefix, address))?.prefix;
    if (range === undefined) continue;
    const { namespace, network: networkName, naming } = placementOf(network, system);
    const name = poolName({ range, network: networkName, node: "" }, naming);
    const { protectsOverlaps } = network;
    const domain = domainOfPool({ network: networkName, protectsOverlaps, pool: { namespace, name } });
    const pool = `${namespace}/${name}`;
    found.set(`${namespace} ${domain}`, { allocation, network, range, namespace, domain, pool });
  }
  const [only, another] = found.values();
  if (only === undefined)
    return `${address} (${source}) is in no range of the definitions asked: widen a range, or name the definition with --definition.`;
  if (another === undefined) return only;
  return `${address} (${source}) is in ranges of ${only.network.key} and of ${another.network.key}, which are different domains: choose with --definition.`;
}

/** By UID where both have one. */
function isSame(a: Owner, b: Owner): boolean {
  if (a.uid !== "" && b.uid !== "") return a.uid === b.uid;
  return a.namespace === b.namespace && a.name === b.name;
}

const nameOf = ({ namespace, name }: Owner) => `${namespace}/${name}`;
