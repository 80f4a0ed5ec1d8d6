// What src/dhcp throws: a pool, a binding or an option of our own configuration that cannot be served. Bytes off the wire never throw.
import { CodedError } from "../net/coded-error.ts";

export type DhcpErrorCode = "bad-pool" | "bad-binding" | "bad-option";

/** `message` is a whole sentence: what was given, what is wrong with it, what to write instead. */
export class DhcpError extends CodedError<DhcpErrorCode> {}
