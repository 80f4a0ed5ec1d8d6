// RFC 7047 section 5.1: <condition> and <mutation>.
import { OvsdbError } from "../error.ts";
import type { AtomShape, ColumnShape, TableShape, Write } from "../notation/shape.ts";
import type { NamedUuid, Uuid } from "../notation/uuid.ts";
import { encodeValue, isAtomShape } from "../notation/value.ts";

type Comparison = "==" | "!=" | "<" | "<=" | ">" | ">=";

/** `includes` and `excludes` compare with some elements of a set or pairs of a map, the others with all of it. */
type ColumnCondition<T, C extends keyof T> = readonly [C, Comparison | "includes" | "excludes", Write<T[C]>];

/** Of several conditions all must hold. */
export type Condition<T> =
  | { [C in keyof T & string]: ColumnCondition<T, C> }[keyof T & string]
  | readonly ["_uuid", "==" | "!=", Uuid | NamedUuid];

/** What `delete` takes from a map: pairs, or keys whatever they are mapped to. */
type Gone<S> = S extends { map: readonly [infer K, unknown] } ? Write<S> | Write<{ set: K }> : Write<S>;

type MutationOf<C, S> = S extends "integer" | "real" | { optional: "integer" | "real" }
  ? readonly [C, "+=" | "-=" | "*=" | "/=" | "%=", number]
  : S extends { set: AtomShape } | { optional: AtomShape } | { map: unknown }
    ? readonly [C, "insert", Exclude<Write<S>, undefined>] | readonly [C, "delete", Exclude<Gone<S>, undefined>]
    : never;

export type Mutation<T> = { [C in keyof T & string]: MutationOf<C, T[C]> }[keyof T & string];

export function encodeCondition<T>(columns: TableShape, condition: Condition<T>, table: string): unknown {
  const [column, comparison, value] = condition as readonly [string, string, unknown];
  return [column, comparison, encodeValue(shapeOf(columns, column, table), value, `${table}.${column}`)];
}

export function encodeMutation<T>(columns: TableShape, mutation: Mutation<T>, table: string): unknown {
  const [column, mutator, value] = mutation as unknown as readonly [string, string, unknown];
  const shape = shapeOf(columns, column, table);
  const isKeys = !isAtomShape(shape) && "map" in shape && (Array.isArray(value) || value instanceof Set);
  const of = isKeys ? { set: shape.map[0] } : arithmetic.has(mutator) && !isAtomShape(shape) ? "real" : shape;
  return [column, mutator, encodeValue(of, value, `${table}.${column}`)];
}

const arithmetic: ReadonlySet<string> = new Set(["+=", "-=", "*=", "/=", "%="]);

function shapeOf(columns: TableShape, column: string, table: string): ColumnShape {
  const shape = column === "_uuid" ? "uuid" : columns[column];
  if (shape === undefined) throw new OvsdbError("bad-value", `${table} has no column ${column}.`);
  return shape;
}
