// A northbound database written by hand, for the lab's own tests: one router, a switch and a gateway router per node,
// pods, and VMs that move with a /32 route. What Holdfast itself writes is src/ovn's; nothing here is a model for it.
import { follow } from "../../../src/ovsdb/cache/followed.ts";
import type { Uuid } from "../../../src/ovsdb/notation/uuid.ts";
import { named, type Operation, Operations } from "../../../src/ovsdb/operations/operation.ts";
import { ovnNorthbound } from "../../../src/ovsdb/schema/ovn-northbound.ts";
import { run } from "../command.ts";
import { LabClient } from "./client.ts";
import type { OvnGuest } from "./guest.ts";
import type { OvnLab } from "./lab.ts";
import type { OvnPod } from "./pod.ts";
import { outsideAddress } from "./wiring.ts";

const nb = new Operations(ovnNorthbound);
const global = follow(ovnNorthbound, "NB_Global", { columns: ["nb_cfg", "hv_cfg"] });

export const proxyMac = "0a:58:a9:fe:01:01";
export const linkLocalGateway = "169.254.1.1";
const clusterNetwork = "10.244.0.0/16";
const router = "ovn_cluster_router";

/** As OVN-Kubernetes makes them: 10.244.0.8 -> 0a:58:0a:f4:00:08. */
export const macOf = (address: string) =>
  `0a:58:${address
    .split(".")
    .map((octet) => Number(octet).toString(16).padStart(2, "0"))
    .join(":")}`;

const subnetOf = (index: number) => `10.244.${index - 1}`;
const joinAddressOf = (index: number) => `100.64.0.${index + 1}`;

export class HandTopology implements AsyncDisposable {
  readonly lab: OvnLab;
  readonly #client: LabClient;
  readonly #pods: OvnPod[] = [];

  private constructor(lab: OvnLab, client: LabClient) {
    this.lab = lab;
    this.#client = client;
  }

  /** The router, and each node's switch and way outside; one zone only. */
  static async open(lab: OvnLab, signal?: AbortSignal): Promise<HandTopology> {
    if (lab.zones.length > 1) throw new Error("a topology by hand has one zone");
    const client = await LabClient.open(ovnNorthbound, lab.northbound(), [global], signal);
    const topology = new HandTopology(lab, client);
    await client.ovsdb.transact([
      nb.insert("Logical_Router", { name: router }),
      nb.insert("Logical_Switch", { name: "join" }),
      ...link("join", router, `rtoj-${router}`, macOf("100.64.0.1"), "100.64.0.1/16"),
      ...policy(102, `ip4.src == ${clusterNetwork} && ip4.dst == ${clusterNetwork}`, "allow"),
      ...lab.nodes.flatMap(({ name }, at) => nodeRows(name, at + 1, lab)),
    ]);
    await lab.outside.run(["ip", "route", "add", clusterNetwork, "via", lab.wiring.outsideAddressOf(1)]);
    await topology.settled(signal);
    return topology;
  }

  /** `10.244.0.5` of the node's subnet, by its last octet. */
  addressOn(node: string, octet: number): string {
    return `${subnetOf(this.#indexOf(node))}.${octet}`;
  }

  async pod(name: string, node: string, octet: number, signal?: AbortSignal): Promise<OvnPod> {
    const address = this.addressOn(node, octet);
    const mac = macOf(address);
    const port = `default_${name}`;
    await this.#client.ovsdb.transact(portRows(node, port, mac, address, { "requested-chassis": node }));
    const gateway = `${subnetOf(this.#indexOf(node))}.1`;
    const plan = { name, port, mac, addresses: [`${address}/24`], gateways: [gateway] };
    const pod = await this.lab.pod(node, plan, signal);
    await pod.installed(signal);
    this.#pods.push(pod);
    return pod;
  }

  podNamed(name: string): OvnPod {
    return this.#pods.find(({ plan }) => plan.name === name)!;
  }

  /** DHCP for a VM, whose ports come by `vmPort`: its address stays of the subnet where it was born. */
  async dhcp(vm: string, address: string): Promise<void> {
    await this.#client.ovsdb.transact([dhcpOptions(vm, address, linkLocalGateway)]);
  }

  async vmPort(vm: string, port: string, node: string, address: string): Promise<void> {
    const rows = portRows(node, port, macOf(address), address, { "requested-chassis": node });
    await this.#client.ovsdb.transact(rows);
    await this.#serve(vm, port);
  }

