// Neighbour advertisements (RFC 4861 sections 4.4 and 7.2.4) for the server's addresses, which are in no kernel: who
// asks for one is told the MAC of the agent that answers for it.
import { type IcmpPacket, neighborAdvertisement } from "../../../frame/icmp.ts";
import { multicast, multicastMac, solicitedNodeOf } from "../../../frame/multicast.ts";
import { isSame, isUnspecified } from "../bytes.ts";
import type { PoolV6 } from "../server/pool.ts";
import type { Solicitation } from "./solicitation.ts";

/** The addresses that the server answers for. The router's is not among them. */
function serverAddressesOf({ serverAddress, linkLocal }: PoolV6): readonly Uint8Array[] {
  return isSame(serverAddress, linkLocal) ? [serverAddress] : [serverAddress, linkLocal];
}

/**
 * What an interface of the pool has to take in besides its own MAC: the groups where clients ask for leases and for
 * routers, and those where neighbours ask for the server's addresses.
 */
export function groupsOf(pool: PoolV6): readonly Uint8Array[] {
  return [multicast.dhcpAgents, multicast.allRouters, ...serverAddressesOf(pool).map(solicitedNodeOf)];
}

/** The same as Ethernet has them. */
export function groupMacsOf(pool: PoolV6): readonly Uint8Array[] {
  return groupsOf(pool).map(multicastMac);
}

/** Undefined where the question is about another address. Who looks for duplicates (from ::) is told before all. */
export function answerNeighbor(
  pool: PoolV6,
  question: Extract<Solicitation, { readonly kind: "neighbor-solicitation" }>,
  mac: Uint8Array,
): IcmpPacket | undefined {
  const target = serverAddressesOf(pool).find((address) => isSame(address, question.target));
  if (target === undefined) return undefined;
  if (isUnspecified(question.source)) return toAll(target, mac);
  const message = neighborAdvertisement(target, mac, true);
  return { source: target, destination: question.source.slice(), mac: question.mac.slice(), message };
}

/** Unasked, when an agent takes over: neighbours that know another MAC learn this one (section 7.2.6). */
export function announceAddresses(pool: PoolV6, mac: Uint8Array): readonly IcmpPacket[] {
  return serverAddressesOf(pool).map((address) => toAll(address, mac));
}

function toAll(target: Uint8Array, mac: Uint8Array): IcmpPacket {
  const { allNodes } = multicast;
  const message = neighborAdvertisement(target, mac, false);
  return { source: target, destination: allNodes, mac: multicastMac(allNodes), message };
}
