// What a row is recognised by. Of two rows with one key one is too many: two routes of one prefix share the traffic.
import { idOfDhcp } from "./marks.ts";
import type { TableName } from "./tables.ts";

/** The columns that keys are made of, in any table. */
export interface KeyedRow {
  readonly name?: string;
  readonly ip_prefix?: string;
  readonly policy?: string | undefined;
  readonly route_table?: string;
  readonly priority?: number;
  readonly match?: string;
  readonly type?: string;
  readonly logical_ip?: string;
  readonly logical_port?: string | undefined;
  readonly ip?: string;
  readonly external_ids?: ReadonlyMap<string, string>;
}

/** Rows that are told apart within one router only: the same route may stand in several. */
const perRouter: ReadonlySet<TableName> = new Set(["Logical_Router_Static_Route", "Logical_Router_Policy", "NAT"]);

/** By columns of its own. */
export function looseKeyOf(table: TableName, row: KeyedRow): string {
  switch (table) {
    case "Logical_Router_Static_Route":
      return [row.policy ?? "dst-ip", hostless(row.ip_prefix ?? ""), row.route_table ?? ""].join(" ").trimEnd();
    case "Logical_Router_Policy":
      return `${row.priority} ${row.match}`;
    case "NAT":
      return `${row.type} ${row.logical_ip}`;
    case "DHCP_Options":
      return idOfDhcp(row.external_ids ?? new Map());
    case "Static_MAC_Binding":
      return `${row.logical_port} ${row.ip}`;
    case "Logical_Switch":
    case "Logical_Router":
    case "Logical_Switch_Port":
    case "Logical_Router_Port":
      return row.name ?? "";
  }
}

/** In the whole database. `within`: the name of the switch or router that holds it. */
export function keyOf(table: TableName, row: KeyedRow, within: string | undefined): string {
  const loose = looseKeyOf(table, row);
  return perRouter.has(table) ? `${within} ${loose}` : loose;
}

/** A host's prefix is written with its length or without. */
function hostless(prefix: string): string {
  return prefix.replace(prefix.includes(":") ? /\/128$/ : /\/32$/, "");
}
