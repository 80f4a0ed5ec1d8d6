// A node: a network namespace with Open vSwitch and ovn-controller, and a cable to the others and one to outside.
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { Component } from "../component.ts";
import type { StateFile } from "../state.ts";
import type { Namespace } from "./namespace.ts";
import type { OvnPrograms } from "./packages.ts";
import { VirtualSwitch } from "./virtual-switch.ts";
import { cableMtu, type Wiring } from "./wiring.ts";

export interface OvnNodePlan {
  readonly name: string;
  /** From 1. */
  readonly index: number;
  readonly folder: string;
  readonly wiring: Wiring;
  readonly namespace: Namespace;
  readonly southboundEndpoint: string;
  readonly programs: OvnPrograms;
  readonly state: StateFile;
}

export class OvnNode {
  readonly name: string;
  readonly namespace: Namespace;
  readonly switch: VirtualSwitch;
  readonly controller: Component;
  readonly folder: string;
  /** Of its tunnels. */
  readonly address: string;

  private constructor(plan: OvnNodePlan, virtualSwitch: VirtualSwitch, controller: Component) {
    this.name = plan.name;
    this.namespace = plan.namespace;
    this.folder = plan.folder;
    this.address = plan.wiring.addressOf(plan.index);
    this.switch = virtualSwitch;
    this.controller = controller;
  }

  /** Resolves when the programs run. The chassis registers itself in its own time. */
  static async start(plan: OvnNodePlan, signal?: AbortSignal): Promise<OvnNode> {
    const { name, index, folder, wiring, namespace, programs, state } = plan;
    mkdirSync(folder, { recursive: true });
    await wiring.connect(namespace, index);
    const address = wiring.addressOf(index);
    const virtualSwitch = await VirtualSwitch.start(
      {
        folder,
        namespace,
        programs,
        state,
        externalIds: {
          "system-id": name,
          hostname: name,
          "ovn-remote": plan.southboundEndpoint,
          "ovn-encap-type": "geneve",
          "ovn-encap-ip": address,
          "ovn-bridge-datapath-type": "netdev",
          "ovn-bridge-mappings": "physnet:br-ex",
          "ovn-is-interconn": "true", // tunnels to chassis of other zones, too
          "ovn-monitor-all": "true",
          "ovn-openflow-probe-interval": "0",
          "ovn-remote-probe-interval": "0",
        },
      },
      signal,
    );
    // Tunnels of the userspace datapath leave by the bridge that has both their address and the cable.
    await namespace.run(
      ["ip", "address", "add", `${address}/24`, "dev", "br-phy"],
      ["ip", "link", "set", "br-phy", "mtu", `${cableMtu}`, "up"],
    );
    const controller = new Component(
      {
        name: `ovn-controller (${name})`,
        command: programs.daemon(folder, "ovn-controller", virtualSwitch.endpoint),
        place: namespace.place,
        logFile: join(folder, "controller.log"),
        isReady: async () => true,
      },
      state,
    );
    await controller.start(signal);
    return new OvnNode(plan, virtualSwitch, controller);
  }

  /** As a machine that loses power: its programs are no more, and nothing has been said to anybody. */
  async fail(): Promise<void> {
    await Promise.all([this.controller.kill(), this.switch.daemon.kill()]);
  }

  async close(): Promise<void> {
    await this.switch.close();
  }
}
