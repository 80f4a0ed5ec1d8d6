// A zone: the nodes that one northbound database serves, and what it needs to know of all others. With one zone every
// node is local; interconnected zones see each other's nodes through the transit switch.
import type { Address, Family } from "../../net/address.ts";
import type { Mac } from "../../net/mac.ts";
import type { Cidr, Prefix } from "../../net/prefix.ts";
import type { OvnFeatures } from "./features.ts";

export interface Gateway {
  readonly mac: Mac;
  /** The node's own, with the length of its network. */
  readonly addresses: readonly Cidr[];
  readonly nextHops: readonly Address[];
  /** The localnet port's name, as in `breth0_node1`. */
  readonly interfaceId: string;
  /** As the chassis' bridge mappings call it. */
  readonly physicalNetwork: string;
  readonly vlan: number | undefined;
  /**
   * What leaves has the node's address (SNAT). False: the world outside has routes to the cluster's subnets (BGP), and
   * speaks with pods and VMs by their own addresses.
   */
  readonly masks: boolean;
}

export interface ZoneNode {
  readonly name: string;
  /** The chassis' name in the southbound database (Open vSwitch's system-id). */
  readonly chassis: string;
  /** From 1, unique in the cluster, below 2^15: the transit switch's tunnel keys are made from it. */
  readonly id: number;
  readonly isLocal: boolean;
  /** One per family at the most; of those that stand below too. */
  readonly subnets: readonly Prefix[];
  /** Of its gateway router on the join switch. */
  readonly joinAddresses: readonly Address[];
  /** Of the cluster router on the transit switch; none with one zone. */
  readonly transitAddresses: readonly Address[];
  readonly gateway: Gateway | undefined;
  /** The MAC of the port by which the node itself is on its switch. */
  readonly managementMac: Mac | undefined;
}

export interface Zone {
  readonly nodes: readonly ZoneNode[];
  readonly clusterSubnets: readonly Prefix[];
  readonly joinSubnets: readonly Prefix[];
  /** Empty: there is one zone. */
  readonly transitSubnets: readonly Prefix[];
  /** Of the cluster's DNS service; empty where there is none. */
  readonly dnsServers: readonly Address[];
  readonly mtu: number;
  readonly features: OvnFeatures;
}

export function isInterconnected(zone: Zone): boolean {
  return zone.transitSubnets.length > 0;
}

export function localNodes(zone: Zone): readonly ZoneNode[] {
  return zone.nodes.filter(({ isLocal }) => isLocal);
}

export function nodeOf(zone: Zone, name: string | undefined): ZoneNode | undefined {
  return name === undefined ? undefined : zone.nodes.find((node) => node.name === name);
}

/** The one of that family. */
export function ofFamily<T extends { readonly family: Family }>(list: readonly T[], family: Family): T | undefined {
  return list.find((each) => each.family === family);
}
