// What src/transfer refuses with. Nothing was changed beyond what the message says.
import { CodedError } from "../net/coded-error.ts";

export type TransferErrorCode =
  /** The plan has conflicts: somebody must decide first. */
  | "conflict"
  /** An object is not what it was when the plan was made. */
  | "changed"
  /** Another object has the name that is needed. */
  | "in-the-way"
  /** A record that is none, or of another version. */
  | "bad-record"
  /** The record is of another cluster. */
  | "wrong-cluster"
  /** Something was still written although every writer was asked to rest. */
  | "not-quiet"
  /** Somebody else paused the cluster. */
  | "paused-by-another"
  /** Addresses given since would be forgotten. */
  | "would-lose"
  /** What is to be taken over is not what it should be. */
  | "bad-source";

/** `message` is whole sentences: which object, what is wrong, what to do. */
export class TransferError extends CodedError<TransferErrorCode> {}
