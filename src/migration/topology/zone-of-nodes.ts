// A zone out of Nodes: what src/ovn computes the topology from. Pure.
//
// Promised: no two nodes of it have overlapping subnets, one number or one chassis: of two that say so the older stays,
// and the other is out, with the reason.
import { type Address, plus } from "../../net/address.ts";
import { containsPrefix, overlaps, type Prefix } from "../../net/prefix.ts";
import { macOf, managementAddress } from "../../ovn/zone/addresses.ts";
import type { OvnFeatures } from "../../ovn/zone/features.ts";
import type { Zone, ZoneNode } from "../../ovn/zone/zone.ts";
import type { ClusterNetwork } from "./cluster-network.ts";
import type { NodeFacts } from "./node-facts.ts";

export interface ZoneSurroundings {
  readonly network: ClusterNetwork;
  readonly dnsServers: readonly Address[];
  readonly features: OvnFeatures;
  /** The zone's only node, where zones are interconnected. */
  readonly localNode?: string | undefined;
}

export interface ZoneOfNodes {
  readonly zone: Zone;
  /** Node -> in a sentence why it is not in it. */
  readonly left: ReadonlyMap<string, string>;
}

export function zoneOfNodes(
  nodes: readonly NodeFacts[],
  { network, dnsServers, features, localNode }: ZoneSurroundings,
): ZoneOfNodes {
  const left = new Map<string, string>();
  const taken: ZoneNode[] = [];
  for (const facts of nodes.toSorted(compareAge)) {
    const node = nodeOf(facts, network, localNode);
    const obstacle = typeof node === "string" ? node : clashOf(node, taken);
    if (obstacle !== undefined) left.set(facts.name, obstacle);
    else taken.push(node as ZoneNode);
  }
  // By name: the same nodes give the same rows, whoever came first.
  const inOrder = taken.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const { subnets, joinSubnets, transitSubnets, mtu } = network;
  const clusterSubnets = subnets.map(({ prefix }) => prefix);
  return { zone: { nodes: inOrder, clusterSubnets, joinSubnets, transitSubnets, dnsServers, mtu, features }, left };
}

export function compareAge(a: NodeFacts, b: NodeFacts): number {
  return a.createdMs - b.createdMs || (a.name < b.name ? -1 : 1);
}

/** Of the number: 1 is the cluster router's on the join switch. */
const firstNodeId = 2;

/** A sentence: why there is none. */
function nodeOf(facts: NodeFacts, network: ClusterNetwork, localNode: string | undefined): ZoneNode | string {
  const { name, id, chassis, subnets, gateway } = facts;
  if (subnets.length === 0) return `Node ${name} has no subnet of the default network yet.`;
  const stray = subnets.find((each) => !network.subnets.some(({ prefix }) => containsPrefix(prefix, each)));
  if (stray !== undefined) {
    const whole = network.subnets.map(({ prefix }) => prefix).join(" and ");
    return `Node ${name} has the subnet ${stray}, which is not of the cluster's (${whole}).`;
  }
  if (id === undefined || id < firstNodeId) return `Node ${name} has no number yet (annotation k8s.ovn.org/node-id).`;
  if (chassis === undefined)
    return `Node ${name} has not said which chassis it is (annotation k8s.ovn.org/node-chassis-id): does its daemon run with --ovn?`;
  return {
    name,
    chassis,
    id,
    isLocal: localNode === undefined || localNode === name,
    subnets,
    joinAddresses: numbered(network.joinSubnets, id),
    transitAddresses: numbered(network.transitSubnets, id),
    gateway: gateway && { ...gateway, masks: network.masks },
    managementMac: facts.managementMac ?? macOf(managementAddress(subnets[0]!)),
  };
}

function numbered(subnets: readonly Prefix[], id: number): readonly Address[] {
  return subnets.flatMap(({ network }) => plus(network, id) ?? []);
}

function clashOf(node: ZoneNode, others: readonly ZoneNode[]): string | undefined {
  const { name } = node;
  for (const other of others) {
    const shared = node.subnets.find((each) => other.subnets.some((theirs) => overlaps(each, theirs)));
    if (shared !== undefined) return `Node ${name} says that it has ${shared}, which is of node ${other.name}.`;
    if (node.id === other.id) return `Node ${name} has the number ${node.id}, which is node ${other.name}'s.`;
    if (node.chassis === other.chassis)
      return `Node ${name} says that it is chassis ${node.chassis}, which is node ${other.name}: give each Open vSwitch a system-id of its own.`;
  }
  return undefined;
}
