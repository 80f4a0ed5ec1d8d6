// A node's own port on its switch, and what the node says there: the frames go the way of every packet that the node
// sends by it, through OVN's flows.
import type { Announcement } from "../../../../src/migration/neighbours/announcements.ts";
import { framesOf } from "../../../../src/migration/neighbours/frames.ts";
import { parseMac } from "../../../../src/net/mac.ts";
import { managementPort } from "../../../../src/ovn/names.ts";
import { managementAddress, onSubnet } from "../../../../src/ovn/zone/addresses.ts";
import type { ZoneNode } from "../../../../src/ovn/zone/zone.ts";
import { quote, run } from "../../command.ts";
import type { OvnNode } from "../node.ts";
import type { OvnPrograms } from "../packages.ts";
import { podMtu } from "../wiring.ts";

const link = "ovn-k8s-mp0";

export class Speaker {
  readonly #node: OvnNode;
  readonly #mac: string;
  readonly #programs: OvnPrograms;

  private constructor(node: OvnNode, mac: string, programs: OvnPrograms) {
    this.#node = node;
    this.#mac = mac;
    this.#programs = programs;
  }

  /** Resolves when OVN has taken the port in. */
  static async open(
    node: OvnNode,
    { name, managementMac, subnets }: ZoneNode,
    programs: OvnPrograms,
    signal?: AbortSignal,
  ) {
    await node.switch.addPort(link, { "iface-id": managementPort(name) }, signal, "internal");
    await node.namespace.run(
      ["ip", "link", "set", link, "address", managementMac!, "mtu", `${podMtu}`, "up"],
      ...subnets.map((subnet) => {
        const more = subnet.family === 6 ? ["nodad"] : [];
        return ["ip", "address", "add", onSubnet(managementAddress(subnet), subnets), "dev", link, ...more];
      }),
    );
    await node.switch.installed(link, signal);
    return new Speaker(node, managementMac!, programs);
  }

  async say(announcements: readonly Announcement[]): Promise<void> {
    const { switch: own, name } = this.#node;
    const port = own.portNumber(link);
    const frames = announcements
      .filter(({ node }) => node === name)
      .flatMap((each) => framesOf(each, parseMac(this.#mac)));
    if (frames.length === 0) return;
    const commands = frames.map((frame) => {
      const words = `in_port=${port} packet=${Buffer.from(frame).toString("hex")} actions=table`;
      return this.#programs.command("ovs-ofctl", "packet-out", own.managementOf("br-int"), words);
    });
    // One shell for all: the first is out before the last program has been started.
    await run(["sh", "-ec", commands.map((each) => each.map(quote).join(" ")).join("\n")]);
  }
}
