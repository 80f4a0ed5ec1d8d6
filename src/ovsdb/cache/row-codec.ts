// Rows of one followed table: from the wire, and changed by a difference. They are frozen; a change makes a new one.
import { applyDifference } from "../notation/difference.ts";
import type { ColumnShape } from "../notation/shape.ts";
import type { Uuid } from "../notation/uuid.ts";
import { decodeValue, defaultValue, isSameValue, type Value } from "../notation/value.ts";
import type { ColumnType } from "../schema/column-type.ts";
import type { AnyRow, Followed } from "./followed.ts";
import type { WireRow } from "./updates.ts";

interface Column {
  readonly name: string;
  readonly shape: ColumnShape;
  readonly where: string;
  readonly fallback: Value;
  readonly isComposite: boolean;
}

type MutableRow = { uuid: Uuid } & Record<string, Value>;

export class RowCodec {
  readonly #columns: readonly Column[];

  /** `live`: column name -> type, at the server at hand; an optional column that is not there keeps its default. */
  constructor({ table, shape, columns, optional }: Followed, live: ReadonlyMap<string, ColumnType>) {
    this.#columns = [...columns, ...optional].map((name) => ({
      name,
      shape: shape[name]!,
      where: `${table}.${name}`,
      fallback: defaultValue(shape[name]!),
      isComposite: live.get(name)?.isComposite ?? false,
    }));
  }

  decode(uuid: Uuid, wire: WireRow): AnyRow {
    return this.#make(uuid, ({ name, shape, where, fallback }) =>
      Object.hasOwn(wire, name) ? decodeValue(shape, wire[name], where) : fallback,
    );
  }

  differ(before: AnyRow, wire: WireRow): AnyRow {
    return this.#make(before.uuid, ({ name, shape, where, isComposite }) => {
      const old = (before as MutableRow)[name];
      if (!Object.hasOwn(wire, name)) return old;
      const sent = decodeValue(shape, wire[name], where);
      return isComposite ? applyDifference(old, sent) : sent;
    });
  }

  isSame(left: AnyRow, right: AnyRow): boolean {
    return this.#columns.every(({ name }) => isSameValue((left as MutableRow)[name], (right as MutableRow)[name]));
  }

  #make(uuid: Uuid, valueOf: (column: Column) => Value): AnyRow {
    const row = { uuid } as MutableRow;
    for (const column of this.#columns) row[column.name] = valueOf(column);
    return Object.freeze(row);
  }
}
