// Which columns of a table a client follows, and by which keys its rows are found: a value that types the cached rows.
import type { DatabaseShape, Row, TableShape } from "../notation/shape.ts";
import type { Uuid } from "../notation/uuid.ts";

/** The keys under which a row is found; none if it is not to be found by this index. */
type IndexKeys<R> = (row: R) => Iterable<string>;

export interface AnyRow {
  readonly uuid: Uuid;
}

export interface Followed<R extends AnyRow = AnyRow, Index extends string = string> {
  readonly table: string;
  readonly shape: TableShape;
  readonly columns: readonly string[];
  /** An older server may lack these: rows then have the column's default. */
  readonly optional: readonly string[];
  /** Index name -> its keys of a row. A method, so that tables of any rows go into one list. */
  keysOf(index: Index, row: R): Iterable<string>;
  readonly indexes: readonly Index[];
}

interface FollowOptions<T, C extends keyof T & string, O extends keyof T & string, Index extends string> {
  readonly columns: readonly C[];
  readonly optional?: readonly O[];
  readonly indexes?: Readonly<Record<Index, IndexKeys<Row<T, C | O>>>>;
}

/** `indexes`: by a column, `(row) => [row.name]`, or by anything that is computed from the row. */
export function follow<
  D extends DatabaseShape,
  T extends keyof D["tables"] & string,
  C extends keyof D["tables"][T] & string,
  O extends keyof D["tables"][T] & string = never,
  Index extends string = never,
>(
  database: D,
  table: T,
  options: FollowOptions<D["tables"][T], C, O, Index>,
): Followed<Row<D["tables"][T], C | O>, Index> {
  const { columns, optional = [], indexes } = options;
  return {
    table,
    shape: database.tables[table]!,
    columns,
    optional,
    indexes: Object.keys(indexes ?? {}) as Index[],
    keysOf: (index, row) => indexes![index](row),
  };
}
