// What the lab sees of a southbound database: which chassis are there, and where ports are bound.
import { follow } from "../../../src/ovsdb/cache/followed.ts";
import type { DatabaseShape } from "../../../src/ovsdb/notation/shape.ts";

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
  columns: ["name", "hostname", "other_config"],
  indexes: { name: (row) => [row.name] },
});

export const bindings = follow(southbound, "Port_Binding", {
  columns: ["logical_port", "chassis", "additional_chassis", "up"],
  indexes: { port: (row) => [row.logical_port] },
});
