// A transaction that is repeated when its reply was lost, and happens at most once all the same.
//
// Promised: of all the times that it is sent at most one is carried out, as long as the guards hold before it and not
// after it. One whose reply was lost may be carried out late: its guards refuse it then.
import { isOvsdbError } from "../error.ts";
import type { Guard } from "./guard.ts";
import { abort, type Operation } from "./operation.ts";
import type { OperationResult } from "./result.ts";

/** What it needs of a client. */
interface Transactor {
  transact(
    operations: readonly Operation[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly OperationResult[]>;
}

export type WriteOutcome =
  /** The results of the operations, guards aside. */
  | { readonly outcome: "written"; readonly results: readonly OperationResult[] }
  /**
   * A guard refused. `rows`: what stands against it, as it came. `isRepeat`: an earlier try may have been carried out,
   * so that the rows may be ours; rows with a chosen uuid tell.
   */
  | { readonly outcome: "refused-by-guard"; readonly isRepeat: boolean; readonly rows: readonly unknown[] };

/** A server that is lost this often in a row, each time between request and reply, is left to the caller. */
const maxTries = 5;

export async function writeOnce(
  client: Transactor,
  guards: readonly [Guard, ...Guard[]],
  operations: readonly Operation[],
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const all = [...guards.map(({ wait }) => wait), ...operations];
  for (let tries = 1; ; tries++) {
    try {
      const results = await client.transact(all, { signal });
      return { outcome: "written", results: results.slice(guards.length) };
    } catch (error) {
      const guard = refusedBy(guards, error);
      if (guard !== undefined) {
        const [found] = await client.transact([guard.select], { signal });
        return { outcome: "refused-by-guard", isRepeat: tries > 1, rows: found?.rows ?? [] };
      }
      if (!isOvsdbError(error, "outcome-unknown") || tries === maxTries || signal.aborted) throw error;
    }
  }
}

function refusedBy(guards: readonly Guard[], error: unknown): Guard | undefined {
  return isOvsdbError(error, "wait-timed-out") ? guards[error.operation ?? guards.length] : undefined;
}

/**
 * Whether the server takes uuids that we choose (Open vSwitch 2.13 and later): tries one, and takes it back. `insert`:
 * an insert with a uuid, into any table.
 */
export async function takesChosenUuids(client: Transactor, insert: Operation, signal: AbortSignal): Promise<boolean> {
  try {
    await client.transact([insert, abort], { signal });
    return true;
  } catch (error) {
    if (isOvsdbError(error, "transaction-aborted")) return true;
    if (isOvsdbError(error, "transaction-refused")) return false;
    throw error;
  }
}
