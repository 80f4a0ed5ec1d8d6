// Open vSwitch of one node: its database, ovs-vswitchd with the userspace datapath, and ports that come and go.
//
// br-phy has the cable and the tunnels' address; br-ex leads outside (OVN's physical network `physnet`); br-int is
// ovn-controller's.
import { join } from "node:path";

import { follow } from "../../../src/ovsdb/cache/followed.ts";
import { named, type Operation, Operations } from "../../../src/ovsdb/operations/operation.ts";
import { openVSwitch } from "../../../src/ovsdb/schema/open-vswitch.ts";
import { Component } from "../component.ts";
import { answers } from "../socket.ts";
import type { StateFile } from "../state.ts";
import { LabClient } from "./client.ts";
import { socketOf, startDatabase } from "./database-server.ts";
import type { Namespace } from "./namespace.ts";
import type { OvnPrograms } from "./packages.ts";

export interface SwitchPlan {
  readonly folder: string;
  readonly namespace: Namespace;
  readonly programs: OvnPrograms;
  readonly state: StateFile;
  /** What ovn-controller reads: its name, its remote, its tunnel. */
  readonly externalIds: Readonly<Record<string, string>>;
}

const vs = new Operations(openVSwitch);

const interfaces = follow(openVSwitch, "Interface", {
  columns: ["name", "type", "ofport", "external_ids", "error"],
  indexes: { name: (row) => [row.name] },
});
const ports = follow(openVSwitch, "Port", { columns: ["name"], indexes: { name: (row) => [row.name] } });

export class VirtualSwitch {
  readonly plan: SwitchPlan;
  readonly daemon: Component;
  readonly client: LabClient;

  private constructor(plan: SwitchPlan, daemon: Component, client: LabClient) {
    this.plan = plan;
    this.daemon = daemon;
    this.client = client;
  }

  static async start(plan: SwitchPlan, signal?: AbortSignal): Promise<VirtualSwitch> {
    const { folder, namespace, programs, state, externalIds } = plan;
    const { place } = namespace;
    await startDatabase({ name: "switch", folder, place, programs, state }, signal);
    const database = `unix:${socketOf({ folder, name: "switch" })}`;
    const client = await LabClient.open(openVSwitch, database, [interfaces, ports], signal);
    const bridges = [
      bridge("br-phy", "standalone", "eth0"),
      bridge("br-ex", "standalone", "ex0"),
      bridge("br-int", "secure"),
    ];
    await client.ovsdb.transact([
      ...bridges.flat(),
      vs.insert("Open_vSwitch", {
        bridges: [named("br_phy"), named("br_ex"), named("br_int")],
        external_ids: externalIds,
      }),
    ]);
    const control = join(folder, "vswitchd.ctl");
    const daemon = new Component(
      {
        name: `ovs-vswitchd (${namespace.name})`,
        command: programs.daemon(folder, "ovs-vswitchd", database, `--unixctl=${control}`),
        place,
        logFile: join(folder, "vswitchd.log"),
        isReady: () => answers(control),
      },
      state,
    );
    const made = new VirtualSwitch(plan, daemon, client);
    await daemon.start(signal);
    await Promise.all(["br-phy", "br-ex", "br-int", "eth0", "ex0"].map((name) => made.#works(name, signal)));
    return made;
  }

  get endpoint(): string {
    return `unix:${socketOf({ folder: this.plan.folder, name: "switch" })}`;
  }

  /** The socket that OpenFlow tools speak to. */
  managementOf(bridgeName: string): string {
    return `unix:${join(this.plan.folder, `${bridgeName}.mgmt`)}`;
  }

  /**
   * Puts a link of the namespace on br-int, or makes one there (`internal`); resolves once the switch sends to it. OVN
   * binds it in its own time.
   */
  async addPort(
    link: string,
    externalIds: Readonly<Record<string, string>>,
    signal?: AbortSignal,
    type: "" | "internal" = "",
  ): Promise<void> {
    await this.client.ovsdb.transact([
      vs.insert("Interface", { name: link, type, external_ids: externalIds }, { named: "link" }),
      vs.insert("Port", { name: link, interfaces: [named("link")] }, { named: "port" }),
      vs.mutate("Bridge", [["name", "==", "br-int"]], [["ports", "insert", [named("port")]]]),
    ]);
    await this.#works(link, signal);
  }

  async removePort(link: string): Promise<void> {
    const [port] = this.client.ovsdb.rows(ports).by("name", link);
    if (port === undefined) return;
    await this.client.ovsdb.transact([
      vs.mutate("Bridge", [["name", "==", "br-int"]], [["ports", "delete", [port.uuid]]]),
    ]);
  }

  /** The names of all that are on any bridge. */
  ports(): string[] {
    return Array.from(this.client.ovsdb.rows(ports).list(), ({ name }) => name);
  }

  /** Until OVN's flows for the port are in the switch. */
  async installed(link: string, signal?: AbortSignal): Promise<void> {
    const look = () => this.#interface(link)?.external_ids.get("ovn-installed") === "true" || undefined;
    await this.client.until(`OVN to have installed ${link} on ${this.plan.namespace.name}`, look, signal);
  }

  /** Until there is a tunnel to each of so many other chassis. */
  async hasTunnels(count: number, signal?: AbortSignal): Promise<void> {
    const rows = () => [...this.client.ovsdb.rows(interfaces).list()];
    const look = () => rows().filter((row) => row.type === "geneve" && works(row.ofport)).length >= count || undefined;
    await this.client.until(`${count} tunnels on ${this.plan.namespace.name}`, look, signal);
  }

  /** Its number in OpenFlow. */
  portNumber(link: string): number {
    const number = this.#interface(link)?.ofport;
    if (!works(number)) throw new Error(`${this.plan.namespace.name} has no port ${link}`);
    return number!;
  }

  async close(): Promise<void> {
    await this.client.close();
  }

  #interface(name: string) {
    return this.client.ovsdb.rows(interfaces).by("name", name)[0];
  }

  async #works(name: string, signal?: AbortSignal): Promise<void> {
    const look = () => {
      const row = this.#interface(name);
      if (row?.error) throw new Error(`${this.plan.namespace.name} cannot use ${name}: ${row.error}`);
      return works(row?.ofport) || undefined;
    };
    await this.client.until(`port ${name} on ${this.plan.namespace.name}`, look, signal);
  }
}

const works = (number: number | undefined) => number !== undefined && number > 0;

function bridge(name: string, fail_mode: "standalone" | "secure", cable?: string): Operation[] {
  const id = name.replace("-", "_");
  const links = [name, ...(cable === undefined ? [] : [cable])];
  return [
    ...links.flatMap((link, index) => [
      vs.insert("Interface", { name: link, type: index === 0 ? "internal" : "" }, { named: `link${index}_${id}` }),
      vs.insert("Port", { name: link, interfaces: [named(`link${index}_${id}`)] }, { named: `port${index}_${id}` }),
    ]),
    vs.insert(
      "Bridge",
      { name, datapath_type: "netdev", fail_mode, ports: links.map((_, index) => named(`port${index}_${id}`)) },
      { named: id },
    ),
  ];
}
