// What a column holds, as a value that the compiler reads too: one constant per database says both how rows look on the
// wire and which type they have here.
//
// A set is a ReadonlySet and a map a ReadonlyMap: neither has an order, and keys such as `__proto__` do no harm.
import type { NamedUuid, Uuid } from "./uuid.ts";

export type AtomType = "integer" | "real" | "boolean" | "string" | "uuid";

/** Strings of which only some are allowed. A newer server may allow more, so they are read as strings. */
interface EnumShape {
  readonly enum: readonly string[];
}

export type AtomShape = AtomType | EnumShape;

/** Exactly one; one or none; any number; pairs. */
export type ColumnShape =
  | AtomShape
  | { readonly optional: AtomShape }
  | { readonly set: AtomShape }
  | { readonly map: readonly [AtomShape, AtomShape] };

/** Key: the column's name. */
export type TableShape = Readonly<Record<string, ColumnShape>>;

export interface DatabaseShape {
  readonly name: string;
  /** The version of the schema that the shape was made from. */
  readonly version: string;
  /** Key: the table's name. */
  readonly tables: Readonly<Record<string, TableShape>>;
}

type ReadAtom<A> = A extends "integer" | "real"
  ? number
  : A extends "boolean"
    ? boolean
    : A extends "uuid"
      ? Uuid
      : string;

type WriteAtom<A> = A extends "uuid" ? Uuid | NamedUuid : A extends { enum: readonly (infer E)[] } ? E : ReadAtom<A>;

/** What a column's value is, read. */
type Read<C> = C extends { optional: infer A }
  ? ReadAtom<A> | undefined
  : C extends { set: infer A }
    ? ReadonlySet<ReadAtom<A>>
    : C extends { map: readonly [infer K, infer V] }
      ? ReadonlyMap<ReadAtom<K>, ReadAtom<V>>
      : ReadAtom<C>;

/** What may be written into a column. */
export type Write<C> = C extends { optional: infer A }
  ? WriteAtom<A> | undefined
  : C extends { set: infer A }
    ? readonly WriteAtom<A>[] | ReadonlySet<WriteAtom<A>>
    : C extends { map: readonly [infer K, infer V] }
      ? ReadonlyMap<WriteAtom<K>, WriteAtom<V>> | (K extends "string" ? Readonly<Record<string, WriteAtom<V>>> : never)
      : WriteAtom<C>;

/** A row as it is read: its uuid (`_uuid` on the wire) and columns. No schema has a column `uuid`. */
export type Row<T, C extends keyof T = keyof T> = { readonly uuid: Uuid } & { readonly [K in C]: Read<T[K]> };

/** Some columns of a row, to be written. A column that is not there is left as it is, or gets its default. */
export type NewRow<T> = { readonly [K in keyof T]?: Write<T[K]> };
