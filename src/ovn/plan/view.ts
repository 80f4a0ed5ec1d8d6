// The rows that there are, as a plan looks at them: by key, by whose they are, and by what holds them.
import type { AnyRow, Followed } from "../../ovsdb/cache/followed.ts";
import type { Rows } from "../../ovsdb/cache/table-cache.ts";
import type { Uuid } from "../../ovsdb/notation/uuid.ts";
import type { Value } from "../../ovsdb/notation/value.ts";
import { keyOf } from "../rows/identity.ts";
import { type IndexName, parentOf, portGroups, type TableName, tables } from "../rows/tables.ts";
import { chosenUuid, type RowRef, type Wanted } from "../rows/wanted.ts";

export interface Existing {
  readonly table: TableName;
  readonly uuid: Uuid;
  /** Column -> what it holds. */
  readonly row: Readonly<Record<string, Value>>;
  /** The rows that hold it; none of a root. */
  readonly parents: readonly Existing[];
}

export interface PortGroup {
  readonly uuid: Uuid;
  readonly ports: ReadonlySet<Uuid>;
}

/** What it needs of a client of the database. */
export interface Cached {
  rows<R extends AnyRow, Index extends string>(followed: Followed<R, Index>): Rows<R, Index>;
}

export class View {
  readonly #cached: Cached;

  constructor(cached: Cached) {
    this.#cached = cached;
  }

  by(table: TableName, index: IndexName, key: string): readonly Existing[] {
    return this.#cached
      .rows(tables[table])
      .by(index, key)
      .map((row) => this.#existing(table, row));
  }

  list(table: TableName): readonly Existing[] {
    return Array.from(this.#cached.rows(tables[table]).list(), (row) => this.#existing(table, row));
  }

  /** Every row with its key, and the one that was made for it, whatever it looks like now. That one comes first. */
  find(wanted: Wanted): readonly Existing[] {
    const { table, key, looseKey } = wanted;
    const made = this.#cached.rows(tables[table]).get(chosenUuid(wanted));
    const keyed = this.by(table, "key", looseKey)
      .filter((each) => each.uuid !== made?.uuid && this.keyOf(each) === key)
      .sort((one, other) => (one.uuid < other.uuid ? -1 : 1));
    return made === undefined ? keyed : [this.#existing(table, made), ...keyed];
  }

  /** The row of that key; by which it is referred to. */
  resolve({ table, key }: RowRef): Uuid | undefined {
    const rows = this.by(table, "key", key);
    return rows.map(({ uuid }) => uuid).sort()[0];
  }

  groupsNamed(name: string): readonly PortGroup[] {
    return this.#cached.rows(portGroups).by("name", name);
  }

  /** Those in which this port is. */
  groupsWith(port: Uuid): readonly PortGroup[] {
    return this.#cached.rows(portGroups).by("port", port);
  }

  keyOf({ table, row, parents: [parent] }: Existing): string {
    return keyOf(table, row, parent?.row["name"] as string | undefined);
  }

  #existing(table: TableName, row: AnyRow): Existing {
    const above = parentOf(table);
    const holders = above === undefined ? [] : this.by(above.table, "child", row.uuid);
    return {
      table,
      uuid: row.uuid,
      row: row as unknown as Existing["row"],
      parents: holders.filter((each) => (each.row[above!.column] as ReadonlySet<string>).has(row.uuid)),
    };
  }
}
