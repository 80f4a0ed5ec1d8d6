// What of a row's columns is not as wanted.
import { type ColumnShape } from "../../ovsdb/notation/shape.ts";
import { isAtomShape, isSameValue, type Value } from "../../ovsdb/notation/value.ts";
import { ovnNorthbound } from "../../ovsdb/schema/ovn-northbound.ts";
import type { TableName } from "../rows/tables.ts";

type Columns = Readonly<Record<string, Value>>;

/** Maps in which others keep words of their own: theirs stay. */
const shared: ReadonlySet<string> = new Set(["external_ids", "other_config"]);

/** The columns to be written, whole. `wanted`: as it may be written. */
export function differing(table: TableName, wanted: object, existing: Columns): Columns {
  const shapes: Readonly<Record<string, ColumnShape>> = ovnNorthbound.tables[table];
  const pairs = Object.entries(wanted).map(([column, value]) => {
    const read = asRead(shapes[column]!, value);
    const old = existing[column];
    const merged = shared.has(column) && old instanceof Map ? new Map([...old, ...(read as typeof old)]) : read;
    return [column, merged] as const;
  });
  return Object.fromEntries(pairs.filter(([column, value]) => !isSameValue(value, existing[column])));
}

/** A value as the cache has it. */
function asRead(shape: ColumnShape, value: unknown): Value {
  if (isAtomShape(shape) || "optional" in shape) return value as Value;
  if ("set" in shape) return new Set(value as Iterable<string>);
  return value instanceof Map ? (value as ReadonlyMap<string, string>) : new Map(Object.entries(value as object));
}
