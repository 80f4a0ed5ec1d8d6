// Where a network's pools are, and where they are to be.
import { formatDomain } from "../../api/pools/domain.ts";
import type { PoolNaming } from "../../api/pools/pool-name.ts";
import type { Network } from "./network.ts";

export const destinations = ["named", "namespaced", "whereabouts"] as const;
/**
 * named: `network_name` set, pools in the system namespace. namespaced: besides, pools in the definition's own
 * namespace. whereabouts: names and namespace that whereabouts uses; `network_name` stays as it is.
 */
type Destination = (typeof destinations)[number];

export interface Goal {
  readonly to: Destination;
  /** How pools are named at the destination; with `whereabouts` always as whereabouts does. */
  readonly naming: PoolNaming;
  /** Key: namespace/name of a definition. Value: the network_name it gets; empty: none. */
  readonly names: ReadonlyMap<string, string>;
  /** Leave network_name as it is. */
  readonly keepNames: boolean;
  /** Key: namespace/name of a pool that no rule matches. Value: namespace/name of the definition that it belongs to. */
  readonly pools: ReadonlyMap<string, string>;
  /** Definitions to move; empty: all. */
  readonly only: ReadonlySet<string>;
  /** Pools that overlap and share a domain may go into different ones. */
  readonly allowSplit: boolean;
}

export interface Placement {
  /** Of the pools and of the records of addresses. */
  readonly namespace: string;
  /** `pool_namespace`: how the definition says it. */
  readonly poolNamespace: Network["poolNamespace"];
  /** `network_name`; empty: none. */
  readonly network: string;
  readonly naming: PoolNaming;
}

/** The ledger's domain and the namespace of its objects: with `nad` one network name is one domain in each. */
export type DomainKey = string;

export function networkDomain({ namespace, network }: Pick<Placement, "namespace" | "network">): DomainKey {
  return `${namespace} ${formatDomain({ scope: "network", network })}`;
}

/** For people. */
export function describeDomainKey(key: DomainKey): string {
  const [namespace, domain = ""] = key.split(" ");
  const name = domain.slice(domain.indexOf(":") + 1);
  return name === "" ? `the unnamed network in namespace ${namespace}` : `network ${name} in namespace ${namespace}`;
}

export function placementOf(network: Network, systemNamespace: string): Placement {
  const { poolNamespace, networkName, poolNaming: naming } = network;
  const namespace = poolNamespace === "nad" ? network.namespace : systemNamespace;
  return { namespace, poolNamespace, network: networkName, naming };
}

export function destinationOf(network: Network, goal: Goal, systemNamespace: string): Placement {
  const now = placementOf(network, systemNamespace);
  if (goal.only.size > 0 && !goal.only.has(network.key)) return now;
  const given = goal.names.get(network.key);
  const kept = goal.to === "whereabouts" || goal.keepNames || network.networkName !== "";
  const name = given ?? (kept ? network.networkName : nameFor(network.configurationName));
  return {
    namespace: goal.to === "namespaced" ? network.namespace : systemNamespace,
    poolNamespace: goal.to === "namespaced" ? "nad" : "cluster",
    network: name,
    naming: goal.to === "whereabouts" || (goal.naming === "network" && name === "") ? "whereabouts" : goal.naming,
  };
}

/** A configuration's name may have capitals and underscores; a part of an object's name may not. */
function nameFor(configurationName: string): string {
  return configurationName
    .toLowerCase()
    .replaceAll("_", "-")
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, "");
}
