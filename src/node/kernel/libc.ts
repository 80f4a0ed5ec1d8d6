// The few calls of libc that Node does not have, through koffi, and what src/node/kernel fails with. Each call is
// synchronous and runs on the calling thread: errno and a thread's namespace are that thread's. Numbers are those of
// Linux on x64 and arm64, which agree on all of them.
import koffi from "koffi";

import { CodedError } from "../../net/coded-error.ts";

export type KernelErrorCode =
  /** Node gives no file descriptor for this socket: it is closed, or not what it should be. */
  | "no-descriptor"
  /** The network namespace is gone, or the path never was one. */
  | "no-netns"
  | "no-interface"
  /** The interface is not Ethernet: nothing on it speaks ARP or neighbour discovery. */
  | "not-ethernet"
  | "bad-argument"
  /** More probes wait already than could be answered in time. */
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
  socket: bind("int socket(int domain, int type, int protocol)"),
  bind: bind("int bind(int fd, void *address, uint32_t length)"),
  ioctl: bind("int ioctl(int fd, unsigned long request, void *argument)"),
  getsockopt: bind("int getsockopt(int fd, int level, int name, void *value, void *length)"),
  setsockopt: bind("int setsockopt(int fd, int level, int name, void *value, uint32_t length)"),
  poll: bind("int poll(void *descriptors, unsigned long count, int timeoutMs)"),
  send: bind("long send(int fd, void *bytes, size_t length, int flags)"),
  recv: bind("long recv(int fd, void *bytes, size_t length, int flags)"),
} as const;

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

/** An error from errno. `remedy` is a sentence. */
export function refused(what: string, remedy: string, code: KernelErrorCode = "system-call"): KernelError {
  return new KernelError(code, `${what}: ${lastErrno()}. ${remedy}`);
}