  async #serve(vm: string, port: string): Promise<void> {
    const { ovsdb } = this.#client;
    const where = [["external_ids", "includes", { vm }]] as const;
    const [found] = await ovsdb.transact([nb.select("DHCP_Options", where, [])]);
    const [dhcpv4_options] = uuidsOf(found?.rows);
    await ovsdb.transact([nb.update("Logical_Switch_Port", [["name", "==", port]], { dhcpv4_options })]);
  }

  /**
   * The guest runs on its seat's node from now on, and its earlier port is no more. Its own subnet's node needs no
   * route. Then the neighbours are told.
   */
  async moved(guest: OvnGuest, address: string, from: { node: string; port: string }): Promise<void> {
    const { ovsdb } = this.#client;
    const [found] = await ovsdb.transact([nb.select("Logical_Switch_Port", [["name", "==", from.port]], [])]);
    const here = guest.seat.node.name;
    await ovsdb.transact([
      ...(await this.#unroute(address)),
      ...(this.#isHome(here, address) ? [] : this.#routeRows(address, here)),
      nb.mutate("Logical_Switch", [["name", "==", from.node]], [["ports", "delete", uuidsOf(found?.rows)]]),
    ]);
    await this.#announce(guest, address);
  }

  /**
   * The neighbours of a VM that has moved away or came back, told by gratuitous ARP: the pods of its subnet learn where
   * it is, and it learns where they are. Put straight on each port: no daemon of ours is here to send them.
   */
  async #announce(guest: OvnGuest, address: string): Promise<void> {
    const owner = address.replace(/\d+$/, "");
    const isHome = this.#isHome(guest.seat.node.name, address);
    const told = this.#pods.filter(({ plan }) => plan.addresses[0]!.startsWith(owner));
    await Promise.all(
      told.flatMap((pod) => {
        const podAddress = pod.plan.addresses[0]!.replace(/\/.*/, "");
        const [vmMac, podMac] = isHome ? [macOf(address), pod.plan.mac] : [proxyMac, proxyMac];
        return [
          this.#gratuitous(pod.node.name, pod.link, pod.plan.mac, address, vmMac),
          this.#gratuitous(guest.seat.node.name, guest.seat.tap, guest.plan.mac, podAddress, podMac),
        ];
      }),
    );
  }

  /** Every chassis has what is in the database now. */
  async settled(signal?: AbortSignal): Promise<void> {
    const { ovsdb } = this.#client;
    const row = () => [...ovsdb.rows(global).list()][0];
    const wanted = (row()?.nb_cfg ?? 0) + 1;
    const isOpen = [["_uuid", "==", row()!.uuid]] as const;
    await ovsdb.transact([nb.update("NB_Global", isOpen, { nb_cfg: wanted })]);
    await this.#client.until(
      "every chassis to be up to date",
      () => (row()?.hv_cfg ?? 0) >= wanted || undefined,
      signal,
    );
  }

  /** One switch over all nodes, its pods without a router, a port that may be on two chassis. */
  async spanningSwitch(name: string): Promise<void> {
    await this.#client.ovsdb.transact([nb.insert("Logical_Switch", { name })]);
  }

  async spanningPort(
    switchName: string,
    port: string,
    address: string,
    options: Record<string, string>,
  ): Promise<void> {
    await this.#client.ovsdb.transact(portRows(switchName, port, macOf(address), address, options));
  }

  async spanningDhcp(vm: string, port: string, address: string): Promise<void> {
    await this.#client.ovsdb.transact([dhcpOptions(vm, address, address.replace(/\d+$/, "1"))]);
    await this.#serve(vm, port);
  }

  /** Its options, all of them. */
  async portOptions(port: string, options: Record<string, string>): Promise<void> {
    await this.#client.ovsdb.transact([nb.update("Logical_Switch_Port", [["name", "==", port]], { options })]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }

  #isHome(node: string, address: string): boolean {
    return this.addressOn(node, 0) === address.replace(/\d+$/, "0");
  }

  #indexOf(node: string): number {
    return this.lab.nodes.findIndex((each) => each.name === node) + 1;
  }

  #routeRows(address: string, node: string): Operation[] {
    const external_ids = { vm: address };
    const route = {
      ip_prefix: address,
      nexthop: address,
      policy: "dst-ip",
      output_port: `rtos-${node}`,
      external_ids,
    } as const;
    return [
      nb.insert("Logical_Router_Static_Route", route, { named: "vm_route" }),
      nb.mutate("Logical_Router", [["name", "==", router]], [["static_routes", "insert", [named("vm_route")]]]),
      ...policy(10, `ip4.src == ${address}`, "reroute", joinAddressOf(this.#indexOf(node)), external_ids),
    ];
  }

  async #unroute(address: string): Promise<Operation[]> {
    const where = [["external_ids", "includes", { vm: address }]] as const;
    const [routes, policies] = await this.#client.ovsdb.transact([
      nb.select("Logical_Router_Static_Route", where, []),
      nb.select("Logical_Router_Policy", where, []),
    ]);
    const isRouter = [["name", "==", router]] as const;
    return [
      nb.mutate("Logical_Router", isRouter, [["static_routes", "delete", uuidsOf(routes?.rows)]]),
      nb.mutate("Logical_Router", isRouter, [["policies", "delete", uuidsOf(policies?.rows)]]),
    ];
  }

  async #gratuitous(node: string, port: string, to: string, address: string, isAt: string): Promise<void> {
    const at = this.lab.node(node).switch;
    const hex = (mac: string) => mac.replaceAll(":", "");
    const ip = macOf(address).slice("0a:58:".length).replaceAll(":", "");
    // Ethernet, ARP's reply: who says so, and to whom (RFC 826)
    const frame = `${hex(to)}${hex(isAt)}08060001080006040002${hex(isAt)}${ip}${hex(to)}${ip}`;
    const words = `in_port=controller packet=${frame} actions=output:${at.portNumber(port)}`;
    await run(this.lab.programs.command("ovs-ofctl", "packet-out", at.managementOf("br-int"), words));
  }
}

