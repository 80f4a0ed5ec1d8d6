// One interface of a namespace, by ioctl on a socket of that namespace (netdevice(7)).
import { type Mac, macFromBytes } from "../../net/mac.ts";
import { KernelError, lastErrno, libc, refused } from "./libc.ts";

export interface Link {
  readonly name: string;
  readonly index: number;
  readonly mac: Mac;
  readonly isUp: boolean;
}

/** struct ifreq: a name of 16 bytes with its end, then a union. */
const ifreqBytes = 40;
const nameBytes = 16;

const SIOCGIFFLAGS = 0x8913;
const SIOCSIFFLAGS = 0x8914;
const SIOCGIFHWADDR = 0x8927;
const SIOCGIFINDEX = 0x8933;
const IFF_UP = 1;
const ARPHRD_ETHER = 1;

export function isInterfaceName(name: string): boolean {
  return /^[^\s/\0]+$/.test(name) && name !== "." && name !== ".." && Buffer.byteLength(name) < nameBytes;
}

export function linkOf(socket: number, name: string): Link {
  const index = ask(socket, name, SIOCGIFINDEX).readInt32LE(nameBytes);
  const hardware = ask(socket, name, SIOCGIFHWADDR);
  if (hardware.readUInt16LE(nameBytes) !== ARPHRD_ETHER) {
    const why = `the interface ${name} is not Ethernet (type ${hardware.readUInt16LE(nameBytes)}), so no duplicate can be probed for on it`;
    throw new KernelError("not-ethernet", `${why}: turn the probe off for this network.`);
  }
  const mac = macFromBytes(hardware.subarray(nameBytes + 2, nameBytes + 8));
  return { name, index, mac, isUp: (flagsOf(socket, name) & IFF_UP) !== 0 };
}

/** Up and left up: the plugin that asked for the address does the same a moment later. */
export function bringUp(socket: number, name: string): void {
  if (!setFlags(socket, name, flagsOf(socket, name) | IFF_UP))
    throw refused(`cannot bring the interface ${name} up`, "The daemon needs CAP_NET_ADMIN for probes.");
}

/** Undefined where there is no such interface. */
export function isLinkUp(socket: number, name: string): boolean | undefined {
  try {
    return (flagsOf(socket, name) & IFF_UP) !== 0;
  } catch (error) {
    if (error instanceof KernelError && error.code === "no-interface") return undefined;
    throw error;
  }
}

export function takeDown(socket: number, name: string): void {
  if (!setFlags(socket, name, flagsOf(socket, name) & ~IFF_UP & 0xffff))
    throw refused(`cannot take the interface ${name} down`, "The daemon needs CAP_NET_ADMIN to fence an old guest.");
}

function setFlags(socket: number, name: string, flags: number): boolean {
  const request = requestFor(name);
  request.writeUInt16LE(flags, nameBytes);
  return libc.ioctl(socket, SIOCSIFFLAGS, request) >= 0;
}

function flagsOf(socket: number, name: string): number {
  return ask(socket, name, SIOCGIFFLAGS).readUInt16LE(nameBytes);
}

function ask(socket: number, name: string, what: number): Buffer {
  const request = requestFor(name);
  if (libc.ioctl(socket, what, request) >= 0) return request;
  const errno = lastErrno();
  const gone = `the network namespace has no interface ${name}: it went away, or is not made yet.`;
  if (errno === "ENODEV") throw new KernelError("no-interface", gone);
  throw new KernelError("system-call", `cannot ask about the interface ${name}: ${errno}.`);
}

function requestFor(name: string): Buffer {
  const request = Buffer.alloc(ifreqBytes);
  request.write(name, 0, nameBytes - 1);
  return request;
}
