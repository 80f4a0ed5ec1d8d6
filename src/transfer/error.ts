// What src/transfer refuses with. Nothing was changed beyond what the message says.
import { CodedError } from "../net/coded-error.ts";

export type TransferErrorCode =
  | "conflict" // the plan has conflicts: somebody must decide first
  | "changed" // an object is not what it was when the plan was made
  | "in-the-way" // another object has the name that is needed
  | "bad-record" // no record, or of another version
  | "wrong-cluster" // the record is of another cluster
  | "not-quiet" // something was still written although every writer was asked to rest
  | "paused-by-another" // somebody else paused the cluster
  | "would-lose" // addresses given since would be forgotten
  | "bad-source"; // what is to be taken over is not what it should be

/** `message` is whole sentences: which object, what is wrong, what to do. */
export class TransferError extends CodedError<TransferErrorCode> {}
