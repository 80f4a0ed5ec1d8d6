// The errors of src/ovn: a code for machines, a sentence for people. What the database refuses is an OvsdbError.
import { CodedError } from "../net/coded-error.ts";

export type OvnErrorCode =
  /** A row is to be put into a switch or router that there is none of. */
  | "no-parent"
  /** Others wrote the same rows at the same time, again and again. */
  | "contended"
  /** Values of a zone that no rows can be made from. */
  | "bad-zone";

export class OvnError extends CodedError<OvnErrorCode> {}
