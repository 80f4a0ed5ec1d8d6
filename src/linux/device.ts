// An Ethernet interface as the kernel knows it (netdevice(7)): asked by name, since its number changes when it is made
// anew. `queries` is a socket of the namespace that is meant.
import { AF_INET, KernelError, lastErrno, libc, refused, SOCK_CLOEXEC, SOCK_DGRAM } from "./libc.ts";

export interface Device {
  readonly index: number;
  readonly mac: Uint8Array;
  readonly isSetUp: boolean;
  /** Set up, and its carrier is there. */
  readonly isUp: boolean;
}

const SIOCGIFFLAGS = 0x8913;
const SIOCSIFFLAGS = 0x8914;
const SIOCGIFHWADDR = 0x8927;
const SIOCGIFINDEX = 0x8933;
const IFF_UP = 0x1;
const IFF_RUNNING = 0x40;
const ARPHRD_ETHER = 1;
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
  const flags = flagsOf(queries, name);
  if (index === undefined || hardware === undefined || flags === undefined) return undefined;
  const type = hardware.readUInt16LE(nameBytes);
  const words = `The interface ${name} is not Ethernet (type ${type}), so nothing on it speaks ARP: name one that is.`;
  if (type !== ARPHRD_ETHER) throw new KernelError("not-ethernet", words);
  const mac = new Uint8Array(hardware.subarray(nameBytes + 2, nameBytes + 8));
  const isUp = (flags & IFF_UP) !== 0;
  return { index, mac, isSetUp: isUp, isUp: isUp && (flags & IFF_RUNNING) !== 0 };
}

/** Of any interface; false where there is none. */
export function isSetUp(queries: number, name: string): boolean {
  return ((flagsOf(queries, name) ?? 0) & IFF_UP) !== 0;
}

/** `why`: who needs the right to do so, as a sentence. */
export function setUp(queries: number, name: string, isUp: boolean, why: string): void {
  const flags = flagsOf(queries, name) ?? 0;
  const request = requestFor(name);
  request.writeUInt16LE(isUp ? flags | IFF_UP : flags & ~IFF_UP & 0xffff, nameBytes);
  if (libc.ioctl(queries, SIOCSIFFLAGS, request) < 0)
    throw refused(`${isUp ? "bring" : "take"} the interface ${name} ${isUp ? "up" : "down"}`, why);
}

function flagsOf(queries: number, name: string): number | undefined {
  return ask(queries, name, SIOCGIFFLAGS)?.readUInt16LE(nameBytes);
}

function ask(queries: number, name: string, what: number): Buffer | undefined {
  const request = requestFor(name);
  if (libc.ioctl(queries, what, request) >= 0) return request;
  const errno = lastErrno();
  if (errno === "ENODEV" || errno === "ENXIO") return undefined;
  throw new KernelError("system-call", `cannot ask about the interface ${name}: ${errno}.`);
}

function requestFor(name: string): Buffer {
  const request = Buffer.alloc(ifreqBytes);
  request.write(name, 0, nameBytes - 1);
  return request;
}
