// A link behind a router: the host `far` is on it alone, with Debian's dhcrelay on the router `relay`, whose other
// interface is on the agents' Ethernet.
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

import { unpackedFolder } from "../../tools/bootstrap/unpacked.ts";
import { run } from "../lab/command.ts";
import type { ClientsLab } from "./clients-lab.ts";
import { serverAddress } from "./fixture.ts";

/** Unpacked beside the system: installed, it would be a service. */
const dhcrelay = join(unpackedFolder("isc-dhcp-relay"), "usr/sbin/dhcrelay");
/** Of the router, on the agents' side and on its other one. */
const routerAddress = "10.9.0.1";
const farRouter = { v4: "192.168.48.1", v6: "fd00:48::1" } as const;

export class FarLink {
  readonly #lab: ClientsLab;
  readonly #children: ChildProcess[] = [];
  printed = "";

  constructor(lab: ClientsLab) {
    this.#lab = lab;
  }

  /** Takes `far` off the Ethernet, and puts `relay` between. */
  async make(): Promise<void> {
    const { wire } = this.#lab;
    await wire.ip("far", "link", "delete", "eth0");
    const peer = ["type", "veth", "peer", "name", "eth0", "netns", wire.netns("far").split("/").at(-1)!];
    await wire.ip("relay", "link", "add", "down0", ...peer);
    await wire.ip("relay", "link", "set", "down0", "up");
    await wire.ip("far", "link", "set", "eth0", "up");
    await wire.ip("relay", "address", "add", `${routerAddress}/24`, "dev", "eth0");
    await wire.ip("relay", "address", "add", `${farRouter.v4}/24`, "dev", "down0");
    await wire.ip("relay", "address", "add", `${farRouter.v6}/64`, "dev", "down0", "nodad");
    await wire.ip("relay", "route", "add", `${serverAddress}/32`, "dev", "eth0");
    // The far link's hosts take the server for one of theirs.
    for (const setting of ["ip_forward", "conf/down0/proxy_arp"]) {
      await this.#inRelay("sh", "-c", `echo 1 > /proc/sys/net/ipv4/${setting}`);
    }
  }

  /** Of IPv4, to this server. */
  relay(server: string): void {
    this.#start("-4", "-id", "down0", "-iu", "eth0", server);
  }

  /** Of IPv6, to all servers of the agents' Ethernet. */
  relayV6(): void {
    this.#start("-6", "-l", "down0", "-u", "ff02::1:2%eth0");
  }

  end(): void {
    for (const child of this.#children) child.kill("SIGKILL");
  }

  #start(...words: readonly string[]): void {
    const inside = [`--net=${this.#lab.wire.netns("relay")}`, "--"];
    const child = spawn("nsenter", [...inside, dhcrelay, "-d", "--no-pid", ...words], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (this.printed += String(text)));
    this.#children.push(child);
  }

  async #inRelay(...words: readonly string[]): Promise<void> {
    await run(["nsenter", `--net=${this.#lab.wire.netns("relay")}`, "--", ...words]);
  }
}
