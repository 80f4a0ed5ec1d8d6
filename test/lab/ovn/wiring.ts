// The wires between nodes: one for tunnels and the central databases, one for the world outside.
//
//   underlay  br0  172.30.0.254/24, nodes 172.30.0.N
//   outside   br0  172.31.0.254/24 and fd00:31::fe/64, gateway routers 172.31.0.N and fd00:31::N
import type { StateFile } from "../state.ts";
import { type Command, Namespace } from "./namespace.ts";

/** What a pod may send, and room for a tunnel's header around it. */
export const podMtu = 1400;
export const cableMtu = 1600;
export const centralAddress = "172.30.0.254";
/** The bridge of the world outside. */
export const outsideLink = "br0";
export const outsideAddress = "172.31.0.254";
export const outsideAddress6 = "fd00:31::fe";

export class Wiring {
  readonly underlay: Namespace;
  readonly outside: Namespace;

  private constructor(underlay: Namespace, outside: Namespace) {
    this.underlay = underlay;
    this.outside = outside;
  }

  static async open(state: StateFile): Promise<Wiring> {
    const bridge = (...addresses: readonly string[]): Command[] => [
      ["ip", "link", "add", "br0", "mtu", `${cableMtu}`, "type", "bridge", "forward_delay", "0"],
      ...addresses.map((each) => [
        "ip",
        "address",
        "add",
        each,
        "dev",
        "br0",
        ...(each.includes(":") ? ["nodad"] : []),
      ]),
      ["ip", "link", "set", "br0", "up"],
      ["ethtool", "-K", "br0", "tx", "off"],
    ];
    const [underlay, outside] = await Promise.all([
      Namespace.open(state, "underlay", bridge(`${centralAddress}/24`)),
      Namespace.open(state, "outside", bridge(`${outsideAddress}/24`, `${outsideAddress6}/64`)),
    ]);
    return new Wiring(underlay, outside);
  }

  addressOf(index: number): string {
    return `172.30.0.${index}`;
  }

  /** Where the gateway router of this node may be. */
  outsideAddressOf(index: number, family: 4 | 6 = 4): string {
    return family === 4 ? `172.31.0.${index}` : `fd00:31::${index}`;
  }

  /** eth0 for tunnels and ex0 for the world outside. */
  async connect(node: Namespace, index: number): Promise<void> {
    const wires = [
      [this.underlay, "eth0"],
      [this.outside, "ex0"],
    ] as const;
    for (const [wire, link] of wires) {
      await wire.cable(`node${index}`, node, link, cableMtu);
      await wire.run(["ip", "link", "set", `node${index}`, "master", "br0"]);
    }
  }
}
