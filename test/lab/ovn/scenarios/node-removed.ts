// The home of a VM is switched off and taken out of the cluster while the VM lives elsewhere. Its address is of no
// node's subnet any more: everybody goes on to speak with it, and its traffic to the outside still finds a gateway.
import { newestFirst } from "./routed.ts";
import type { Scenario } from "./scenario.ts";
import { Stage, vm1 } from "./stage.ts";

export const nodeRemoved: Scenario = {
  name: "node-removed",
  about: "its home node is switched off and removed while it lives elsewhere; then it moves again",
  nodes: 3,
  zones: ["one"],
  versions: newestFirst,
  async run(lab, wishes) {
    const { signal, reactionMs } = wishes;
    await using stage = await Stage.open(lab, wishes, { vms: [vm1], on: ["node2", "node3"], entry: "node2" });
    const vm = stage.vms[0]!;
    await vm.move("node2", { reactionMs, signal });
    await stage.watch.begin();
    await stage.cluster.removeNode("node1", signal);
    const { homeNode } = vm.placement!;
    if (homeNode !== undefined) stage.watch.fault(`the VM is still at home on ${homeNode}, which is removed`);
    await stage.watch.isHeard();
    stage.watch.moved(vm, await vm.move("node3", { reactionMs, signal }));
    return await stage.watch.end();
  },
};
