// The error of src/dhcp: our configuration has a pool, binding or option that cannot be served. Wire bytes never throw.
import { CodedError } from "../net/coded-error.ts";

export type DhcpErrorCode = "bad-pool" | "bad-binding" | "bad-option";

/** `message` is a whole sentence: what was given, what is wrong with it, what to write instead. */
export class DhcpError extends CodedError<DhcpErrorCode> {}
