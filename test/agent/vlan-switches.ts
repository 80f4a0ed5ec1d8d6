// Two Open vSwitches with the userspace datapath and a trunk between them, in the place of the bridge of a ClientsLab:
// hosts are on access ports of a VLAN, and frames between the two switches bear its tag (802.1Q), as between nodes.
import { randomBytes } from "node:crypto";
import { join } from "node:path";

import { follow } from "../../src/ovsdb/cache/followed.ts";
import { named, type Operation, Operations } from "../../src/ovsdb/operations/operation.ts";
import { openVSwitch } from "../../src/ovsdb/schema/open-vswitch.ts";
import { run, script } from "../lab/command.ts";
import { Component } from "../lab/component.ts";
import { LabClient } from "../lab/ovn/client.ts";
import { socketOf, startDatabase } from "../lab/ovn/database-server.ts";
import { ensureOvn } from "../lab/ovn/packages.ts";
import { inNamespaceAt } from "../lab/place.ts";
import { removeCluster } from "../lab/reaper.ts";
import { answers } from "../lab/socket.ts";
import { StateFile } from "../lab/state.ts";
import type { ClientHosts } from "./clients-lab.ts";

const vs = new Operations(openVSwitch);
const interfaces = follow(openVSwitch, "Interface", { columns: ["name", "ofport", "error"] });

/** The near end of the trunk; everything on it is tagged. */
export const trunk = "trunk0";

/** Host -> its VLAN, switch by switch. */
export type Access = readonly Readonly<Record<string, number>>[];

export class VlanSwitches implements AsyncDisposable {
  readonly #state: StateFile;
  readonly #client: LabClient;

  private constructor(state: StateFile, client: LabClient) {
    this.#state = state;
    this.#client = client;
  }

  static async of(hosts: ClientHosts, access: Access): Promise<VlanSwitches> {
    const programs = await ensureOvn("25.03");
    const state = new StateFile(`vlan-${randomBytes(4).toString("hex")}`);
    const { folder } = state;
    const place = inNamespaceAt(hosts.wire.netns("switch"));
    try {
      await replug(hosts, access);
      await startDatabase({ name: "switch", folder, place, programs, state });
      const database = `unix:${socketOf({ folder, name: "switch" })}`;
      const client = await LabClient.open(openVSwitch, database, [interfaces]);
      const bridges = access.flatMap((ports, index) => bridge(`sw${index}`, `trunk${index}`, portsOf(hosts, ports)));
      const own = { bridges: access.map((_, index) => named(`sw${index}`)) };
      await client.ovsdb.transact([...bridges, vs.insert("Open_vSwitch", own)]);
      const control = join(folder, "vswitchd.ctl");
      const command = programs.daemon(folder, "ovs-vswitchd", database, `--unixctl=${control}`);
      const logFile = join(folder, "vswitchd.log");
      const isReady = () => answers(control);
      await new Component({ name: "ovs-vswitchd", command, place, logFile, isReady }, state).start();
      const works = () => {
        const rows = [...client.ovsdb.rows(interfaces).list()];
        const bad = rows.find(({ error }) => error);
        if (bad !== undefined) throw new Error(`${bad.name}: ${bad.error}`);
        return rows.every(({ ofport }) => (ofport ?? 0) > 0) || undefined;
      };
      await client.until("every port", works);
      return new VlanSwitches(state, client);
    } catch (error) {
      await removeCluster(state.state);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
    await removeCluster(this.#state.state);
  }
}

/** Off the bridge; with whole checksums, since Open vSwitch's userspace takes no others. */
async function replug({ wire }: ClientHosts, access: Access): Promise<void> {
  const whole = (host: string, link: string) => [
    "nsenter",
    `--net=${wire.netns(host)}`,
    "ethtool",
    "-K",
    link,
    "tx",
    "off",
  ];
  await wire.ip("switch", "link", "add", "trunk0", "type", "veth", "peer", "name", "trunk1");
  for (const link of ["trunk0", "trunk1"]) await wire.ip("switch", "link", "set", link, "up");
  const hosts = access.flatMap((ports) => Object.keys(ports));
  for (const host of hosts) await wire.ip("switch", "link", "set", wire.port(host), "nomaster");
  await run(script(hosts.flatMap((host) => [whole("switch", wire.port(host)), whole(host, "eth0")])));
}

const portsOf = ({ wire }: ClientHosts, ports: Readonly<Record<string, number>>) =>
  Object.entries(ports).map(([host, tag]) => ({ name: wire.port(host), tag }));

function bridge(name: string, cable: string, access: readonly { readonly name: string; readonly tag: number }[]) {
  const links = [
    { name, type: "internal" },
    { name: cable, type: "" },
    ...access.map((each) => ({ ...each, type: "" })),
  ];
  const id = (what: string, index: number) => `${what}${index}_${name}`;
  return [
    ...links.flatMap((link, index): Operation[] => [
      vs.insert("Interface", { name: link.name, type: link.type }, { named: id("link", index) }),
      vs.insert(
        "Port",
        { name: link.name, interfaces: [named(id("link", index))], ...("tag" in link && { tag: link.tag }) },
        { named: id("port", index) },
      ),
    ]),
    vs.insert(
      "Bridge",
      {
        name,
        datapath_type: "netdev",
        fail_mode: "standalone",
        ports: links.map((_, index) => named(id("port", index))),
      },
      { named: name },
    ),
  ];
}
