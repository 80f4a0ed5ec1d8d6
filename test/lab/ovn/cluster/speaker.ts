// A node's own port on its switch, and what the node says there: frames leave by the port's link, and go the way of
// every packet that the node sends by it, through OVN's flows.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import type { Announcement } from "../../../../src/migration/neighbours/announcements.ts";
import { framesOf } from "../../../../src/migration/neighbours/frames.ts";
import { routerFrame } from "../../../../src/migration/neighbours/router.ts";
import { type Mac, parseMac } from "../../../../src/net/mac.ts";
import { managementPort } from "../../../../src/ovn/names.ts";
import { managementAddress, onSubnet } from "../../../../src/ovn/zone/addresses.ts";
import type { ZoneNode } from "../../../../src/ovn/zone/zone.ts";
import { dyingWithParent } from "../../place.ts";
import type { OvnNode } from "../node.ts";
import { podMtu } from "../wiring.ts";

const link = "ovn-k8s-mp0";
const script = fileURLToPath(new URL("./speaker-process.ts", import.meta.url));
/** As long as a migration may last, and said again long before. */
const routerSeconds = 9000;

export class Speaker {
  readonly #node: string;
  readonly #mac: Mac;
  readonly #child: ChildProcess;

  private constructor(node: string, mac: Mac, child: ChildProcess) {
    this.#node = node;
    this.#mac = mac;
    this.#child = child;
    child.stdin!.on("error", () => {}); // it has ended with its node
  }

  /** Resolves when OVN has taken the port in. */
  static async open(node: OvnNode, { name, managementMac, subnets }: ZoneNode, signal?: AbortSignal): Promise<Speaker> {
    await node.switch.addPort(link, { "iface-id": managementPort(name) }, signal, "internal");
    await node.namespace.run(
      ["ip", "link", "set", link, "address", managementMac!, "mtu", `${podMtu}`, "up"],
      ...subnets.map((subnet) => {
        const more = subnet.family === 6 ? ["nodad"] : [];
        return ["ip", "address", "add", onSubnet(managementAddress(subnet), subnets), "dev", link, ...more];
      }),
    );
    const [program = "", ...args] = dyingWithParent(node.namespace.place.wrap([process.execPath, script, link]));
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], detached: true });
    await Promise.all([once(child.stdout, "data", { ...(signal && { signal }) }), node.switch.installed(link, signal)]);
    return new Speaker(name, parseMac(managementMac!), child);
  }

  say(announcements: readonly Announcement[]): void {
    const own = announcements.filter(({ node }) => node === this.#node);
    this.#send(own.flatMap((each) => framesOf(each, this.#mac)));
  }

  /** To a VM on the node's switch: its router in IPv6. */
  sayRouter(to: Mac): void {
    this.#send([routerFrame({ to, mtu: podMtu, lifetimeSeconds: routerSeconds }, this.#mac)]);
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  #send(frames: readonly Uint8Array[]): void {
    if (frames.length === 0) return;
    this.#child.stdin!.write(`${frames.map((frame) => Buffer.from(frame).toString("hex")).join(" ")}\n`);
  }
}
