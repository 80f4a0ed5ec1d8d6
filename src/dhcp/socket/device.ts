// An Ethernet interface as the kernel knows it (netdevice(7)): asked by name, since its number changes when it is made
// anew.
import { AF_INET, lastErrno, libc, refused, SOCK_CLOEXEC, WireError } from "./libc.ts";

export interface Device {
  readonly index: number;
  readonly mac: Uint8Array;
  /** Set up, and its carrier is there. */
  readonly isUp: boolean;
}

const SIOCGIFFLAGS = 0x8913;
const SIOCGIFHWADDR = 0x8927;
const SIOCGIFINDEX = 0x8933;
const IFF_UP = 0x1;
const IFF_RUNNING = 0x40;
const ARPHRD_ETHER = 1;
const SOCK_DGRAM = 2;
/** struct ifreq: the name, then what is asked. */
const nameBytes = 16;
const ifreqBytes = 40;

export function isInterfaceName(name: string): boolean {
  return /^[^\s/\0]+$/.test(name) && name !== "." && name !== ".." && Buffer.byteLength(name) < nameBytes;
}

/** A socket of the namespace that the calling thread is in, to ask about its interfaces. */
export function openQueries(): number {
  const fd = libc.socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw refused("open a socket", "Raise the limit of open files.");
  return fd;
}

/** Undefined where there is no such interface. */
export function deviceOf(queries: number, name: string): Device | undefined {
  const index = ask(queries, name, SIOCGIFINDEX)?.readInt32LE(nameBytes);
  const hardware = ask(queries, name, SIOCGIFHWADDR);
  const flags = ask(queries, name, SIOCGIFFLAGS)?.readUInt16LE(nameBytes);
  if (index === undefined || hardware === undefined || flags === undefined) return undefined;
  if (hardware.readUInt16LE(nameBytes) !== ARPHRD_ETHER)
    throw new WireError("no-interface", `The interface ${name} is not Ethernet: name one that is.`);
  const mac = new Uint8Array(hardware.subarray(nameBytes + 2, nameBytes + 8));
  return { index, mac, isUp: (flags & IFF_UP) !== 0 && (flags & IFF_RUNNING) !== 0 };
}

function ask(queries: number, name: string, what: number): Buffer | undefined {
  const request = Buffer.alloc(ifreqBytes);
  request.write(name, 0, nameBytes - 1);
  if (libc.ioctl(queries, what, request) >= 0) return request;
  const errno = lastErrno();
  if (errno === "ENODEV" || errno === "ENXIO") return undefined;
  throw new WireError("system-call", `cannot ask about the interface ${name}: ${errno}.`);
}
