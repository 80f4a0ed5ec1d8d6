// Two VMs change places: each leaves its home for the other's at the same time.
import { newestFirst } from "./routed.ts";
import type { Scenario } from "./scenario.ts";
import { Stage, vm1 } from "./stage.ts";

export const twoAtOnce: Scenario = {
  name: "two-at-once",
  about: "two VMs at the same time, each to the other's home",
  nodes: 2,
  zones: ["one", "interconnected"],
  versions: newestFirst,
  async run(lab, wishes) {
    const { signal, reactionMs } = wishes;
    const vms = [vm1, { name: "vm2", node: "node2", number: 8 }];
    await using stage = await Stage.open(lab, wishes, { vms });
    await stage.watch.begin();
    const targets = ["node2", "node1"];
    const moving = stage.vms.map(async (vm, at) =>
      stage.watch.moved(vm, await vm.move(targets[at]!, { reactionMs, signal })),
    );
    await Promise.all(moving);
    return await stage.watch.end();
  },
};
