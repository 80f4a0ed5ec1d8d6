// VMs of a switch that spans the nodes, with one port that two chassis may have meanwhile: the target's is opened by
// the RARP that QEMU sends when the guest goes on there. Nothing in the database has to change in time.
import { parsePrefix } from "../../../../src/net/prefix.ts";
import type { SpanningNetwork } from "../../../../src/ovn/spanning/network.ts";
import { LabSpanningNetwork } from "../cluster/spanning.ts";
import type { OvnLab } from "../lab.ts";
import { outsideLink, podMtu } from "../wiring.ts";
import { newestFirst } from "./routed.ts";
import type { Scenario, ScenarioWishes, Told } from "./scenario.ts";
import { Watch } from "./watch.ts";

const subnet = parsePrefix("192.168.77.0/24");
const layer2: SpanningNetwork = {
  name: "l2",
  definition: "t/l2",
  physical: undefined,
  mtu: podMtu,
  router: undefined,
};
const localnet: SpanningNetwork = {
  ...layer2,
  name: "lan",
  definition: "t/lan",
  physical: { network: "physnet", vlan: undefined },
};
const numbers = { vm: 8, stayer: 9, pods: 20, outside: 250 } as const;

export const multichassis: Scenario = {
  name: "multichassis",
  about: "on one switch over all nodes: one port, two chassis, opened by RARP",
  nodes: 2,
  zones: ["one"],
  versions: newestFirst,
  async run(lab, wishes) {
    await using stage = await openSpanning(lab, wishes);
    const { watch, vm } = stage;
    await watch.begin();
    watch.moved(vm, await vm.move("node2", { reactionMs: wishes.reactionMs, signal: wishes.signal }));
    return await watch.end();
  },
};

export const secondary: Scenario = {
  name: "secondary",
  about: "a localnet network with a persistent claim: it moves, is stopped, and starts elsewhere with its address",
  nodes: 2,
  zones: ["one"],
  versions: newestFirst,
  async run(lab, wishes): Promise<Told> {
    const { signal, reactionMs } = wishes;
    await using stage = await openSpanning(lab, wishes, localnet);
    const { watch, vm } = stage;
    const before = await vm.guest.addresses();
    await vm.stop(signal);
    await vm.startAgain("node2", signal);
    await vm.guest.leased(signal);
    const after = await vm.guest.addresses();
    if (before.join() !== after.join())
      watch.fault(`started elsewhere it has ${after.join()}, and had ${before.join()}`);
    await watch.begin();
    watch.moved(vm, await vm.move("node1", { reactionMs, signal }));
    return await watch.end();
  },
};

/** Pods on each node, a VM on the first, one that stays there, and a machine outside where the network leads there. */
export async function openSpanning(lab: OvnLab, { signal, without }: ScenarioWishes, network = layer2) {
  const lan = await LabSpanningNetwork.open(lab, network, subnet, signal);
  try {
    const outside = network.physical === undefined ? undefined : lab.outside;
    const address = `${lan.addressOf(numbers.outside)}/${subnet.length}`;
    await outside?.run(["ip", "address", "add", address, "dev", outsideLink]);
    const pods = lab.nodes.map(({ name }, at) => lan.pod(`c${at + 1}`, name, numbers.pods + at, signal));
    const stays = without.has("bystanders") ? undefined : lan.vm("vm0", "node1", numbers.stayer, signal);
    const [vm, stayer, ...all] = await Promise.all([lan.vm("vm1", "node1", numbers.vm, signal), stays, ...pods]);
    for (const each of [vm, stayer]) await each?.guest.leased(signal);
    const watch = new Watch({ vms: [vm], pods: all, outside, stayer, signal });
    return { vm, watch, [Symbol.asyncDispose]: () => lan[Symbol.asyncDispose]() };
  } catch (error) {
    await lan[Symbol.asyncDispose]();
    throw error;
  }
}
