// Generated from the schema of OVN_Northbound 7.0.0, Debian's ovn-central (npm run generate).
import type { DatabaseShape } from "../notation/shape.ts";

export const ovnNorthbound = {
  name: "OVN_Northbound",
  version: "7.0.0",
  tables: {
    NB_Global: {
      name: "string",
      nb_cfg: "integer",
      nb_cfg_timestamp: "integer",
      sb_cfg: "integer",
      sb_cfg_timestamp: "integer",
      hv_cfg: "integer",
      hv_cfg_timestamp: "integer",
      external_ids: { map: ["string", "string"] },
      connections: { set: "uuid" }, // -> Connection
      ssl: { optional: "uuid" }, // -> SSL
      options: { map: ["string", "string"] },
      ipsec: "boolean",
    },
    Copp: {
      name: "string",
      meters: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    Logical_Switch: {
      name: "string",
      ports: { set: "uuid" }, // -> Logical_Switch_Port
      acls: { set: "uuid" }, // -> ACL
      qos_rules: { set: "uuid" }, // -> QoS
      load_balancer: { set: "uuid" }, // -> Load_Balancer
      load_balancer_group: { set: "uuid" }, // -> Load_Balancer_Group
      dns_records: { set: "uuid" }, // -> DNS
      copp: { optional: "uuid" }, // -> Copp
      other_config: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
      forwarding_groups: { set: "uuid" }, // -> Forwarding_Group
    },
    Logical_Switch_Port: {
      name: "string",
      type: "string",
      options: { map: ["string", "string"] },
      parent_name: { optional: "string" },
      tag_request: { optional: "integer" },
      tag: { optional: "integer" },
      addresses: { set: "string" },
      dynamic_addresses: { optional: "string" },
      port_security: { set: "string" },
      up: { optional: "boolean" },
      enabled: { optional: "boolean" },
      dhcpv4_options: { optional: "uuid" }, // -> DHCP_Options
      dhcpv6_options: { optional: "uuid" }, // -> DHCP_Options
      mirror_rules: { set: "uuid" }, // -> Mirror
      ha_chassis_group: { optional: "uuid" }, // -> HA_Chassis_Group
      external_ids: { map: ["string", "string"] },
    },
    Forwarding_Group: {
      name: "string",
      vip: "string",
      vmac: "string",
      liveness: "boolean",
      external_ids: { map: ["string", "string"] },
      child_port: { set: "string" },
    },
    Address_Set: {
      name: "string",
      addresses: { set: "string" },
      external_ids: { map: ["string", "string"] },
    },
    Port_Group: {
      name: "string",
      ports: { set: "uuid" }, // -> Logical_Switch_Port
      acls: { set: "uuid" }, // -> ACL
      external_ids: { map: ["string", "string"] },
    },
    Load_Balancer: {
      name: "string",
      vips: { map: ["string", "string"] },
      protocol: { optional: { enum: ["tcp", "udp", "sctp"] } },
      health_check: { set: "uuid" }, // -> Load_Balancer_Health_Check
      ip_port_mappings: { map: ["string", "string"] },
      selection_fields: { set: { enum: ["eth_src", "eth_dst", "ip_src", "ip_dst", "tp_src", "tp_dst"] } },
      options: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    Load_Balancer_Group: {
      name: "string",
      load_balancer: { set: "uuid" }, // -> Load_Balancer
    },
    Load_Balancer_Health_Check: {
      vip: "string",
      options: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    ACL: {
      name: { optional: "string" },
      priority: "integer",
      direction: { enum: ["from-lport", "to-lport"] },
      match: "string",
      action: { enum: ["allow", "allow-related", "allow-stateless", "drop", "reject"] },
      log: "boolean",
      severity: { optional: { enum: ["alert", "warning", "notice", "info", "debug"] } },
      meter: { optional: "string" },
      label: "integer",
      options: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    QoS: {
      priority: "integer",
      direction: { enum: ["from-lport", "to-lport"] },
      match: "string",
      action: { map: [{ enum: ["dscp"] }, "integer"] },
      bandwidth: { map: [{ enum: ["rate", "burst"] }, "integer"] },
      external_ids: { map: ["string", "string"] },
    },
    Mirror: {
      name: "string",
      filter: { enum: ["from-lport", "to-lport"] },
      sink: "string",
      type: { enum: ["gre", "erspan"] },
      index: "integer",
      external_ids: { map: ["string", "string"] },
    },
    Meter: {
      name: "string",
      unit: { enum: ["kbps", "pktps"] },
      bands: { set: "uuid" }, // -> Meter_Band
      fair: { optional: "boolean" },
      external_ids: { map: ["string", "string"] },
    },
    Meter_Band: {
      action: { enum: ["drop"] },
      rate: "integer",
      burst_size: "integer",
      external_ids: { map: ["string", "string"] },
    },
    Logical_Router: {
      name: "string",
      ports: { set: "uuid" }, // -> Logical_Router_Port
      static_routes: { set: "uuid" }, // -> Logical_Router_Static_Route
      policies: { set: "uuid" }, // -> Logical_Router_Policy
      enabled: { optional: "boolean" },
      nat: { set: "uuid" }, // -> NAT
      load_balancer: { set: "uuid" }, // -> Load_Balancer
      load_balancer_group: { set: "uuid" }, // -> Load_Balancer_Group
      copp: { optional: "uuid" }, // -> Copp
      options: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    Logical_Router_Port: {
      name: "string",
      gateway_chassis: { set: "uuid" }, // -> Gateway_Chassis
      ha_chassis_group: { optional: "uuid" }, // -> HA_Chassis_Group
      options: { map: ["string", "string"] },
      networks: { set: "string" },
      mac: "string",
      peer: { optional: "string" },
      enabled: { optional: "boolean" },
      ipv6_ra_configs: { map: ["string", "string"] },
      ipv6_prefix: { set: "string" },
      external_ids: { map: ["string", "string"] },
    },
    Logical_Router_Static_Route: {
      route_table: "string",
      ip_prefix: "string",
      policy: { optional: { enum: ["src-ip", "dst-ip"] } },
      nexthop: "string",
      output_port: { optional: "string" },
      bfd: { optional: "uuid" }, // -> BFD
      options: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    Logical_Router_Policy: {
      priority: "integer",
      match: "string",
      action: { enum: ["allow", "drop", "reroute"] },
      nexthop: { optional: "string" },
      nexthops: { set: "string" },
      options: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    NAT: {
      external_ip: "string",
      external_mac: { optional: "string" },
      external_port_range: "string",
      logical_ip: "string",
      logical_port: { optional: "string" },
      type: { enum: ["dnat", "snat", "dnat_and_snat"] },
      allowed_ext_ips: { optional: "uuid" }, // -> Address_Set
      exempted_ext_ips: { optional: "uuid" }, // -> Address_Set
      gateway_port: { optional: "uuid" }, // -> Logical_Router_Port
      options: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    DHCP_Options: {
      cidr: "string",
      options: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    Connection: {
      target: "string",
      max_backoff: { optional: "integer" },
      inactivity_probe: { optional: "integer" },
      other_config: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
      is_connected: "boolean",
      status: { map: ["string", "string"] },
    },
    DNS: {
      records: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    SSL: {
      private_key: "string",
      certificate: "string",
      ca_cert: "string",
      bootstrap_ca_cert: "boolean",
      ssl_protocols: "string",
      ssl_ciphers: "string",
      external_ids: { map: ["string", "string"] },
    },
    Gateway_Chassis: {
      name: "string",
      chassis_name: "string",
      priority: "integer",
      external_ids: { map: ["string", "string"] },
      options: { map: ["string", "string"] },
    },
    HA_Chassis: {
      chassis_name: "string",
      priority: "integer",
      external_ids: { map: ["string", "string"] },
    },
    HA_Chassis_Group: {
      name: "string",
      ha_chassis: { set: "uuid" }, // -> HA_Chassis
      external_ids: { map: ["string", "string"] },
    },
    BFD: {
      logical_port: "string",
      dst_ip: "string",
      min_tx: { optional: "integer" },
      min_rx: { optional: "integer" },
      detect_mult: { optional: "integer" },
      status: { optional: { enum: ["down", "init", "up", "admin_down"] } },
      external_ids: { map: ["string", "string"] },
      options: { map: ["string", "string"] },
    },
    Static_MAC_Binding: {
      logical_port: "string",
      ip: "string",
      mac: "string",
      override_dynamic_mac: "boolean",
    },
    Chassis_Template_Var: {
      chassis: "string",
      variables: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
  },
} as const satisfies DatabaseShape;
