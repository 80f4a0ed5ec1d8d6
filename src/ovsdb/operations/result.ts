// RFC 7047 section 4.1.3: what a reply to `transact` says, one result per operation, and one more where the commit
// failed. Each is looked at; an error anywhere means that nothing of the transaction happened.
//
// But for two errors, after which it may have: the server's disk or its cluster failed while it was being committed.
import { OvsdbError, type OvsdbErrorCode } from "../error.ts";
import { isUuid, type Uuid } from "../notation/uuid.ts";
import { wordsOfError } from "../rpc/message.ts";
import { isObject } from "../schema/column-type.ts";
import type { Operation } from "./operation.ts";

export interface OperationResult {
  /** Of `insert`. */
  readonly uuid?: Uuid;
  /** Rows that `update`, `mutate` or `delete` matched. */
  readonly count?: number;
  /** Rows that `select` found, as they came. */
  readonly rows?: readonly unknown[];
}

/** The server's word -> our code. */
const codes: Readonly<Record<string, OvsdbErrorCode>> = {
  "constraint violation": "constraint-violation",
  "referential integrity violation": "referential-integrity",
  "duplicate uuid": "duplicate-uuid",
  "timed out": "wait-timed-out",
  aborted: "transaction-aborted",
  "permission error": "not-permitted",
  "not owner": "not-permitted",
  "I/O error": "outcome-unknown",
  "cluster error": "outcome-unknown",
};

export function checkResults(operations: readonly Operation[], reply: unknown): readonly OperationResult[] {
  const results: readonly unknown[] = Array.isArray(reply) ? (reply as unknown[]) : [];
  const failed = results.findIndex((each) => isObject(each) && "error" in each && each["error"] !== null);
  if (failed !== -1) throw errorOf(operations, failed, results[failed]);
  if (results.length !== operations.length || !results.every(isObject)) {
    throw new OvsdbError(
      "outcome-unknown",
      `The reply to a transaction of ${operations.length} operations has ${results.length} results. Read it back.`,
    );
  }
  return results.map(resultOf);
}

function resultOf(result: unknown): OperationResult {
  const { uuid, count, rows } = result as Readonly<Record<string, unknown>>;
  const [tag, made] = Array.isArray(uuid) ? (uuid as unknown[]) : [];
  return {
    ...(tag === "uuid" && isUuid(made) ? { uuid: made } : {}),
    ...(typeof count === "number" ? { count } : {}),
    ...(Array.isArray(rows) ? { rows } : {}),
  };
}

function errorOf(operations: readonly Operation[], index: number, error: unknown): OvsdbError {
  const { tag, words } = wordsOfError(error);
  const code = codes[tag] ?? "transaction-refused";
  const failed = operations[index];
  const what = failed === undefined ? "the commit" : `operation ${index}, ${failed.op} ${failed.table ?? ""}`.trim();
  const outcome =
    code === "outcome-unknown" ? "It may have happened all the same: read it back" : "Nothing of it happened";
  return new OvsdbError(
    code,
    `A transaction of ${operations.length} operations failed at ${what}: ${words}. ${outcome}.`,
    {
      tag,
      ...(failed === undefined ? {} : { operation: index }),
    },
  );
}
