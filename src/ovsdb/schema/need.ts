// What a client needs of a server's schema, and whether it is there. Every mismatch is told at once, by its name.
import { OvsdbError } from "../error.ts";
import type { DatabaseShape } from "../notation/shape.ts";
import { describeShape } from "./column-type.ts";
import type { LiveSchema } from "./live-schema.ts";

export interface TableNeed {
  readonly table: string;
  readonly columns: readonly string[];
  /** Columns that are used where they are: an older server may lack them, and lack of the table is lack of all. */
  readonly optional: readonly string[];
}

/** Throws `schema-mismatch`. An optional column that is there must have the type that we know. */
export function checkSchema(shape: DatabaseShape, needs: readonly TableNeed[], live: LiveSchema): void {
  const faults = needs.flatMap((need) => faultsOf(shape, need, live));
  if (faults.length === 0) return;
  throw new OvsdbError(
    "schema-mismatch",
    `The database ${live.name} has schema ${live.version || "without a version"} and does not fit: ` +
      `${faults.join("; ")}. We were made with ${shape.version}: upgrade what is older, server or us.`,
  );
}

function faultsOf(shape: DatabaseShape, { table, columns, optional }: TableNeed, live: LiveSchema): string[] {
  const there = live.tables.get(table);
  if (there === undefined) return columns.length === 0 ? [] : [`there is no table ${table}`];
  return [...columns, ...optional].flatMap((column) => {
    const type = there.get(column);
    if (type === undefined) return columns.includes(column) ? [`${table} has no column ${column}`] : [];
    const [is, known] = [describeShape(type.shape), describeShape(shape.tables[table]![column]!)];
    return is === known ? [] : [`${table}.${column} is ${is}, not ${known}`];
  });
}
