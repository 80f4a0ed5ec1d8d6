// What src/net throws: input that is no address, prefix, range or MAC. Nothing else in this folder fails.
import { CodedError } from "./coded-error.ts";

export type NetErrorCode = "bad-address" | "bad-prefix" | "bad-range" | "bad-mac" | "mixed-families" | "out-of-space";

/** `message` is a whole sentence: what was given, what is wrong with it, what to write instead. */
export class NetError extends CodedError<NetErrorCode> {}
