// A cluster on the lab, as far as the network needs one: topology and VMs' rows are Holdfast's own (src/ovn, by the
// writer of src/migration); pods' ports are written here, as long as there is no CNI plugin that does it.
import type { Zones } from "../../../../src/migration/leader/placement-writer.ts";
import { zoneOrder } from "../../../../src/migration/leader/zone-order.ts";
import type { Neighbour } from "../../../../src/migration/neighbours/announcements.ts";
import { NorthboundWriter, type NorthboundZone } from "../../../../src/migration/northbound/northbound-writer.ts";
import type { NodeSubnets } from "../../../../src/migration/objects/node-subnets.ts";
import { type Address, type Family, parseAddress, plus } from "../../../../src/net/address.ts";
import type { Prefix } from "../../../../src/net/prefix.ts";
import { podPort } from "../../../../src/ovn/names.ts";
import { Northbound, northboundTables } from "../../../../src/ovn/northbound.ts";
import type { VmPlacement } from "../../../../src/ovn/vm/placement.ts";
import { macOf, onSubnet, proxyAddress4, routerAddress } from "../../../../src/ovn/zone/addresses.ts";
import { featuresOf } from "../../../../src/ovn/zone/features.ts";
import { localNodes, type Zone, type ZoneNode } from "../../../../src/ovn/zone/zone.ts";
import { named, Operations } from "../../../../src/ovsdb/operations/operation.ts";
import { ovnNorthbound } from "../../../../src/ovsdb/schema/ovn-northbound.ts";
import { LabClient } from "../client.ts";
import type { OvnLab } from "../lab.ts";
import type { OvnPod } from "../pod.ts";
import { Heralds } from "./heralds.ts";
import type { PlayedPod, VmIdentity } from "./launchers.ts";
import { leavingOut } from "./left-out.ts";
import { PlayedVm, type VmNetwork } from "./played-vm.ts";
import { zoneOf, type ZonePlan } from "./zone-of.ts";

export interface ClusterWishes {
  /** Of nodes' subnets and VMs' rows: both, where none are named. */
  readonly families?: readonly Family[];
  /** What guests ask for addresses of, and are spoken with by: IPv4, where none are named. */
  readonly guestFamilies?: readonly Family[];
  /** The node by whose gateway the cluster is reached from outside: the first, where none is named. */
  readonly entry?: string;
  /** What leaves the cluster has the address of its node; otherwise the world outside knows routes to it. */
  readonly masks?: boolean;
  /** What is left out, to see what it is good for (scenarios/scenario.ts). */
  readonly without?: ReadonlySet<string>;
}

const nb = new Operations(ovnNorthbound);
const namespace = "t";

interface Database {
  readonly client: LabClient;
  readonly northbound: Northbound;
  readonly zone: () => Zone;
}

export class LabCluster implements AsyncDisposable, VmNetwork {
  readonly lab: OvnLab;
  readonly writer: NorthboundWriter;
  readonly moreRoutes = [`${proxyAddress4} dev eth0 scope link`, `default via ${proxyAddress4} dev eth0`] as const;
  readonly #wishes: ClusterWishes;
  readonly #removed: Set<string>;
  /** Key: the zone's name. */
  readonly #databases: ReadonlyMap<string, Database>;
  readonly #pods: OvnPod[] = [];
  readonly #vms: PlayedVm[] = [];
  #heralds: Heralds | undefined;

  private constructor(
    lab: OvnLab,
    databases: ReadonlyMap<string, Database>,
    wishes: ClusterWishes,
    removed: Set<string>,
  ) {
    this.lab = lab;
    this.#databases = databases;
    this.#wishes = wishes;
    this.#removed = removed;
    const zones = [...databases].map(([name, { northbound, zone }]): [string, NorthboundZone] => [
      name,
      { northbound: leavingOut(northbound, wishes.without ?? new Set()), zone },
    ]);
    this.writer = new NorthboundWriter(new Map(zones));
  }

  /** Topology, nodes' own ports, and a way from outside to the cluster by the first node. */
  static async open(lab: OvnLab, wishes: ClusterWishes = {}, signal?: AbortSignal): Promise<LabCluster> {
    const databases = new Map<string, Database>();
    const removed = new Set<string>();
    const plan: ZonePlan = { lab, removed, families: wishes.families ?? [4, 6], masks: wishes.masks ?? false };
    for (const { name } of lab.zones) {
      const client = await LabClient.open(ovnNorthbound, lab.northbound(name), northboundTables, signal);
      const northbound = new Northbound(client.ovsdb);
      // Until ovn-northd has told what it is, the least would be expected of it.
      await client.until("ovn-northd to tell its version", () => northbound.version, signal);
      const zone = () => zoneOf(plan, name, featuresOf(northbound.version));
      databases.set(name, { client, northbound, zone });
    }
    const cluster = new LabCluster(lab, databases, wishes, removed);
    const limit = signal ?? AbortSignal.timeout(60_000);
    for (const [name, { northbound }] of databases) {
      await cluster.writer.sweep(name, new Map(), limit);
      await northbound.barrier("sb", limit);
    }
    await lab.bindRemotes(limit);
    cluster.#heralds = await Heralds.open(lab, cluster.#nodes, signal);
    const entry = 1 + lab.nodes.findIndex(({ name }) => name === (wishes.entry ?? "node1"));
    await lab.outside.run(
      ["ip", "route", "add", "10.244.0.0/16", "via", lab.wiring.outsideAddressOf(entry)],
      ["ip", "route", "add", "fd10:244::/48", "via", lab.wiring.outsideAddressOf(entry, 6)],
    );
    await cluster.settled(signal);
    if (cluster.guestFamilies.includes(6)) cluster.#heralds.sayRouters(() => cluster.#vms);
    return cluster;
  }

