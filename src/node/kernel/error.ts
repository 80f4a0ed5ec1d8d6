// What src/node/kernel fails with: the kernel refused a call, or what was asked for is not there.
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
