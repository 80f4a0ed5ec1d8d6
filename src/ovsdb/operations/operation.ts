// RFC 7047 section 5.2: operations of a transaction as values. Only `transact` of the client sends them.
//
// Promised: what is wrong with a value is told here, before anything is sent (`bad-value`). Whether tables and columns
// are there, the server says.
import { OvsdbError } from "../error.ts";
import type { ColumnShape, DatabaseShape, NewRow, TableShape } from "../notation/shape.ts";
import { isUuid, type NamedUuid, type Uuid } from "../notation/uuid.ts";
import { encodeValue } from "../notation/value.ts";
import { type Condition, encodeCondition, encodeMutation, type Mutation } from "./condition.ts";

/** As it goes over the wire. */
export interface Operation {
  readonly op: "insert" | "update" | "mutate" | "delete" | "select" | "wait" | "assert" | "abort" | "comment";
  readonly table?: string;
  readonly [member: string]: unknown;
}

interface InsertOptions {
  /** For others of the same transaction to refer to it: `{ named }`. */
  readonly named?: string;
  /** Chosen by us; from Open vSwitch 2.13 on (`takesChosenUuids` asks). */
  readonly uuid?: Uuid;
}

interface WaitOptions<T> {
  readonly where: readonly Condition<T>[];
  readonly until: "==" | "!=";
  /** The rows, with the columns of the first, that the matching ones are compared with. */
  readonly rows: readonly NewRow<T>[];
  readonly columns: readonly (keyof T & string)[];
  /** 0: it must hold at once. */
  readonly timeoutMs: number;
}

/** The operations on the tables of one database. */
export class Operations<D extends DatabaseShape> {
  readonly #database: D;

  constructor(database: D) {
    this.#database = database;
  }

  insert<T extends keyof D["tables"] & string>(
    table: T,
    row: NewRow<D["tables"][T]>,
    { named: name, uuid }: InsertOptions = {},
  ): Operation {
    if (uuid !== undefined && !isUuid(uuid))
      throw new OvsdbError("bad-value", `${table}: "${uuid as string}" is no uuid.`);
    return {
      op: "insert",
      table,
      row: this.#row(table, row),
      ...(name === undefined ? {} : { "uuid-name": name }),
      ...(uuid === undefined ? {} : { uuid }),
    };
  }

  update<T extends keyof D["tables"] & string>(
    table: T,
    where: readonly Condition<D["tables"][T]>[],
    row: NewRow<D["tables"][T]>,
  ): Operation {
    return { op: "update", table, where: this.#where(table, where), row: this.#row(table, row) };
  }

  mutate<T extends keyof D["tables"] & string>(
    table: T,
    where: readonly Condition<D["tables"][T]>[],
    mutations: readonly Mutation<D["tables"][T]>[],
  ): Operation {
    const encoded = mutations.map((each) => encodeMutation(this.#columns(table), each, table));
    return { op: "mutate", table, where: this.#where(table, where), mutations: encoded };
  }

  /** Every row that matches; all of the table's where there is no condition, so one is required. */
  delete<T extends keyof D["tables"] & string>(
    table: T,
    where: readonly [Condition<D["tables"][T]>, ...Condition<D["tables"][T]>[]],
  ): Operation {
    return { op: "delete", table, where: this.#where(table, where) };
  }

  select<T extends keyof D["tables"] & string>(
    table: T,
    where: readonly Condition<D["tables"][T]>[],
    columns: readonly (keyof D["tables"][T] & string)[],
  ): Operation {
    return { op: "select", table, where: this.#where(table, where), columns: ["_uuid", ...columns] };
  }

  wait<T extends keyof D["tables"] & string>(
    table: T,
    { where, until, rows, columns, timeoutMs }: WaitOptions<D["tables"][T]>,
  ): Operation {
    return {
      op: "wait",
      table,
      where: this.#where(table, where),
      until,
      columns,
      rows: rows.map((row) => this.#row(table, row)),
      timeout: timeoutMs,
    };
  }

  #columns(table: string): TableShape {
    return this.#database.tables[table]!;
  }

  #where<T>(table: string, where: readonly Condition<T>[]): unknown[] {
    return where.map((each) => encodeCondition(this.#columns(table), each, table));
  }

  #row(table: string, row: object): Record<string, unknown> {
    const columns = this.#columns(table);
    return Object.fromEntries(
      Object.entries(row).map(([column, value]) => {
        const shape: ColumnShape | undefined = columns[column];
        if (shape === undefined) throw new OvsdbError("bad-value", `${table} has no column ${column}.`);
        return [column, encodeValue(shape, value, `${table}.${column}`)];
      }),
    );
  }
}

/** Fails the transaction unless this connection owns the lock. */
export function assertLock(lock: string): Operation {
  return { op: "assert", lock };
}

/** Fails the transaction: what came before it is tried and not done. */
export const abort: Operation = { op: "abort" };

/** For who reads the server's log. */
export function comment(text: string): Operation {
  return { op: "comment", comment: text };
}

/** Refers to a row that the same transaction inserts as `named`. */
export function named(name: string): NamedUuid {
  return { named: name };
}
