// Who has to be told which MAC when a VM has moved, so that no neighbour sends to where it was. Pure: the frames are
// made in frames.ts, and sent by the node's daemon.
//
// Neighbours are the pods and VMs whose addresses are of one subnet with the VM's: they know each other by MAC. Where
// two of them are on one node's switch, the MAC is the other's own; where they are not, it is the proxy's, which the
// router port of every switch answers with. From that follows all that is said after a move, the return home too:
//   on the VM's node    to the VM: each neighbour's address, with the MAC that is right from here
//                       to all: the VM's own addresses with its own MAC, where a neighbour is on that switch
//   on other nodes      to all: the VM's addresses are behind the proxy; on its home node always, elsewhere where a
//                       neighbour is
import type { Address } from "../../net/address.ts";
import type { Mac } from "../../net/mac.ts";
import { parseMac } from "../../net/mac.ts";
import { contains } from "../../net/prefix.ts";
import type { VmPlacement } from "../../ovn/vm/placement.ts";

/** 0a:58 and the octets of 169.254.1.1: on every node the MAC of what is not on the node's own switch. */
export const proxyMac: Mac = parseMac("0a:58:a9:fe:01:01");

/**
 * When all of it is said, from the moment that the rows are written. Rows are not flows yet: a frame to the VM is
 * thrown away by its new node until ovn-controller has followed, in 20 ms or in a second on a busy node, and nobody
 * tells when. What is said late for a VM that has moved on meanwhile is wrong: whoever says it stops then.
 */
export const announceAtMs = [0, 30, 100, 250, 600, 1500, 4000] as const;

/** A pod or a VM that is running, with its own MAC. */
export interface Neighbour {
  readonly mac: Mac;
  readonly addresses: readonly Address[];
  /** On whose switch it is. */
  readonly node: string;
}

/** "This address is at this MAC", said on one node's switch. */
export interface Announcement {
  readonly node: string;
  readonly address: Address;
  readonly mac: Mac;
  /** The one that is told, at its MAC and, for IPv6, at its address of that family; undefined: everybody. */
  readonly to: { readonly mac: Mac; readonly address: Address } | undefined;
}

export interface Move {
  /** Undefined: the VM was active nowhere, or that is not known. */
  readonly from: string | undefined;
  readonly to: VmPlacement;
}

/**
 * Nothing where the VM has not moved: it goes on where it is, or starts at home. One that starts elsewhere, with the
 * address of its claim, is known at home by the MAC that it had there before. `neighbours`: of any subnet.
 */
export function announcementsOf({ from, to }: Move, neighbours: Iterable<Neighbour>): readonly Announcement[] {
  const { activeNode, homeNode } = to;
  if (activeNode === undefined || activeNode === (from ?? homeNode)) return [];
  return placeAnnouncements(to, neighbours);
}

/** All that is right where the VM is now. */
function placeAnnouncements(vm: VmPlacement, neighbours: Iterable<Neighbour>): readonly Announcement[] {
  const { activeNode, homeNode } = vm;
  if (activeNode === undefined) return [];
  const others = [...neighbours].filter(({ mac }) => mac !== vm.mac);
  return vm.addresses.flatMap(({ address, subnet }) => {
    const near = others.flatMap(({ mac, node, addresses }) =>
      addresses.filter((each) => contains(subnet, each)).map((each) => ({ mac, node, address: each })),
    );
    const nodes = new Set([...(homeNode === undefined ? [] : [homeNode]), ...near.map(({ node }) => node)]);
    const toAll = [...nodes].toSorted().map((node): Announcement => {
      const mac = node === activeNode ? vm.mac : proxyMac;
      return { node, address, mac, to: undefined };
    });
    const toVm = near.map((each): Announcement => {
      const mac = each.node === activeNode ? each.mac : proxyMac;
      return { node: activeNode, address: each.address, mac, to: { mac: vm.mac, address } };
    });
    return [...toAll, ...toVm];
  });
}
