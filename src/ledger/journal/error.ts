// Errors of opening a journal, and of writing the node's state. Takes and releases throw LedgerError, as in any ledger.
import { CodedError } from "../../net/coded-error.ts";

export type JournalErrorCode =
  /** Another process, or another part of this one, has it open. */
  | "locked"
  /** It was written by a later version, or is no journal. */
  | "foreign"
  | "disk"
  /** As much waits in it as it takes. */
  | "full";

export class JournalError extends CodedError<JournalErrorCode> {}
