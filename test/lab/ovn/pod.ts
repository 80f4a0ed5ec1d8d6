// A pod's network: a namespace with eth0, whose other end is a port of br-int. Its logical port is made elsewhere.
import type { StateFile } from "../state.ts";
import { Namespace } from "./namespace.ts";
import type { OvnNode } from "./node.ts";
import { podMtu } from "./wiring.ts";

export interface PodPlan {
  readonly name: string;
  /** The logical port that it is. */
  readonly port: string;
  readonly mac: string;
  /** With their prefix lengths. */
  readonly addresses: readonly string[];
  /** Of the default routes. */
  readonly gateways?: readonly string[];
}

export class OvnPod {
  readonly plan: PodPlan;
  readonly node: OvnNode;
  readonly namespace: Namespace;
  readonly link: string;

  private constructor(plan: PodPlan, node: OvnNode, namespace: Namespace, link: string) {
    this.plan = plan;
    this.node = node;
    this.namespace = namespace;
    this.link = link;
  }

  /** Resolves when the switch sends to it; `installed` tells when OVN does. */
  static async start(state: StateFile, node: OvnNode, plan: PodPlan, signal?: AbortSignal): Promise<OvnPod> {
    const { name, port, mac, addresses, gateways = [] } = plan;
    const namespace = await Namespace.open(state, `pod ${name}`);
    const link = `v-${name}`;
    await node.namespace.cable(link, namespace, "eth0", podMtu);
    await namespace.run(
      ["ip", "link", "set", "eth0", "address", mac],
      ...addresses.map((each) => {
        const more = each.includes(":") ? ["nodad"] : [];
        return ["ip", "address", "add", each, "dev", "eth0", ...more];
      }),
      ...gateways.map((each) => ["ip", "route", "add", "default", "via", each, "dev", "eth0"]),
    );
    await node.switch.addPort(link, { "iface-id": port, "attached-mac": mac }, signal);
    return new OvnPod(plan, node, namespace, link);
  }

  async installed(signal?: AbortSignal): Promise<void> {
    await this.node.switch.installed(this.link, signal);
  }

  async close(): Promise<void> {
    await this.node.switch.removePort(this.link);
    await this.namespace.close();
  }
}
