// A cluster on the lab, as far as the network needs one: topology and VMs' rows are Holdfast's own (src/ovn, by the
// writer of src/migration); pods' ports are written here, as long as there is no CNI plugin that does it.
import { setTimeout as pause } from "node:timers/promises";

import type { Zones } from "../../../../src/migration/leader/placement-writer.ts";
import {
  announceAtMs,
  type Announcement,
  announcementsOf,
  type Neighbour,
} from "../../../../src/migration/neighbours/announcements.ts";
import { NorthboundWriter, type NorthboundZone } from "../../../../src/migration/northbound/northbound-writer.ts";
import type { NodeSubnets } from "../../../../src/migration/objects/node-subnets.ts";
import { type Address, parseAddress, plus } from "../../../../src/net/address.ts";
import type { Prefix } from "../../../../src/net/prefix.ts";
import type { Desired } from "../../../../src/ovn/desired.ts";
import { podPort } from "../../../../src/ovn/names.ts";
import { Northbound, northboundTables } from "../../../../src/ovn/northbound.ts";
import type { VmPlacement } from "../../../../src/ovn/vm/placement.ts";
import { macOf, onSubnet, routerAddress } from "../../../../src/ovn/zone/addresses.ts";
import { featuresOf } from "../../../../src/ovn/zone/features.ts";
import { localNodes, type Zone, type ZoneNode } from "../../../../src/ovn/zone/zone.ts";
import { named, Operations } from "../../../../src/ovsdb/operations/operation.ts";
import { ovnNorthbound } from "../../../../src/ovsdb/schema/ovn-northbound.ts";
import { together } from "../../wait.ts";
import { LabClient } from "../client.ts";
import type { OvnLab } from "../lab.ts";
import type { OvnPod } from "../pod.ts";
import { PlayedVm } from "./played-vm.ts";
import { Speaker } from "./speaker.ts";
import { zoneOf } from "./zone-of.ts";

export interface ClusterWishes {
  /** What is left out, to see what it is good for: neighbour entries of routers, or what nodes tell neighbours. */
  readonly without?: ReadonlySet<"mac-binding" | "announcements">;
}

const nb = new Operations(ovnNorthbound);
const namespace = "t";

interface Database {
  readonly client: LabClient;
  readonly northbound: Northbound;
  readonly zone: () => Zone;
}

export class LabCluster implements AsyncDisposable {
  readonly lab: OvnLab;
  readonly writer: NorthboundWriter;
  readonly #wishes: ClusterWishes;
  /** Key: the zone's name. */
  readonly #databases: ReadonlyMap<string, Database>;
  /** Key: the node's name. */
  readonly #speakers = new Map<string, Speaker>();
  readonly #pods: OvnPod[] = [];
  /** Key: the VM's name. */
  readonly #saying = new Map<string, AbortController>();
  readonly #said: Promise<void>[] = [];
  readonly #vms: PlayedVm[] = [];

  private constructor(lab: OvnLab, databases: ReadonlyMap<string, Database>, wishes: ClusterWishes) {
    this.lab = lab;
    this.#databases = databases;
    this.#wishes = wishes;
    const zones = [...databases].map(([name, { northbound }]): [string, NorthboundZone] => [
      name,
      { northbound: this.#leavingOut(northbound), zone: (features) => zoneOf(lab, name, features) },
    ]);
    this.writer = new NorthboundWriter(new Map(zones));
  }

  /** Topology, nodes' own ports, and a way from outside to the cluster by the first node. */
  static async open(lab: OvnLab, wishes: ClusterWishes = {}, signal?: AbortSignal): Promise<LabCluster> {
    const databases = new Map<string, Database>();
    for (const { name } of lab.zones) {
      const client = await LabClient.open(ovnNorthbound, lab.northbound(name), northboundTables, signal);
      const northbound = new Northbound(client.ovsdb);
      // Until ovn-northd has told what it is, the least would be expected of it.
      await client.until("ovn-northd to tell its version", () => northbound.version, signal);
      databases.set(name, { client, northbound, zone: () => zoneOf(lab, name, featuresOf(northbound.version)) });
    }
    const cluster = new LabCluster(lab, databases, wishes);
    const limit = signal ?? AbortSignal.timeout(60_000);
    for (const name of databases.keys()) await cluster.writer.sweep(name, new Map(), limit);
    const speakers = [...databases.values()]
      .flatMap(({ zone }) => localNodes(zone()))
      .map((node) => async () => {
        const speaker = await Speaker.open(lab.node(node.name), node, lab.programs, signal);
        cluster.#speakers.set(node.name, speaker);
      });
    await together(speakers, signal);
    await lab.outside.run(["ip", "route", "add", "10.244.0.0/16", "via", lab.wiring.outsideAddressOf(1)]);
    await cluster.settled(signal);
    return cluster;
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

  /** What the nodes' daemons would say of a VM that has moved, as often as they would, until it moves again. */
  announce(from: string | undefined, to: VmPlacement): void {
    const all = announcementsOf({ from, to }, this.#neighbours());
    if (this.#wishes.without?.has("announcements") === true || all.length === 0) return;
    this.#saying.get(to.name)?.abort();
    const saying = new AbortController();
    this.#saying.set(to.name, saying);
    this.#said.push(this.#say(all, saying.signal));
  }

  async #say(all: readonly Announcement[], signal: AbortSignal): Promise<void> {
    let spentMs = 0;
    for (const atMs of announceAtMs) {
      try {
        await pause(atMs - spentMs, undefined, { signal });
      } catch {
        return; // it has moved again, or the lab ends
      }
      spentMs = atMs;
      await Promise.all([...this.#speakers.values()].map((speaker) => speaker.say(all)));
    }
  }

  /** Every chassis has what is in the databases now. */
  async settled(signal: AbortSignal = AbortSignal.timeout(60_000)): Promise<void> {
    await Promise.all([...this.#databases.values()].map(({ northbound }) => northbound.barrier("hv", signal)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const saying of this.#saying.values()) saying.abort();
    await Promise.allSettled(this.#said);
    for (const { client } of this.#databases.values()) await client.close();
  }

  #leavingOut(northbound: Northbound): NorthboundZone["northbound"] {
    const isLeftOut = ({ table }: Desired["wanted"][number]) =>
      table === "Static_MAC_Binding" && this.#wishes.without?.has("mac-binding") === true;
    return {
      get version() {
        return northbound.version;
      },
      vms: () => northbound.vms(),
      apply: (desired, signal) =>
        northbound.apply({ ...desired, wanted: desired.wanted.filter((each) => !isLeftOut(each)) }, signal),
    };
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