  /**
   * The node's programs end as those of a machine that is switched off, and then it is taken out of the cluster:
   * topology and VMs' rows are written anew.
   */
  async removeNode(name: string, signal: AbortSignal): Promise<void> {
    const node = this.lab.node(name);
    await node.fail();
    this.#removed.add(name);
    await this.#heralds?.leave(name);
    this.#pods.splice(0, Infinity, ...this.#pods.filter((pod) => pod.node !== node));
    for (const zone of this.#databases.keys()) await this.writer.repair(zone, signal);
    for (const vm of this.#vms) await vm.reconcile(signal);
    for (const zone of this.lab.zones) await zone.removeChassis(name);
  }

  get guestFamilies(): readonly Family[] {
    return this.#wishes.guestFamilies ?? [4];
  }

  get zones(): Zones {
    const all = [...this.#databases.keys()];
    return { of: (node) => this.lab.zone(node).name, all: () => all };
  }

  get subnets(): NodeSubnets {
    return new Map(this.#nodes.map(({ name, subnets }) => [name, subnets]));
  }

  /** Of both families: the so many-th of the node's subnets. */
  addressesOn(node: string, number: number): readonly { readonly address: Address; readonly prefix: Prefix }[] {
    return this.#node(node).subnets.map((prefix) => ({ prefix, address: plus(prefix.network, number)! }));
  }

  /** A pod that is no VM. */
  async pod(name: string, node: string, number: number, signal?: AbortSignal): Promise<OvnPod> {
    const { subnets } = this.#node(node);
    const addresses = this.addressesOn(node, number).map(({ address }) => address);
    const mac = macOf(addresses[0]!);
    const port = podPort(namespace, name);
    const own = [[mac, ...addresses].join(" ")];
    const row = {
      name: port,
      addresses: own,
      port_security: own,
      options: { "requested-chassis": node },
      external_ids: { namespace, pod: "true" },
    };
    await this.#database(node).client.ovsdb.transact([
      nb.insert("Logical_Switch_Port", row, { named: "port" }),
      nb.mutate("Logical_Switch", [["name", "==", node]], [["ports", "insert", [named("port")]]]),
    ]);
    const gateways = subnets.map((subnet) => `${routerAddress(subnet)}`);
    const plan = { name, port, mac, addresses: addresses.map((each) => onSubnet(each, subnets)), gateways };
    const pod = await this.lab.pod(node, plan, signal);
    await pod.installed(signal);
    this.#pods.push(pod);
    return pod;
  }

  /** Its guest runs on that node, which is its home, and asks for an address. */
  async vm(name: string, node: string, number: number, signal?: AbortSignal): Promise<PlayedVm> {
    const addresses = this.addressesOn(node, number);
    const network = { addresses, mac: macOf(addresses[0]!.address), gateways: [], routes: [], role: "primary" };
    const vm = await PlayedVm.start(this, { namespace, name, network }, node, signal);
    this.#vms.push(vm);
    return vm;
  }

  portOf({ namespace: of }: VmIdentity, { name, uid }: PlayedPod): { port: string; portVersion: string } {
    return { port: podPort(of, name), portVersion: uid };
  }

  async write(
    { namespace: of, name }: VmIdentity,
    placement: VmPlacement | "gone",
    from: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    for (const zone of zoneOrder(placement, this.zones))
      await this.writer.write(zone, new Map([[`${of}/${name}`, placement]]), signal);
    if (placement === "gone" || this.#wishes.without?.has("announcements") === true) return;
    this.#heralds?.announce({ from, to: placement }, this.#neighbours());
  }

  /** Every chassis has what is in the databases now. */
  async settled(signal: AbortSignal = AbortSignal.timeout(60_000)): Promise<void> {
    await Promise.all([...this.#databases.values()].map(({ northbound }) => northbound.barrier("hv", signal)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#heralds?.close();
    for (const { client } of this.#databases.values()) await client.close();
  }

  *#neighbours(): Iterable<Neighbour> {
    for (const { plan, node } of this.#pods) {
      const addresses = plan.addresses.map((each) => parseAddress(each.replace(/\/.*/, "")));
      yield { node: node.name, mac: macOf(addresses[0]!), addresses };
    }
    for (const { placement } of this.#vms) {
      if (placement?.activeNode === undefined) continue;
      const { mac, addresses, activeNode } = placement;
      yield { node: activeNode, mac, addresses: addresses.map(({ address }) => address) };
    }
  }

  get #nodes(): readonly ZoneNode[] {
    return [...this.#databases.values()].flatMap(({ zone }) => localNodes(zone()));
  }

  #node(name: string): ZoneNode {
    return this.#nodes.find((each) => each.name === name)!;
  }

  #database(node: string): Database {
    return this.#databases.get(this.lab.zone(node).name)!;
  }
}
