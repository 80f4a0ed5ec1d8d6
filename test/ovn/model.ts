// A northbound database in memory, slow and plain: what RFC 7047 section 5.2 says of each operation that plans are made
// of, references and garbage included. What the real one makes of the same operations, the process tests say.
import { randomUUID } from "node:crypto";

import type { Cached } from "../../src/ovn/plan/view.ts";
import { parentOf, type TableName, tableNames } from "../../src/ovn/rows/tables.ts";
import type { AnyRow, Followed } from "../../src/ovsdb/cache/followed.ts";
import { type Rows, TableCache } from "../../src/ovsdb/cache/table-cache.ts";
import type { ColumnShape } from "../../src/ovsdb/notation/shape.ts";
import type { Uuid } from "../../src/ovsdb/notation/uuid.ts";
import { decodeValue, defaultValue, isSameValue, type Value } from "../../src/ovsdb/notation/value.ts";
import type { Operation } from "../../src/ovsdb/operations/operation.ts";
import { ovnNorthbound } from "../../src/ovsdb/schema/ovn-northbound.ts";

type ModelRow = Record<string, Value>;
type ModelTables = Map<string, Map<Uuid, ModelRow>>;

export class ModelDatabase implements Cached {
  #tables: ModelTables = new Map([...tableNames, "Port_Group"].map((table) => [table, new Map<Uuid, ModelRow>()]));

  /** Table name -> its rows as a client has them, since the last transaction. */
  readonly #caches = new Map<string, TableCache>();

  /** All or nothing; throws the server's word for what refuses it. */
  transact(operations: readonly Operation[]): void {
    const copy: ModelTables = new Map(
      [...this.#tables].map(([table, rows]) => [table, new Map([...rows].map(([uuid, row]) => [uuid, { ...row }]))]),
    );
    for (const operation of operations) carryOut(copy, operation);
    collectGarbage(copy);
    checkReferences(copy);
    checkNames(copy);
    this.#tables = copy;
    this.#caches.clear();
  }

  rows<R extends AnyRow, Index extends string>(followed: Followed<R, Index>): Rows<R, Index> {
    const known = this.#caches.get(followed.table);
    if (known !== undefined) return known as unknown as Rows<R, Index>;
    const cache = new TableCache<R, Index>(followed, (error) => {
      throw error;
    });
    for (const [uuid, row] of this.#tables.get(followed.table)!) {
      const columns = [...followed.columns, ...followed.optional].map((column) => [column, row[column]]);
      cache.replace(uuid, { uuid, ...Object.fromEntries(columns) } as R);
    }
    this.#caches.set(followed.table, cache);
    return cache;
  }

  /** Every row: its table, uuid and columns. */
  dump(): readonly (readonly [TableName, Uuid, Readonly<ModelRow>])[] {
    return tableNames.flatMap((table) =>
      [...this.#tables.get(table)!].map(([uuid, row]) => [table, uuid, row] as const),
    );
  }
}

const shapesOf = (table: string): Readonly<Record<string, ColumnShape>> => ovnNorthbound.tables[table as TableName];

function decoded(table: string, row: unknown): ModelRow {
  const entries = Object.entries(row as object);
  return Object.fromEntries(
    entries.map(([column, json]) => [column, decodeValue(shapesOf(table)[column]!, json, column)]),
  );
}

function carryOut(all: ModelTables, { op, table: name, ...rest }: Operation): void {
  const table = name!;
  const rows = all.get(table)!;
  if (op === "insert") {
    const uuid = (rest["uuid"] ?? randomUUID()) as Uuid;
    if (rows.has(uuid)) throw new Error("duplicate uuid");
    const defaults = Object.entries(shapesOf(table)).map(([column, shape]) => [column, defaultValue(shape)]);
    rows.set(uuid, { ...(Object.fromEntries(defaults) as ModelRow), ...decoded(table, rest["row"]) });
    return;
  }
  const matching = [...rows].filter(([uuid, row]) => matches(table, uuid, row, rest["where"] as unknown[][]));
  if (op === "update") for (const [, row] of matching) Object.assign(row, decoded(table, rest["row"]));
  else if (op === "delete") for (const [uuid] of matching) rows.delete(uuid);
  else if (op === "mutate") for (const [, row] of matching) mutate(table, row, rest["mutations"] as unknown[][]);
  else if (op === "wait") {
    const [expected] = (rest["rows"] as unknown[]).map((row) => decoded(table, row));
    const isSame = ([, row]: readonly [Uuid, ModelRow]) =>
      Object.entries(expected!).every(([column, value]) => isSameValue(value, row[column]));
    if (rest["until"] !== "==" || matching.length !== 1 || !isSame(matching[0]!)) throw new Error("timed out");
  } else throw new Error(`the model knows no ${op}`);
}

function matches(table: string, uuid: Uuid, row: ModelRow, where: readonly unknown[][]): boolean {
  return where.every(([column, comparison, json]) => {
    if (comparison !== "==") throw new Error(`the model knows no ${String(comparison)}`);
    if (column === "_uuid") return (json as [string, string])[1] === uuid;
    return isSameValue(row[column as string], decodeValue(shapesOf(table)[column as string]!, json, "where"));
  });
}

function mutate(table: string, row: ModelRow, mutations: readonly unknown[][]): void {
  for (const [column, mutator, json] of mutations as [string, string, unknown][]) {
    const value = decodeValue(shapesOf(table)[column]!, json, column) as ReadonlySet<string>;
    const old = row[column] as ReadonlySet<string>;
    if (value instanceof Map) row[column] = new Map([...value, ...old] as unknown as [string, string][]);
    else row[column] = mutator === "insert" ? old.union(value) : old.difference(value);
  }
}

/** Rows that nothing holds go, but for roots; a weak reference to what is gone goes too. */
function collectGarbage(all: ModelTables): void {
  for (const table of tableNames) {
    const above = parentOf(table);
    if (above === undefined) continue;
    const held = new Set([...all.get(above.table)!.values()].flatMap((row) => [...(row[above.column] as Set<string>)]));
    for (const uuid of Array.from(all.get(table)!.keys())) if (!held.has(uuid)) all.get(table)!.delete(uuid);
  }
  for (const port of all.get("Logical_Switch_Port")!.values()) {
    for (const column of ["dhcpv4_options", "dhcpv6_options"]) {
      if (!all.get("DHCP_Options")!.has(port[column] as Uuid)) port[column] = undefined;
    }
  }
  for (const group of all.get("Port_Group")!.values()) {
    const ports = [...(group["ports"] as ReadonlySet<Uuid>)];
    group["ports"] = new Set(ports.filter((uuid) => all.get("Logical_Switch_Port")!.has(uuid)));
  }
}

function checkReferences(all: ModelTables): void {
  for (const table of tableNames) {
    const above = parentOf(table);
    if (above === undefined) continue;
    for (const row of all.get(above.table)!.values()) {
      const held = Array.from(row[above.column] as Set<Uuid>);
      const isPort = table === "Logical_Switch_Port" || table === "Logical_Router_Port" || above.column !== "ports";
      if (isPort && held.some((uuid) => !all.get(table)!.has(uuid))) throw new Error("referential integrity violation");
    }
  }
}

/** The schema's indexes. */
function checkNames(all: ModelTables): void {
  for (const table of ["Logical_Switch_Port", "Logical_Router_Port"]) {
    const names = [...all.get(table)!.values()].map(({ name }) => name);
    if (new Set(names).size !== names.length) throw new Error("constraint violation");
  }
}
