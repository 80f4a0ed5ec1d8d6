// Targets that die: before anybody has said that the guest runs there, and after. The guest goes on at its source, and
// its traffic comes back to it; then it moves after all.
import { newestFirst } from "./routed.ts";
import type { Scenario } from "./scenario.ts";
import { Stage, vm1 } from "./stage.ts";

/** What KubeVirt may take to see that a target which it has called ready is dead: so long everything goes there. */
const readyForMs = 500;

export const failed: Scenario = {
  name: "failed",
  about: "the target dies, before it was ready and after: the guest goes on at the source, and moves in the end",
  nodes: 2,
  zones: ["one", "interconnected"],
  versions: newestFirst,
  async run(lab, wishes) {
    const { signal, reactionMs } = wishes;
    await using stage = await Stage.open(lab, wishes, { vms: [vm1] });
    const vm = stage.vms[0]!;
    await stage.watch.begin();
    for (const when of ["before-ready", { readyForMs }] as const) {
      await vm.fail("node2", when, signal);
      const { activeNode, ports = [] } = vm.placement ?? {};
      if (activeNode !== "node1" || ports.length !== 1)
        stage.watch.fault(
          `after a failure the VM is at ${activeNode} with ${ports.length} ports, not at node1 with one`,
        );
      await stage.watch.isHeard();
    }
    stage.watch.moved(vm, await vm.move("node2", { reactionMs, signal }));
    return await stage.watch.end();
  },
};
