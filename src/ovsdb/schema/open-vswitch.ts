// Generated from the schema of Open_vSwitch 8.3.1, Debian's openvswitch-switch (npm run generate).
import type { DatabaseShape } from "../notation/shape.ts";

export const openVSwitch = {
  name: "Open_vSwitch",
  version: "8.3.1",
  tables: {
    Open_vSwitch: {
      datapaths: { map: ["string", "uuid"] }, // -> Datapath
      bridges: { set: "uuid" }, // -> Bridge
      manager_options: { set: "uuid" }, // -> Manager
      ssl: { optional: "uuid" }, // -> SSL
      other_config: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
      next_cfg: "integer",
      cur_cfg: "integer",
      statistics: { map: ["string", "string"] },
      ovs_version: { optional: "string" },
      db_version: { optional: "string" },
      system_type: { optional: "string" },
      system_version: { optional: "string" },
      datapath_types: { set: "string" },
      iface_types: { set: "string" },
      dpdk_initialized: "boolean",
      dpdk_version: { optional: "string" },
    },
    Bridge: {
      name: "string",
      datapath_type: "string",
      datapath_version: "string",
      datapath_id: { optional: "string" },
      stp_enable: "boolean",
      rstp_enable: "boolean",
      mcast_snooping_enable: "boolean",
      ports: { set: "uuid" }, // -> Port
      mirrors: { set: "uuid" }, // -> Mirror
      netflow: { optional: "uuid" }, // -> NetFlow
      sflow: { optional: "uuid" }, // -> sFlow
      ipfix: { optional: "uuid" }, // -> IPFIX
      controller: { set: "uuid" }, // -> Controller
      protocols: {
        set: { enum: ["OpenFlow10", "OpenFlow11", "OpenFlow12", "OpenFlow13", "OpenFlow14", "OpenFlow15"] },
      },
      fail_mode: { optional: { enum: ["standalone", "secure"] } },
      status: { map: ["string", "string"] },
      rstp_status: { map: ["string", "string"] },
      other_config: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
      flood_vlans: { set: "integer" },
      flow_tables: { map: ["integer", "uuid"] }, // -> Flow_Table
      auto_attach: { optional: "uuid" }, // -> AutoAttach
    },
    Port: {
      name: "string",
      interfaces: { set: "uuid" }, // -> Interface
      trunks: { set: "integer" },
      cvlans: { set: "integer" },
      tag: { optional: "integer" },
      vlan_mode: { optional: { enum: ["trunk", "access", "native-tagged", "native-untagged", "dot1q-tunnel"] } },
      qos: { optional: "uuid" }, // -> QoS
      mac: { optional: "string" },
      bond_mode: { optional: { enum: ["balance-tcp", "balance-slb", "active-backup"] } },
      lacp: { optional: { enum: ["active", "passive", "off"] } },
      bond_updelay: "integer",
      bond_downdelay: "integer",
      bond_active_slave: { optional: "string" },
      bond_fake_iface: "boolean",
      fake_bridge: "boolean",
      status: { map: ["string", "string"] },
      rstp_status: { map: ["string", "string"] },
      rstp_statistics: { map: ["string", "integer"] },
      statistics: { map: ["string", "integer"] },
      protected: "boolean",
      other_config: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    Interface: {
      name: "string",
      type: "string",
      options: { map: ["string", "string"] },
      ingress_policing_rate: "integer",
      ingress_policing_burst: "integer",
      ingress_policing_kpkts_rate: "integer",
      ingress_policing_kpkts_burst: "integer",
      mac_in_use: { optional: "string" },
      mac: { optional: "string" },
      ifindex: { optional: "integer" },
      external_ids: { map: ["string", "string"] },
      ofport: { optional: "integer" },
      ofport_request: { optional: "integer" },
      bfd: { map: ["string", "string"] },
      bfd_status: { map: ["string", "string"] },
      cfm_mpid: { optional: "integer" },
      cfm_remote_mpids: { set: "integer" },
      cfm_flap_count: { optional: "integer" },
      cfm_fault: { optional: "boolean" },
      cfm_fault_status: { set: "string" },
      cfm_remote_opstate: { optional: { enum: ["up", "down"] } },
      cfm_health: { optional: "integer" },
      lacp_current: { optional: "boolean" },
      lldp: { map: ["string", "string"] },
      other_config: { map: ["string", "string"] },
      statistics: { map: ["string", "integer"] },
      status: { map: ["string", "string"] },
      admin_state: { optional: { enum: ["up", "down"] } },
      link_state: { optional: { enum: ["up", "down"] } },
      link_resets: { optional: "integer" },
      link_speed: { optional: "integer" },
      duplex: { optional: { enum: ["half", "full"] } },
      mtu: { optional: "integer" },
      mtu_request: { optional: "integer" },
      error: { optional: "string" },
    },
    Flow_Table: {
      name: { optional: "string" },
      flow_limit: { optional: "integer" },
      overflow_policy: { optional: { enum: ["refuse", "evict"] } },
      groups: { set: "string" },
      prefixes: { set: "string" },
      external_ids: { map: ["string", "string"] },
    },
    QoS: {
      type: "string",
      queues: { map: ["integer", "uuid"] }, // -> Queue
      other_config: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    Queue: {
      dscp: { optional: "integer" },
      other_config: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    Mirror: {
      name: "string",
      select_all: "boolean",
      select_src_port: { set: "uuid" }, // -> Port
      select_dst_port: { set: "uuid" }, // -> Port
      select_vlan: { set: "integer" },
      output_port: { optional: "uuid" }, // -> Port
      output_vlan: { optional: "integer" },
      snaplen: { optional: "integer" },
      statistics: { map: ["string", "integer"] },
      external_ids: { map: ["string", "string"] },
    },
    NetFlow: {
      targets: { set: "string" },
      engine_type: { optional: "integer" },
      engine_id: { optional: "integer" },
      add_id_to_interface: "boolean",
      active_timeout: "integer",
      external_ids: { map: ["string", "string"] },
    },
    sFlow: {
      targets: { set: "string" },
      sampling: { optional: "integer" },
      polling: { optional: "integer" },
      header: { optional: "integer" },
      agent: { optional: "string" },
      external_ids: { map: ["string", "string"] },
    },
    IPFIX: {
      targets: { set: "string" },
      sampling: { optional: "integer" },
      obs_domain_id: { optional: "integer" },
      obs_point_id: { optional: "integer" },
      cache_active_timeout: { optional: "integer" },
      cache_max_flows: { optional: "integer" },
      other_config: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    Flow_Sample_Collector_Set: {
      id: "integer",
      bridge: "uuid", // -> Bridge
      ipfix: { optional: "uuid" }, // -> IPFIX
      external_ids: { map: ["string", "string"] },
    },
    Controller: {
      type: { optional: { enum: ["primary", "service"] } },
      target: "string",
      max_backoff: { optional: "integer" },
      inactivity_probe: { optional: "integer" },
      connection_mode: { optional: { enum: ["in-band", "out-of-band"] } },
      local_ip: { optional: "string" },
      local_netmask: { optional: "string" },
      local_gateway: { optional: "string" },
      enable_async_messages: { optional: "boolean" },
      controller_queue_size: { optional: "integer" },
      controller_rate_limit: { optional: "integer" },
      controller_burst_limit: { optional: "integer" },
      other_config: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
      is_connected: "boolean",
      role: { optional: { enum: ["other", "master", "slave"] } },
      status: { map: ["string", "string"] },
    },
    Manager: {
      target: "string",
      max_backoff: { optional: "integer" },
      inactivity_probe: { optional: "integer" },
      connection_mode: { optional: { enum: ["in-band", "out-of-band"] } },
      other_config: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
      is_connected: "boolean",
      status: { map: ["string", "string"] },
    },
    Datapath: {
      datapath_version: "string",
      ct_zones: { map: ["integer", "uuid"] }, // -> CT_Zone
      capabilities: { map: ["string", "string"] },
      external_ids: { map: ["string", "string"] },
    },
    CT_Zone: {
      timeout_policy: { optional: "uuid" }, // -> CT_Timeout_Policy
      external_ids: { map: ["string", "string"] },
    },
    CT_Timeout_Policy: {
      timeouts: {
        map: [
          {
            enum: [
              "tcp_syn_sent",
              "tcp_syn_recv",
              "tcp_established",
              "tcp_fin_wait",
              "tcp_close_wait",
              "tcp_last_ack",
              "tcp_time_wait",
              "tcp_close",
              "tcp_syn_sent2",
              "tcp_retransmit",
              "tcp_unack",
              "udp_first",
              "udp_single",
              "udp_multiple",
              "icmp_first",
              "icmp_reply",
            ],
          },
          "integer",
        ],
      },
      external_ids: { map: ["string", "string"] },
    },
    SSL: {
      private_key: "string",
      certificate: "string",
      ca_cert: "string",
      bootstrap_ca_cert: "boolean",
      external_ids: { map: ["string", "string"] },
    },
    AutoAttach: {
      system_name: "string",
      system_description: "string",
      mappings: { map: ["integer", "integer"] },
    },
  },
} as const satisfies DatabaseShape;
