// Rows that others have written: some that are nobody's business, and some that OVN-Kubernetes has left of VMs.
import { randomUUID } from "node:crypto";

import { parentOf, type TableName } from "../../src/ovn/rows/tables.ts";
import type { Operation } from "../../src/ovsdb/operations/operation.ts";
import { Operations } from "../../src/ovsdb/operations/operation.ts";
import { ovnNorthbound } from "../../src/ovsdb/schema/ovn-northbound.ts";

const nb = new Operations(ovnNorthbound);

/** A row with a uuid of its own, in a switch or router by its name. */
function foreign(table: TableName, row: object, within?: string): Operation[] {
  const uuid = randomUUID();
  const insert = nb.insert(table, row, { uuid });
  const above = parentOf(table);
  if (above === undefined) return [insert];
  const hold = { op: "mutate", table: above.table, where: [["name", "==", within]] } as const;
  return [insert, { ...hold, mutations: [[above.column, "insert", ["set", [["uuid", uuid]]]]] }];
}

/** None of these is to be touched, whatever VMs do. */
export function strangers(): Operation[] {
  const udn = { "k8s.ovn.org/owner-controller": "blue-network-controller", "k8s.ovn.org/owner-type": "VirtualMachine" };
  const vm1 = { "k8s.ovn.org/zone": "local", "k8s.ovn.org/namespace": "t", "k8s.ovn.org/vm": "vm1" };
  return [
    ...foreign("Logical_Switch", { name: "blue" }),
    ...foreign("Logical_Router", { name: "blue_router" }),
    ...foreign("Logical_Switch_Port", podPort("t_web", "10.244.0.77"), "n1"),
    ...foreign(
      "Logical_Switch_Port",
      { ...podPort("other_web", "10.244.0.4"), external_ids: { namespace: "o", pod: "true" } },
      "blue",
    ),
    ...foreign(
      "Logical_Router_Static_Route",
      { ip_prefix: "10.96.0.0/16", nexthop: "100.64.0.2" },
      "ovn_cluster_router",
    ),
    ...foreign(
      "Logical_Router_Static_Route",
      { ip_prefix: "10.244.0.4", nexthop: "10.0.0.1", external_ids: vm1 },
      "blue_router",
    ),
    ...foreign(
      "Logical_Router_Policy",
      { priority: 100, match: "ip4.src == 10.244.0.4", action: "drop" },
      "ovn_cluster_router",
    ),
    ...foreign("NAT", { type: "snat", logical_ip: "10.244.0.77", external_ip: "172.30.0.1" }, "GR_n1"),
    ...foreign(
      "NAT",
      { type: "snat", logical_ip: "10.244.0.4", external_ip: "172.30.9.9", external_ids: { name: "egress" } },
      "GR_n2",
    ),
    ...foreign("DHCP_Options", {
      cidr: "10.1.0.0/16",
      external_ids: { ...udn, "k8s.ovn.org/name": "t/vm1", "k8s.ovn.org/id": "blue:t/vm1" },
    }),
    ...foreign("Static_MAC_Binding", { logical_port: "rtoe-GR_n1", ip: "10.244.0.4", mac: "0a:00:00:00:00:01" }),
  ];
}

/** What OVN-Kubernetes leaves of t/vm1 after a life of migrations and a crash or two; and of a VM that is no more. */
export function leftovers(ip: string): Operation[] {
  const of = (vm: string) => ({ "k8s.ovn.org/zone": "remote", "k8s.ovn.org/namespace": "t", "k8s.ovn.org/vm": vm });
  const dhcp = (vm: string) => ({
    cidr: "10.244.0.0/24",
    options: { router: "10.244.0.1" },
    external_ids: {
      "k8s.ovn.org/owner-controller": "default-network-controller",
      "k8s.ovn.org/owner-type": "VirtualMachine",
      "k8s.ovn.org/name": `t/${vm}`,
      "k8s.ovn.org/id": `default-network-controller:VirtualMachine:t/${vm}:10.244.0.0/24`,
      "k8s.ovn.org/zone": "local",
    },
  });
  const route = { ip_prefix: ip, policy: "dst-ip", external_ids: of("vm1") } as const;
  const cluster = "ovn_cluster_router";
  return [
    ...foreign("Logical_Switch_Port", podPort("t_vl-old", ip), "n2"),
    ...foreign("Logical_Router_Static_Route", { ...route, nexthop: ip, output_port: "rtos-n3" }, cluster),
    ...foreign("Logical_Router_Static_Route", { ...route, nexthop: "100.88.0.9" }, cluster),
    ...foreign(
      "Logical_Router_Static_Route",
      { ...route, ip_prefix: "10.244.9.9", nexthop: "10.244.9.9", external_ids: of("gone") },
      cluster,
    ),
    ...foreign(
      "Logical_Router_Policy",
      {
        priority: 10,
        match: `ip4.src == ${ip}`,
        action: "reroute",
        nexthops: ["100.64.0.99"],
        external_ids: of("vm1"),
      },
      cluster,
    ),
    ...["GR_n1", "GR_n2"].flatMap((gateway) =>
      foreign(
        "NAT",
        { type: "snat", logical_ip: ip, external_ip: "172.30.0.1", options: { stateless: "false" } },
        gateway,
      ),
    ),
    ...foreign("DHCP_Options", dhcp("vm1")),
    ...foreign("DHCP_Options", dhcp("vm1")),
    ...foreign("DHCP_Options", dhcp("gone")),
  ];
}

function podPort(name: string, ip: string) {
  const addresses = [`0a:58:0a:f4:00:04 ${ip}`];
  return { name, addresses, port_security: addresses, external_ids: { namespace: "t", pod: "true" } };
}
