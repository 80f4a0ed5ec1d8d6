// What a server tells of rows: <table-updates> of RFC 7047 section 4.1.6, and <table-updates2> of ovsdb-server(7),
// section 4.1.14, as one list.
import { OvsdbError } from "../error.ts";
import { excerpt } from "../notation/atom.ts";
import { isUuid, type Uuid } from "../notation/uuid.ts";
import { isObject } from "../schema/column-type.ts";

/** Key: the column's name; value: as it came. */
export type WireRow = Readonly<Record<string, unknown>>;

export interface RowUpdate {
  readonly table: string;
  readonly uuid: Uuid;
  /** `put`: the whole row, a column that is not there has its default. `differ`: only what differs. */
  readonly what: { readonly kind: "put" | "differ"; readonly row: WireRow } | { readonly kind: "delete" };
}

/** 1: rows old and new; 2: whole rows and differences. */
export type UpdateFormat = 1 | 2;

export function parseUpdates(format: UpdateFormat, json: unknown): RowUpdate[] {
  return entriesOf(json).flatMap(([table, rows]) =>
    entriesOf(rows).map(([uuid, update]) => {
      const what = isObject(update) ? (format === 1 ? parseUpdate1(update) : parseUpdate2(update)) : undefined;
      if (!isUuid(uuid) || what === undefined) throw notAnUpdate(update);
      return { table, uuid, what };
    }),
  );
}

/** `new` alone: inserted; both: modified, with all columns in `new`; `old` alone: deleted. */
function parseUpdate1({ old, new: row }: WireRow): RowUpdate["what"] | undefined {
  if (isObject(row)) return { kind: "put", row };
  return isObject(old) ? { kind: "delete" } : undefined;
}

function parseUpdate2(update: WireRow): RowUpdate["what"] | undefined {
  const { initial, insert = initial, modify } = update;
  if (isObject(insert)) return { kind: "put", row: insert };
  if (isObject(modify)) return { kind: "differ", row: modify };
  return "delete" in update ? { kind: "delete" } : undefined;
}

function entriesOf(json: unknown): [string, unknown][] {
  if (!isObject(json)) throw notAnUpdate(json);
  return Object.entries(json);
}

function notAnUpdate(json: unknown): OvsdbError {
  return new OvsdbError("malformed", `The server sent ${excerpt(json)} where an update of rows belongs.`);
}
