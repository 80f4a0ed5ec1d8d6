// What is followed and written of a southbound database: the rest of it is ovn-northd's and the chassis' own.
import { follow } from "../../ovsdb/cache/followed.ts";
import type { DatabaseShape } from "../../ovsdb/notation/shape.ts";

export const southbound = {
  name: "OVN_Southbound",
  version: "20.27.0", // OVN 23.03's
  tables: {
    Chassis: {
      name: "string",
      hostname: "string",
      encaps: { set: "uuid" },
      other_config: { map: ["string", "string"] },
    },
    Chassis_Private: { name: "string" },
    Encap: {
      type: { enum: ["geneve", "stt", "vxlan"] },
      ip: "string",
      options: { map: ["string", "string"] },
      chassis_name: "string",
    },
    Port_Binding: {
      logical_port: "string",
      chassis: { optional: "uuid" },
      additional_chassis: { set: "uuid" },
      up: { optional: "boolean" },
    },
  },
} as const satisfies DatabaseShape;

export const chassis = follow(southbound, "Chassis", {
  columns: ["name", "hostname", "encaps", "other_config"],
  indexes: { name: (row) => [row.name] },
});

export const encaps = follow(southbound, "Encap", { columns: ["type", "ip", "chassis_name"] });

export const bindings = follow(southbound, "Port_Binding", {
  columns: ["logical_port", "chassis", "additional_chassis", "up"],
  indexes: { port: (row) => [row.logical_port] },
});

/** What the client of a southbound database has to follow. */
export const southboundTables = [chassis, encaps, bindings];
