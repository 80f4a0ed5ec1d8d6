// What the stories of the played KubeVirt share: a server with two nodes, a CNI plugin that answers with whatever comes
// next and writes down what it was asked, and VMs that nothing else has used.
import { expect } from "vitest";

import { KubeClient } from "../../src/kube/rest.ts";
import type { Server } from "../node/fixture.ts";
import { install } from "./kubevirt/crds.ts";
import { Kubevirt } from "./kubevirt/kubevirt.ts";
import type { Launcher, Port } from "./kubevirt/launcher.ts";
import type { Machine, MachineSpec } from "./kubevirt/machine.ts";
import type { Migration } from "./kubevirt/migration.ts";
import { addNode } from "./kubevirt/nodes.ts";
import { type Pod, pods } from "./kubevirt/objects.ts";

/** observed: section 2. */
export const blue = "pod16477688c0e";
export const green = "podba4788b226a";
export const namespace = "default";
export const nics = [
  { name: "blue", definition: "blue", mac: "02:11:22:33:44:55" },
  { name: "green", definition: "green" },
];

export type GetFixture = () => KubevirtFixture;

export class KubevirtFixture {
  readonly client: KubeClient;
  readonly kubevirt: Kubevirt;
  /** `ADD virt-launcher-... pod16477688c0e`, in the order of the calls. */
  readonly calls: string[] = [];
  static #number = 0;

  constructor(server: Server) {
    this.client = new KubeClient({ transport: server.transport });
    let last = 1;
    const note = (command: string, { pod, element }: Port) =>
      void this.calls.push(`${command} ${pod} ${element.interface}`);
    const cni = {
      add: async (port: Port) => (note("ADD", port), [`10.0.0.${(last += 1)}/24`]),
      del: async (port: Port) => note("DEL", port),
    };
    const place = (_: Machine, without: readonly string[]) => (without.includes("kv-n1") ? "kv-n2" : "kv-n1");
    this.kubevirt = new Kubevirt({ client: this.client, cni, place, pace: async () => {} });
  }

  /** Once per server. */
  static async prepare(server: Server): Promise<void> {
    const client = new KubeClient({ transport: server.transport });
    await install(client);
    for (const name of ["kv-n1", "kv-n2"]) await addNode(client, name);
  }

  readonly fresh = (): MachineSpec => {
    KubevirtFixture.#number += 1;
    return { namespace, name: `vm${KubevirtFixture.#number}`, nics, labels: { tier: "db" } };
  };

  readonly started = async (spec = this.fresh()): Promise<Machine> => {
    const machine = await this.kubevirt.create(spec);
    expect(await this.kubevirt.start(machine)).toBe(true);
    return machine;
  };

  readonly podOf = ({ at }: Launcher): Promise<Pod> => this.client.get(pods, at);

  readonly active = ({ instance }: Machine): Launcher => instance!.active;

  readonly moved = async (machine: Machine): Promise<Migration> => {
    const migration = await this.kubevirt.migrate(machine);
    expect(await migration.handOver()).toBe(true);
    await migration.succeed();
    return migration;
  };
}
