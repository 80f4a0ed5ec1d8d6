// One transaction over one connection: what came of it, or that this is not known.
import { orAborted } from "../clock.ts";
import { isOvsdbError, OvsdbError } from "../error.ts";
import type { Operation } from "../operations/operation.ts";
import { checkResults, type OperationResult } from "../operations/result.ts";
import type { Connection } from "../rpc/connection.ts";

export async function transactOn(
  connection: Connection,
  database: string,
  operations: readonly Operation[],
  signal: AbortSignal,
): Promise<readonly OperationResult[]> {
  const { id, reply } = connection.request("transact", [database, ...operations]);
  try {
    const results = await orAborted(reply, signal, () => {
      connection.notify("cancel", [id]); // RFC 7047 section 4.1.4: ends a `wait` of it
      return new OvsdbError("disconnected", "No reply came in time.");
    });
    return checkResults(operations, results);
  } catch (error) {
    if (isOvsdbError(error, "refused")) {
      const { tag, message } = error;
      throw new OvsdbError("transaction-refused", message, { cause: error, ...(tag === undefined ? {} : { tag }) });
    }
    if (!isOvsdbError(error, "disconnected")) throw error;
    const message = `It is not known whether the transaction happened: ${error.message} Read it back.`;
    throw new OvsdbError("outcome-unknown", message, { cause: error });
  }
}
