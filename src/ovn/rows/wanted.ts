// A row as it is to be, as a value: its columns, what it is recognised by, the row that holds it, what it refers to.
import { createHash } from "node:crypto";

import type { NewRow } from "../../ovsdb/notation/shape.ts";
import type { Uuid } from "../../ovsdb/notation/uuid.ts";
import type { ovnNorthbound } from "../../ovsdb/schema/ovn-northbound.ts";
import { type KeyedRow, keyOf, looseKeyOf } from "./identity.ts";
import { parentOf, type TableName } from "./tables.ts";

type Tables = (typeof ovnNorthbound)["tables"];

/** A row of the same plan or of the database, by its key. */
export interface RowRef {
  readonly table: TableName;
  readonly key: string;
}

interface WantedIn<T extends TableName> extends RowRef {
  readonly table: T;
  /** By its own columns: what rows of the database are found by. */
  readonly looseKey: string;
  /**
   * Maps of marks (external_ids, other_config) say only what they must have; everything else is exactly so, and what
   * is not here is left alone.
   */
  readonly row: NewRow<Tables[T]>;
  /** The switch or router that has it. */
  readonly parent: RowRef | undefined;
  /** Column -> the one row that it refers to; undefined: none. */
  readonly refs: Readonly<Record<string, RowRef | undefined>>;
  readonly joins: Joins | undefined;
}

/** Port groups that a port is in from the transaction on that makes it, so that no policy is without it. */
interface Joins {
  /** By name; one that is not there is left out. */
  readonly groups: readonly string[];
  /** Ports of the same VM: a new one is in every group in which one of them is. Leaving a group is its owner's. */
  readonly as: readonly RowRef[];
}

export type Wanted = { [T in TableName]: WantedIn<T> }[TableName];

interface Place {
  /** The name of the switch or router that holds it; of a root there is none. */
  readonly within?: string;
  readonly refs?: WantedIn<TableName>["refs"];
  readonly joins?: Joins;
}

export function wanted<T extends TableName>(
  table: T,
  row: NewRow<Tables[T]>,
  { within, refs = {}, joins }: Place = {},
): Wanted {
  const above = parentOf(table);
  const parent = above === undefined ? undefined : { table: above.table, key: within! };
  // Rows are read and written in different types. Keys are made of plain columns, which are alike, and of marks.
  const { external_ids: marks } = row as { external_ids?: Record<string, string> };
  const keyed: KeyedRow = { ...row, external_ids: new Map(Object.entries(marks ?? {})) };
  return { table, key: keyOf(table, keyed, within), looseKey: looseKeyOf(table, keyed), row, parent, refs, joins };
}

/**
 * The uuid that a row is made with. The same key gives the same uuid: the database itself refuses to make the row a
 * second time, however late a lost transaction is carried out.
 */
export function chosenUuid({ table, key }: RowRef): Uuid {
  const hash = createHash("sha256").update(`holdfast ${table} ${key}`).digest("hex");
  const variant = ((Number.parseInt(hash[16]!, 16) & 3) | 8).toString(16);
  // RFC 9562 section 5.8: version 8, of one's own making.
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-${variant}${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}
