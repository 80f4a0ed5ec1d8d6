// The tables that are followed and written, the columns of each, and by which keys rows are found.
import { type AnyRow, follow, type Followed } from "../../ovsdb/cache/followed.ts";
import { ovnNorthbound as nb } from "../../ovsdb/schema/ovn-northbound.ts";
import { type KeyedRow, looseKeyOf } from "./identity.ts";
import { partOf, vmOf } from "./marks.ts";

export type TableName =
  | "Logical_Switch"
  | "Logical_Router"
  | "Logical_Switch_Port"
  | "Logical_Router_Port"
  | "Logical_Router_Static_Route"
  | "Logical_Router_Policy"
  | "NAT"
  | "DHCP_Options"
  | "Static_MAC_Binding";

/**
 * `key`: by what it is recognised (identity.ts), within any router. `vm`: whose it is. `ip`: the addresses that it is
 * about. `part`: of what, where it carries our mark (marks.ts). `child`: the rows that a switch or router holds.
 */
export type IndexName = "key" | "vm" | "ip" | "part" | "child";

interface Marked extends KeyedRow, AnyRow {
  readonly external_ids: ReadonlyMap<string, string>;
}
const marks = {
  vm: ({ external_ids: ids }: Marked) => orNone(vmOf(ids)),
  part: ({ external_ids: ids }: Marked) => orNone(partOf(ids)),
};
const key = (table: TableName) => (row: KeyedRow) => [looseKeyOf(table, row)];
const orNone = (text: string | undefined) => (text === undefined ? [] : [text]);
const none = () => [];

const switches = follow(nb, "Logical_Switch", {
  columns: ["name", "ports", "other_config", "external_ids"],
  indexes: { key: key("Logical_Switch"), vm: none, ip: none, part: marks.part, child: ({ ports }) => ports },
});

const routers = follow(nb, "Logical_Router", {
  columns: ["name", "ports", "static_routes", "policies", "nat", "options", "external_ids"],
  indexes: {
    key: key("Logical_Router"),
    vm: none,
    ip: none,
    part: marks.part,
    *child({ ports, static_routes: routes, policies, nat }) {
      yield* ports;
      yield* routes;
      yield* policies;
      yield* nat;
    },
  },
});

const switchPorts = follow(nb, "Logical_Switch_Port", {
  columns: [
    "name",
    "type",
    "options",
    "addresses",
    "port_security",
    "tag_request",
    "enabled",
    "dhcpv4_options",
    "dhcpv6_options",
    "external_ids",
  ],
  indexes: {
    key: key("Logical_Switch_Port"),
    vm: marks.vm,
    part: marks.part,
    child: none,
    *ip({ addresses, external_ids: ids }) {
      if (ids.get("pod") === "true") for (const each of addresses) yield* each.split(" ").slice(1);
    },
  },
});

const routerPorts = follow(nb, "Logical_Router_Port", {
  columns: ["name", "mac", "networks", "options", "external_ids"],
  indexes: { key: key("Logical_Router_Port"), vm: none, ip: none, part: marks.part, child: none },
});

const staticRoutes = follow(nb, "Logical_Router_Static_Route", {
  columns: ["ip_prefix", "nexthop", "policy", "output_port", "route_table", "external_ids"],
  indexes: { key: key("Logical_Router_Static_Route"), ...marks, ip: none, child: none },
});

const policies = follow(nb, "Logical_Router_Policy", {
  columns: ["priority", "match", "action", "nexthops", "external_ids"],
  indexes: { key: key("Logical_Router_Policy"), ...marks, ip: none, child: none },
});

const nats = follow(nb, "NAT", {
  columns: ["type", "logical_ip", "external_ip", "logical_port", "external_ids"],
  indexes: { key: key("NAT"), vm: none, part: marks.part, ip: ({ logical_ip: ip }) => [ip], child: none },
});

const dhcpOptions = follow(nb, "DHCP_Options", {
  columns: ["cidr", "options", "external_ids"],
  indexes: { key: key("DHCP_Options"), ...marks, ip: none, child: none },
});

const macBindings = follow(nb, "Static_MAC_Binding", {
  columns: ["logical_port", "ip", "mac", "override_dynamic_mac"],
  indexes: { key: key("Static_MAC_Binding"), vm: none, part: none, ip: ({ ip }) => [ip], child: none },
});

/** Written by whoever carries out network policies. Only their sets of ports are touched here. */
export const portGroups = follow(nb, "Port_Group", {
  columns: ["name", "ports"],
  indexes: { name: ({ name }) => [name], port: ({ ports }) => ports },
});

export const global = follow(nb, "NB_Global", { columns: ["nb_cfg", "sb_cfg", "hv_cfg", "options"] });

/** Key: the table's name. */
export const tables: Readonly<Record<TableName, Followed<AnyRow, IndexName>>> = {
  Logical_Switch: switches,
  Logical_Router: routers,
  Logical_Switch_Port: switchPorts,
  Logical_Router_Port: routerPorts,
  Logical_Router_Static_Route: staticRoutes,
  Logical_Router_Policy: policies,
  NAT: nats,
  DHCP_Options: dhcpOptions,
  Static_MAC_Binding: macBindings,
};

export const tableNames = Object.keys(tables) as readonly TableName[];

interface Parent {
  readonly table: "Logical_Switch" | "Logical_Router";
  readonly column: "ports" | "static_routes" | "policies" | "nat";
}

/** Child table -> the column that holds its rows: one that nothing holds is gone. */
const parents: Partial<Record<TableName, Parent>> = {
  Logical_Switch_Port: { table: "Logical_Switch", column: "ports" },
  Logical_Router_Port: { table: "Logical_Router", column: "ports" },
  Logical_Router_Static_Route: { table: "Logical_Router", column: "static_routes" },
  Logical_Router_Policy: { table: "Logical_Router", column: "policies" },
  NAT: { table: "Logical_Router", column: "nat" },
};

/** Undefined: a root, which nothing needs to hold. */
export function parentOf(table: TableName): Parent | undefined {
  return parents[table];
}
