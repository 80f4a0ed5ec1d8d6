// Guards: `wait` operations with a time of 0 at the head of a transaction, so that it happens only while the database
// is as its writer thinks. They make repeating safe: ovsdb(7) promises at-least-once, not once.
import { OvsdbError } from "../error.ts";
import type { DatabaseShape, NewRow } from "../notation/shape.ts";
import type { Condition } from "./condition.ts";
import { type Operation, Operations } from "./operation.ts";

export interface Guard {
  readonly wait: Operation;
  /** Finds the rows that stand against it. */
  readonly select: Operation;
}

/**
 * No row has these values in these columns. Choose columns that name the row, as the schema's index does or should:
 * the transaction then makes the row once, however often it is sent.
 */
export function absent<D extends DatabaseShape, T extends keyof D["tables"] & string>(
  database: D,
  table: T,
  row: NewRow<D["tables"][T]>,
): Guard {
  const columns = Object.keys(row) as (keyof D["tables"][T] & string)[];
  if (columns.length === 0) throw new OvsdbError("bad-value", `A guard of ${table} needs at least one column.`);
  const operations = new Operations(database);
  const where = columns.map((column) => [column, "==", row[column]] as unknown as Condition<D["tables"][T]>);
  return {
    wait: operations.wait(table, { where, columns, until: "!=", rows: [row], timeoutMs: 0 }),
    select: operations.select(table, where, columns),
  };
}

/** The row that `where` names still has these values: nobody has written it since they were read. */
export function unchanged<D extends DatabaseShape, T extends keyof D["tables"] & string>(
  database: D,
  table: T,
  where: readonly Condition<D["tables"][T]>[],
  row: NewRow<D["tables"][T]>,
): Guard {
  const columns = Object.keys(row) as (keyof D["tables"][T] & string)[];
  const operations = new Operations(database);
  return {
    wait: operations.wait(table, { where, columns, until: "==", rows: [row], timeoutMs: 0 }),
    select: operations.select(table, where, columns),
  };
}