function nodeRows(node: string, index: number, lab: OvnLab): Operation[] {
  const [subnet, join, outside] = [subnetOf(index), joinAddressOf(index), lab.wiring.outsideAddressOf(index)];
  const gateway = `GR_${node}`;
  // 23.03 takes addresses alone, and a MAC or a network among them makes it take none
  const proxied =
    lab.programs.version === "23.03" ? linkLocalGateway : `${proxyMac} ${linkLocalGateway} fe80::1 ${clusterNetwork}`;
  return [
    nb.insert("Logical_Switch", { name: node, other_config: { subnet: `${subnet}.0/24` } }),
    ...link(node, router, `rtos-${node}`, macOf(`${subnet}.1`), `${subnet}.1/24`, { arp_proxy: proxied }),
    nb.insert("Logical_Router", { name: gateway, options: { chassis: node } }),
    ...link("join", gateway, `rtoj-${gateway}`, macOf(join), `${join}/16`),
    nb.insert("Logical_Switch", { name: `ext_${node}` }),
    ...link(`ext_${node}`, gateway, `rtoe-${gateway}`, macOf(outside), `${outside}/24`),
    ...portOn(`ext_${node}`, {
      name: `phys_${node}`,
      type: "localnet",
      addresses: ["unknown"],
      options: { network_name: "physnet" },
    }),
    ...routeIn(gateway, clusterNetwork, "100.64.0.1", "dst-ip"),
    ...routeIn(gateway, "0.0.0.0/0", outsideAddress, "dst-ip"),
    ...routeIn(router, `${subnet}.0/24`, join, "src-ip"),
  ];
}

const uuidsOf = (rows: readonly unknown[] = []) => rows.map((row) => (row as { _uuid: [string, Uuid] })["_uuid"][1]);

let rows = 0;
/** A name for a row within its transaction. */
const fresh = (kind: string) => `${kind}_${rows++}`;

function portOn(switchName: string, row: Parameters<typeof nb.insert<"Logical_Switch_Port">>[1]): Operation[] {
  const id = fresh("port");
  return [
    nb.insert("Logical_Switch_Port", row, { named: id }),
    nb.mutate("Logical_Switch", [["name", "==", switchName]], [["ports", "insert", [named(id)]]]),
  ];
}

/** A router's port, and the switch's that leads to it. */
function link(
  switchName: string,
  routerName: string,
  name: string,
  mac: string,
  network: string,
  options: Readonly<Record<string, string>> = {},
): Operation[] {
  const id = fresh("link");
  return [
    nb.insert("Logical_Router_Port", { name, mac, networks: [network] }, { named: id }),
    nb.mutate("Logical_Router", [["name", "==", routerName]], [["ports", "insert", [named(id)]]]),
    ...portOn(switchName, {
      name: `to-${name}`,
      type: "router",
      addresses: ["router"],
      options: { "router-port": name, ...options },
    }),
  ];
}

function portRows(
  switchName: string,
  name: string,
  mac: string,
  address: string,
  options: Readonly<Record<string, string>>,
): Operation[] {
  const both = [`${mac} ${address}`];
  return portOn(switchName, { name, addresses: both, port_security: both, options });
}

function routeIn(routerName: string, ip_prefix: string, nexthop: string, kind: "dst-ip" | "src-ip"): Operation[] {
  const id = fresh("route");
  return [
    nb.insert("Logical_Router_Static_Route", { ip_prefix, nexthop, policy: kind }, { named: id }),
    nb.mutate("Logical_Router", [["name", "==", routerName]], [["static_routes", "insert", [named(id)]]]),
  ];
}

function policy(
  priority: number,
  match: string,
  action: "allow" | "reroute",
  nexthop?: string,
  external_ids: Readonly<Record<string, string>> = {},
): Operation[] {
  const id = fresh("policy");
  const nexthops = nexthop === undefined ? [] : [nexthop];
  return [
    nb.insert("Logical_Router_Policy", { priority, match, action, nexthops, external_ids }, { named: id }),
    nb.mutate("Logical_Router", [["name", "==", router]], [["policies", "insert", [named(id)]]]),
  ];
}

function dhcpOptions(vm: string, address: string, gateway: string): Operation {
  return nb.insert("DHCP_Options", {
    cidr: `${address.replace(/\d+$/, "0")}/24`,
    external_ids: { vm },
    options: {
      lease_time: "3500",
      router: gateway,
      server_id: gateway,
      server_mac: proxyMac,
      dns_server: "10.96.0.10",
      hostname: `"${vm}"`,
      mtu: "1400",
    },
  });
}
