// A packet socket (packet(7)): whole Ethernet frames of one interface, as the filter lets them through, each with what
// the kernel knows of it beside (its VLAN tag, whether its checksum is there). Never waits.
import type { Device } from "../../linux/device.ts";
import { libc, refused } from "../../linux/libc.ts";
import {
  attachFilter,
  ETH_P_ALL,
  filterProgram,
  ignoreOwn,
  joinGroup,
  listenOn,
  packetSocket,
  SOL_PACKET,
} from "../../linux/packet.ts";
import { dhcpFilter } from "./filter.ts";

const SOL_SOCKET = 1;
const SO_RCVBUF = 8;
const SO_RCVBUFFORCE = 33;
const PACKET_STATISTICS = 6;
const PACKET_AUXDATA = 8;

/** A frame of 350 bytes counts as 1,280: room for 3,276 that wait, which is a host that boots 1,600 VMs at once. */
const receiveBufferBytes = 4 * 1024 * 1024;

/**
 * All DHCPv6 servers and relays (ff02::1:2), all routers (ff02::2), and all nodes (ff02::1), to whom routers advertise,
 * as Ethernet has them (RFC 2464 section 7).
 */
const ipv6Groups = [
  [0x33, 0x33, 0, 0, 0, 1],
  [0x33, 0x33, 0, 1, 0, 2],
  [0x33, 0x33, 0, 0, 0, 2],
] as const;

/** `groups`: with IPv6, and these groups beside; undefined: IPv4 alone. */
export function openPacketSocket(name: string, device: Device, groups: readonly Uint8Array[] | undefined): number {
  const fd = packetSocket("The agent needs CAP_NET_RAW.");
  try {
    attachFilter(fd, programAddress(groups !== undefined));
    option(fd, PACKET_AUXDATA, 1);
    ignoreOwn(fd);
    growReceiveBuffer(fd);
    if (groups !== undefined) {
      for (const group of [...ipv6Groups, solicitedNodeMac(device.mac), ...groups])
        joinGroup(fd, name, device.index, group);
    }
    listenOn(fd, name, device.index, ETH_P_ALL);
    return fd;
  } catch (error) {
    libc.close(fd);
    throw error;
  }
}

/** Frames lost since the last call because the buffer was full. */
export function droppedFrames(fd: number): number {
  const statistics = Buffer.alloc(8); // struct tpacket_stats: received, dropped
  const length = Buffer.alloc(4);
  length.writeUInt32LE(statistics.length);
  return libc.getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, statistics, length) < 0 ? 0 : statistics.readUInt32LE(4);
}

/** Without CAP_NET_ADMIN the machine's limit holds (net.core.rmem_max, 208 KiB): some 160 frames. */
export function growReceiveBuffer(fd: number): void {
  const size = Buffer.alloc(4);
  size.writeInt32LE(receiveBufferBytes);
  if (libc.setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, size, size.length) >= 0) return;
  libc.setsockopt(fd, SOL_SOCKET, SO_RCVBUF, size, size.length);
}

/** Key: with IPv6 or without. Made once. */
const programs = new Map<boolean, bigint>();

function programAddress(ipv6: boolean): bigint {
  const address = programs.get(ipv6) ?? filterProgram(dhcpFilter({ ipv6 }));
  programs.set(ipv6, address);
  return address;
}

function option(fd: number, name: number, value: number): void {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  if (libc.setsockopt(fd, SOL_PACKET, name, bytes, bytes.length) < 0)
    throw refused(`set option ${name} of a packet socket`, "Linux 4.20 or newer is needed.");
}

/** Where neighbours ask for the link-local address that is made from a MAC: both end with the same three bytes. */
function solicitedNodeMac(mac: Uint8Array): readonly number[] {
  return [0x33, 0x33, 0xff, ...mac.subarray(3)];
}
