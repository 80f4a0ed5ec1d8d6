// The errors of src/ovsdb: a code for machines, a sentence for people.
//
// Promised: `outcome-unknown` whenever the server may have carried a transaction out although no reply says so. Such a
// transaction is read back or repeated behind a guard, never counted as failed. With every other code nothing of it
// happened.

export type OvsdbErrorCode =
  /** No usable server within the time: nothing was sent. */
  | "unreachable"
  /** The connection ended before a reply to something that changes nothing. */
  | "disconnected"
  | "outcome-unknown"
  /** The caller's own signal, before anything was sent. */
  | "aborted"
  /** More requests wait for replies than a connection may have. */
  | "busy"
  /** The server answered a request, not a transaction, with an error. */
  | "refused"
  /** No leader, out of touch with its cluster, of another cluster, or older than what was seen already. */
  | "unusable-server"
  /** What came is not what RFC 7047 promises. */
  | "malformed"
  /** A message beyond the limit, in either direction. */
  | "too-large"
  /** An update that does not fit the rows that are cached. */
  | "inconsistent"
  /** The server's schema lacks a table or column that is needed, or has it with another type. */
  | "schema-mismatch"
  /** A value of ours that the column cannot hold; nothing was sent. */
  | "bad-value"
  | TransactionErrorCode;

/** What a reply says of a transaction that was not carried out. */
type TransactionErrorCode =
  | "constraint-violation"
  | "referential-integrity"
  /** A row with the chosen uuid is there already. */
  | "duplicate-uuid"
  /** A `wait` was not met in its time. */
  | "wait-timed-out"
  /** The transaction has an `abort`. */
  | "transaction-aborted"
  | "not-permitted"
  /** Anything else: a syntax that the server does not know, a column that it does not have, no resources. */
  | "transaction-refused";

interface OvsdbErrorFacts {
  readonly cause?: unknown;
  /** Which operation failed, from 0; undefined where the commit did, after all of them. */
  readonly operation?: number;
  /** The server's own word, such as `constraint violation`. */
  readonly tag?: string;
}

export class OvsdbError extends Error {
  override readonly name = "OvsdbError";
  readonly code: OvsdbErrorCode;
  readonly operation: number | undefined;
  readonly tag: string | undefined;

  constructor(code: OvsdbErrorCode, message: string, facts: OvsdbErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.operation = facts.operation;
    this.tag = facts.tag;
  }
}

export function isOvsdbError(error: unknown, ...codes: readonly OvsdbErrorCode[]): error is OvsdbError {
  return error instanceof OvsdbError && (codes.length === 0 || codes.includes(error.code));
}

/** What was thrown may be anything; what we pass on is an Error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error("something that is no error was thrown", { cause: thrown });
}
