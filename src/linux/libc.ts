// The few calls of libc that Node does not have, through koffi, and what fails with them. Each is synchronous, runs on
// the calling thread and never waits, poll(2) aside: errno and a thread's namespace are that thread's. Numbers are
// those of Linux on x64 and arm64, which agree on all here.
import koffi from "koffi";

import { CodedError } from "../net/coded-error.ts";

export type KernelErrorCode =
  /** CAP_NET_RAW is missing, or CAP_SYS_ADMIN for another namespace. */
  | "no-right"
  /** Node gives no file descriptor for this socket: it is closed, or not what it should be. */
  | "no-descriptor"
  /** The network namespace is gone, or the path never was one. */
  | "no-netns"
  | "no-interface"
  /** Nothing on the interface speaks ARP or neighbour discovery. */
  | "not-ethernet"
  /** Nothing can be asked on a link that is down. */
  | "not-up"
  | "bad-argument"
  /** More probes wait, or are under way, than there is room for. */
  | "busy"
  | "closed"
  /** Any other refusal of the kernel; the sentence carries errno. */
  | "system-call";

/** `message` is whole sentences: which call, on what, and what to do. */
export class KernelError extends CodedError<KernelErrorCode> {}

/** As one thread tells another, which an error does not survive. */
export interface KernelFailure {
  readonly code: KernelErrorCode;
  readonly message: string;
}

export function kernelFailure(error: unknown, otherwise: KernelErrorCode = "system-call"): KernelFailure {
  const code = error instanceof KernelError ? error.code : otherwise;
  return { code, message: error instanceof Error ? error.message : String(error) };
}

/** Node links libc itself, so its own symbols are enough: no name of a library to guess (glibc or musl). */
const library = koffi.load(null);

type Call = (...values: readonly (number | bigint | string | Uint8Array)[]) => number;

const bind = (prototype: string) => library.func(prototype) as unknown as Call;

export const libc = {
  open: bind("int open(const char *path, int flags)"),
  close: bind("int close(int fd)"),
  setns: bind("int setns(int fd, int kind)"),
  eventfd: bind("int eventfd(unsigned int start, int flags)"),
  read: bind("long read(int fd, void *bytes, size_t length)"),
  write: bind("long write(int fd, void *bytes, size_t length)"),
  socket: bind("int socket(int domain, int type, int protocol)"),
  bind: bind("int bind(int fd, void *address, uint32_t length)"),
  ioctl: bind("int ioctl(int fd, unsigned long request, void *argument)"),
  getsockopt: bind("int getsockopt(int fd, int level, int name, void *value, void *length)"),
  setsockopt: bind("int setsockopt(int fd, int level, int name, void *value, uint32_t length)"),
  poll: bind("int poll(void *descriptors, unsigned long count, int timeoutMs)"),
  send: bind("long send(int fd, void *bytes, size_t length, int flags)"),
  recv: bind("long recv(int fd, void *bytes, size_t length, int flags)"),
  recvmmsg: bind("int recvmmsg(int fd, void *messages, unsigned int count, int flags, void *timeout)"),
  sendmmsg: bind("int sendmmsg(int fd, void *messages, unsigned int count, int flags)"),
} as const;

export const MSG_DONTWAIT = 0x40;
export const SOCK_CLOEXEC = 0o2000000;
export const SOCK_NONBLOCK = 0o4000;
export const AF_INET = 2;
export const SOCK_DGRAM = 2;
export const O_CLOEXEC = 0o2000000;
/** Opening what turns out to be a pipe must not wait for its writer. */
export const O_NONBLOCK = 0o4000;
export const CLONE_NEWNET = 0x4000_0000;

/** Memory that stays where it is, so that structures of the kernel can point into it. */
export interface Memory {
  readonly address: bigint;
  readonly bytes: Uint8Array;
}

/** Kept until the thread ends. */
export function allocate(bytes: number): Memory {
  const pointer = koffi.alloc("uint8_t", bytes) as bigint;
  const view = new Uint8Array(koffi.view(pointer, bytes)).fill(0);
  return { address: koffi.address(pointer), bytes: view };
}

/** Some numbers have two names (EAGAIN, EWOULDBLOCK): the first of the alphabet stands for both. */
const names = new Map(
  Object.entries(koffi.os.errno)
    .toSorted(([one], [other]) => (one < other ? 1 : -1))
    .map(([name, value]) => [value, name]),
);

/** The last call's errno on this thread, by name: `ENOENT`. Only valid right after a call that returned below 0. */
export function lastErrno(): string {
  const value = koffi.errno();
  return names.get(value) ?? `errno ${value}`;
}

/** An error from errno; `what` could not be done. `remedy` is a sentence. */
export function refused(what: string, remedy: string, known?: KernelErrorCode): KernelError {
  const errno = lastErrno();
  const code = known ?? (errno === "EPERM" || errno === "EACCES" ? "no-right" : "system-call");
  return new KernelError(code, `cannot ${what}: ${errno}. ${remedy}`);
}
