// RFC 7047 section 3.2: <database-schema>, the result of `get_schema`: what the server at hand has.
import { OvsdbError } from "../error.ts";
import { type ColumnType, isObject, parseColumnType } from "./column-type.ts";

export interface LiveSchema {
  readonly name: string;
  readonly version: string;
  /** Table name -> column name -> type. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, ColumnType>>;
}

export function parseSchema(json: unknown): LiveSchema {
  if (!isObject(json) || typeof json["name"] !== "string" || !isObject(json["tables"])) {
    throw new OvsdbError("malformed", "The server answered get_schema with something that is no schema.");
  }
  const { name, version, tables } = json;
  return {
    name,
    version: typeof version === "string" ? version : "",
    tables: new Map(Object.entries(tables as object).map(([table, each]) => [table, columnsOf(table, each)])),
  };
}

function columnsOf(table: string, json: unknown): Map<string, ColumnType> {
  const columns = isObject(json) ? json["columns"] : undefined;
  if (!isObject(columns)) throw new OvsdbError("malformed", `The server's schema has no columns of ${table}.`);
  return new Map(
    Object.entries(columns).map(([column, each]) => {
      const type = isObject(each) ? each["type"] : undefined;
      return [column, parseColumnType(type, `${table}.${column}`)];
    }),
  );
}
