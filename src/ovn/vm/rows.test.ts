// The rows of one VM, beside those that a real OVN-Kubernetes was seen to write for the same VM.
import { describe, expect, it } from "vitest";

import { newest, oldest, vmAt, zoneOf } from "../../../test/ovn/zones.ts";
import { parseAddress } from "../../net/address.ts";
import { proxyOf } from "../topology/proxy.ts";
import type { Zone } from "../zone/zone.ts";
import type { VmPlacement } from "./placement.ts";
import { rowsOfVm } from "./rows.ts";

const of = (zone: Zone, vm: VmPlacement, table: string) =>
  rowsOfVm(zone, vm)
    .filter((each) => each.table === table)
    .map(({ row }) => row);
const one = zoneOf();
const away = vmAt(["vl-a@n1", "vl-b@n2"], "vl-b@n2");

describe("a VM away from home, in one zone", () => {
  it("has one port with its addresses, and one without", () => {
    const ports = of(one, away, "Logical_Switch_Port");
    const own = "0a:58:0a:f4:00:04 10.244.0.4 fd10:244:0:1::4";
    expect(ports).toMatchObject([
      { name: "t_vl-a", addresses: [], port_security: [`${own} fe80::/64`] },
      {
        name: "t_vl-b",
        type: "",
        addresses: [own],
        port_security: [`${own} fe80::/64`],
        options: { "iface-id-ver": "uid-vl-b", "requested-chassis": "chassis-n2" },
        external_ids: { namespace: "t", pod: "true" },
      },
    ]);
  });

  it("is answered by DHCP with a router that is no address of a subnet", () => {
    expect(of(one, away, "DHCP_Options")).toEqual([
      {
        cidr: "10.244.0.0/24",
        options: {
          dns_server: "10.96.0.10",
          hostname: '"vm1"',
          lease_time: "3500",
          mtu: "1400",
          router: "169.254.1.1",
          server_id: "169.254.1.1",
          server_mac: "0a:58:a9:fe:01:01",
        },
        external_ids: {
          "k8s.ovn.org/cidr": "10.244.0.0/24",
          "k8s.ovn.org/id": "default-network-controller:VirtualMachine:t/vm1:10.244.0.0/24",
          "k8s.ovn.org/name": "t/vm1",
          "k8s.ovn.org/owner-controller": "default-network-controller",
          "k8s.ovn.org/owner-type": "VirtualMachine",
          "k8s.ovn.org/zone": "local",
        },
      },
      {
        cidr: "fd10:244:0:1::/64",
        options: { fqdn: '"vm1"', server_id: "0a:58:6d:6d:c1:50" },
        external_ids: expect.objectContaining({
          "k8s.ovn.org/id": "default-network-controller:VirtualMachine:t/vm1:fd10.244.0.1../64",
        }),
      },
    ]);
  });

  it.each([
    ["several DNS servers", ["10.96.0.10", "10.96.0.11"], "{10.96.0.10, 10.96.0.11}"],
    ["none", [], undefined],
  ])("%s", (_, servers, text) => {
    const zone = { ...one, dnsServers: servers.map((each) => parseAddress(each)) };
    const [v4] = of(zone, away, "DHCP_Options") as { options: Record<string, string> }[];
    expect(v4?.options["dns_server"]).toBe(text);
  });

  it("an OVN that does not know the option is not given it", () => {
    const [, v6] = of(zoneOf({ features: oldest }), away, "DHCP_Options");
    expect(v6).toMatchObject({ options: { server_id: "0a:58:6d:6d:c1:50" } });
    expect(v6).not.toHaveProperty("options.fqdn");
  });

  it("has a route, a neighbour entry and a way out per family", () => {
    const marks = { "k8s.ovn.org/namespace": "t", "k8s.ovn.org/vm": "vm1", "k8s.ovn.org/zone": "local" };
    const route = { policy: "dst-ip", output_port: "rtos-n2", external_ids: marks };
    expect(of(one, away, "Logical_Router_Static_Route")).toEqual([
      { ip_prefix: "10.244.0.4", nexthop: "10.244.0.4", ...route },
      { ip_prefix: "fd10:244:0:1::4", nexthop: "fd10:244:0:1::4", ...route },
    ]);
    expect(of(one, away, "Logical_Router_Policy")).toMatchObject([
      { priority: 10, match: "ip4.src == 10.244.0.4", action: "reroute", nexthops: ["100.64.0.3"] },
      { priority: 10, match: "ip6.src == fd10:244:0:1::4", action: "reroute", nexthops: ["fd98::3"] },
    ]);
    expect(of(one, away, "Static_MAC_Binding")).toHaveLength(2);
  });
});

describe("interconnected zones", () => {
  it.each([
    ["n1", "100.88.0.3", undefined, "remote", ["t_vl-a"]],
    ["n2", "10.244.0.4", "rtos-n2", "local", ["t_vl-b"]],
    ["n3", "100.88.0.3", undefined, "remote", []],
  ])("%s", (name, nexthop, port, where, ports) => {
    const zone = zoneOf({ of: name });
    const [route] = of(zone, away, "Logical_Router_Static_Route");
    expect(route).toMatchObject({ ip_prefix: "10.244.0.4", nexthop, external_ids: { "k8s.ovn.org/zone": where } });
    expect((route as { output_port?: string }).output_port).toBe(port);
    expect(of(zone, away, "Logical_Router_Policy")).toEqual([]);
    expect(of(zone, away, "Logical_Switch_Port").map((row) => (row as { name?: string }).name)).toEqual(ports);
    // The source can be asked for its address until it ends.
    expect(of(zone, away, "DHCP_Options")).toHaveLength(ports.length === 0 ? 0 : 2);
  });
});

describe("no routes", () => {
  it.each([
    ["at home", vmAt(["vl-a@n1"], "vl-a@n1")],
    ["before any pod is ready", vmAt(["vl-a@n2"], undefined)],
    ["at a node that nobody knows", vmAt([], undefined, { activeNode: "n9" })],
  ])("%s", (_, vm) => {
    expect(of(one, vm, "Logical_Router_Static_Route")).toEqual([]);
  });
});

describe("the proxy", () => {
  const node = (name: string, zone: Zone) => zone.nodes.find((each) => each.name === name)!;

  it("is one string where OVN takes prefixes", () => {
    const zone = zoneOf({ features: newest });
    expect(proxyOf(zone, node("n2", zone), [away])).toEqual({
      arpProxy: "0a:58:a9:fe:01:01 169.254.1.1 fe80::1 10.244.0.0/16 fd10:244::/48",
      addresses: ["router"],
    });
  });

  it("lists what is elsewhere where it does not, and never what is here", () => {
    const zone = zoneOf({ features: oldest });
    const [home, there, third] = ["n1", "n2", "n3"].map((name) => proxyOf(zone, node(name, zone), [away])) as [
      ReturnType<typeof proxyOf>,
      ReturnType<typeof proxyOf>,
      ReturnType<typeof proxyOf>,
    ];
    expect(home.arpProxy).toBe("169.254.1.1 10.244.0.4");
    expect(home.addresses).toEqual(["router", "0a:58:a9:fe:01:01 fe80::1 fd10:244:0:1::4"]);
    const listed = there.arpProxy.split(" ");
    expect(listed).toHaveLength(1 + 254 - 1);
    expect(listed).toContain("10.244.0.9");
    expect(listed).not.toContain("10.244.0.4");
    expect(third.arpProxy).toBe("169.254.1.1");
  });
});
