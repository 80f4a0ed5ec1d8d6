// src/ovsdb/schema: the tables of a database as a constant that types its rows, from the schema file of Debian's
// package. Another version of the schema is not taken: change `version` here to move on, and look at what it changes.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { ColumnShape } from "../../src/ovsdb/notation/shape.ts";
import { parseColumnType } from "../../src/ovsdb/schema/column-type.ts";
import { unpackedFolder } from "../bootstrap/unpacked.ts";

interface Source {
  /** The constant's name, and the file that it stands in, below the checkout. */
  readonly constant: string;
  readonly file: string;
  /** Debian's package, unpacked beside the system or installed, and where the schema is in it. */
  readonly debian: string;
  readonly path: string;
  readonly version: string;
}

const sources: readonly Source[] = [
  {
    constant: "ovnNorthbound",
    file: "src/ovsdb/schema/ovn-northbound.ts",
    debian: "ovn-central",
    path: "usr/share/ovn/ovn-nb.ovsschema",
    version: "7.0.0",
  },
  {
    constant: "openVSwitch",
    file: "src/ovsdb/schema/open-vswitch.ts",
    debian: "openvswitch-switch",
    path: "usr/share/openvswitch/vswitch.ovsschema",
    version: "8.3.1",
  },
];

interface Schema {
  readonly name: string;
  readonly version: string;
  readonly tables: Readonly<Record<string, { columns: Readonly<Record<string, { type: unknown }>> }>>;
}

export function ovsdbShapes(log: (line: string) => void = (line) => console.error(line)) {
  return sources.map((source) => ({
    file: source.file,
    render: (current: string) => {
      const schema = readSchema(source);
      if (typeof schema !== "string") return print(source, schema);
      log(`${source.file} is kept as it is: ${schema}`);
      return current;
    },
  }));
}

/** The schema, or why there is none. */
function readSchema({ debian, path, version }: Source): Schema | string {
  const found: string[] = [];
  for (const folder of [unpackedFolder(debian), "/"]) {
    try {
      const schema = JSON.parse(readFileSync(join(folder, path), "utf8")) as Schema;
      if (schema.version === version) return schema;
      found.push(`${join(folder, path)} is version ${schema.version}, not ${version}`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  return found.join(", ") || `${path} of Debian's ${debian} is not on this machine; a process test unpacks it`;
}

function print({ constant, debian }: Source, { name, version, tables }: Schema): string {
  const lines = Object.entries(tables).flatMap(([table, { columns }]) => [
    `    ${table}: {`,
    ...Object.entries(columns).map(([column, { type }]) => {
      const shape = parseColumnType(type, `${table}.${column}`).shape;
      return `      ${column}: ${printValue(shape, 6, column.length + 2)},${printReference(type)}`;
    }),
    "    },",
  ]);
  return [
    `// Generated from the schema of ${name} ${version}, Debian's ${debian} (npm run generate).`,
    'import type { DatabaseShape } from "../notation/shape.ts";',
    "",
    `export const ${constant} = {`,
    `  name: ${JSON.stringify(name)},`,
    `  version: ${JSON.stringify(version)},`,
    "  tables: {",
    ...lines,
    "  },",
    "} as const satisfies DatabaseShape;",
    "",
  ].join("\n");
}

/** As the formatter has it: on one line where it fits, otherwise the outermost is broken first. */
function printValue(value: ColumnShape | readonly unknown[], indent: number, before: number): string {
  if (typeof value === "string") return JSON.stringify(value);
  const isList = Array.isArray(value);
  const entries = Object.entries(value) as [string, ColumnShape][];
  const named = ([key, each]: [string, ColumnShape], at: number) =>
    isList ? printValue(each, at, 0) : `${key}: ${printValue(each, at, key.length + 2)}`;
  const flat = entries.map((entry) => named(entry, -10_000)).join(", ");
  const line = isList ? `[${flat}]` : `{ ${flat} }`;
  const columns = 120;
  if (indent + before + line.length + ",".length <= columns) return line;
  const inner = " ".repeat(indent + 2);
  const broken = entries.map((entry) => `${inner}${named(entry, indent + 2)},`).join("\n");
  const [open, close] = isList ? "[]" : "{}";
  return `${open}\n${broken}\n${" ".repeat(indent)}${close}`;
}

/** The table that a uuid is of. */
function printReference(type: unknown): string {
  const tables = [...JSON.stringify(type).matchAll(/"refTable":"(\w+)"/g)].map(([, table]) => table);
  return tables.length === 0 ? "" : ` // -> ${tables.join(", ")}`;
}
