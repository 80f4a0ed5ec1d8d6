// A small Ethernet in namespaces of its own: a bridge, and hosts behind it, each in a network namespace with `eth0`.
//
// Gone after remove(); everything lives in namespaces that begin with `hf-` and this process's pid.
import { randomBytes } from "node:crypto";

import { attempt, run, script } from "../lab/command.ts";

export interface HostPlan {
  readonly name: string;
  /** With their prefix length. */
  readonly addresses?: readonly string[];
  /** Left down, as a plugin leaves it when it asks for the address. */
  readonly down?: true;
  /** Its eth0 is a macvlan on this parent, which every host that names it shares. */
  readonly macvlanOn?: string;
}

export class Wire {
  readonly #prefix = `hf-${process.pid}-${randomBytes(3).toString("hex")}`;
  readonly #names: string[] = [];

  static async of(hosts: readonly HostPlan[]): Promise<Wire> {
    const wire = new Wire();
    await wire.#make(hosts);
    return wire;
  }

  /** The path that a runtime would give in CNI_NETNS. */
  netns(host: string): string {
    return `/run/netns/${this.#nameOf(host)}`;
  }

  ip(host: string, ...words: readonly string[]): Promise<string> {
    return run(["ip", "-n", this.#nameOf(host), ...words]);
  }

  async link(host: string, name = "eth0"): Promise<{ mac: string; flags: readonly string[] }> {
    const [link] = JSON.parse(await this.ip(host, "-j", "link", "show", name)) as {
      address: string;
      flags: string[];
    }[];
    return { mac: link?.address ?? "", flags: link?.flags ?? [] };
  }

  async remove(): Promise<void> {
    for (const name of this.#names.splice(0)) await attempt(["ip", "netns", "delete", name]);
  }

  async deleteHost(host: string): Promise<void> {
    await run(["ip", "netns", "delete", this.#nameOf(host)]);
  }

  /** Another namespace under the same path, with one interface. */
  async remake(host: string, link: string): Promise<void> {
    await this.deleteHost(host);
    await run(["ip", "netns", "add", this.#nameOf(host)]);
    await this.ip(host, "link", "add", link, "type", "bridge");
    await this.ip(host, "link", "set", link, "up");
  }

  /** The switch's end of a host's cable. */
  port(host: string): string {
    return `p-${host}`;
  }

  async #make(hosts: readonly HostPlan[]): Promise<void> {
    const parents = new Set(hosts.flatMap(({ macvlanOn }) => macvlanOn ?? []));
    const names = ["switch", ...hosts.map(({ name }) => name)].map((name) => this.#nameOf(name));
    this.#names.push(...names);
    const at = (host: string, ...words: readonly string[]) => ["ip", "-n", this.#nameOf(host), ...words];
    await run(
      script([
        ...names.map((name) => ["ip", "netns", "add", name]),
        at("switch", "link", "add", "br0", "type", "bridge", "forward_delay", "0"),
        at("switch", "link", "set", "br0", "up"),
        ...[...parents].flatMap((parent) => [
          at("switch", "link", "add", parent, "type", "veth", "peer", "name", `p-${parent}`),
          at("switch", "link", "set", `p-${parent}`, "master", "br0", "up"),
          at("switch", "link", "set", parent, "up"),
        ]),
        ...hosts.flatMap((host) => this.#plug(host, at)),
      ]),
    );
  }

  #plug({ name, addresses = [], down, macvlanOn }: HostPlan, at: (host: string, ...words: string[]) => string[]) {
    const cable =
      macvlanOn === undefined
        ? [
            at(
              "switch",
              "link",
              "add",
              this.port(name),
              "type",
              "veth",
              "peer",
              "name",
              "eth0",
              "netns",
              this.#nameOf(name),
            ),
            at("switch", "link", "set", this.port(name), "master", "br0", "up"),
          ]
        : [
            at("switch", "link", "add", "link", macvlanOn, "name", `m-${name}`, "type", "macvlan", "mode", "bridge"),
            at("switch", "link", "set", `m-${name}`, "netns", this.#nameOf(name), "name", "eth0"),
          ];
    const up = down ? [] : [at(name, "link", "set", "eth0", "up")];
    return [
      ...cable,
      ...up,
      ...addresses.map((each) =>
        at(name, "address", "add", each, "dev", "eth0", ...(each.includes(":") ? ["nodad"] : [])),
      ),
    ];
  }

  #nameOf(host: string): string {
    return `${this.#prefix}-${host}`;
  }
}
