// What VMs send to the world outside leaves by the gateway router of the node where they are, under that node's
// address. A connection of the VM's own that was open at the move has the other node's address from then on, and ends:
// that is what masking costs, and why outside probes of other scenarios go to clusters that do not mask.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import { dyingWithParent } from "../../place.ts";
import type { PlayedVm } from "../cluster/played-vm.ts";
import type { Namespace } from "../namespace.ts";
import { outsideAddress } from "../wiring.ts";
import { newestFirst } from "./routed.ts";
import type { Scenario } from "./scenario.ts";
import { Stage, vm1 } from "./stage.ts";

const port = 7007;

export const northSouth: Scenario = {
  name: "north-south",
  about: "gateways mask: what it sends outside leaves by the node where it is, with that node's address",
  nodes: 3,
  zones: ["one", "interconnected"],
  versions: newestFirst,
  async run(lab, wishes) {
    const { signal, reactionMs } = wishes;
    await using stage = await Stage.open(lab, wishes, { vms: [vm1], masks: true });
    await using servers = new AsyncDisposableStack();
    servers.use(await callers(lab.outside));
    const vm = stage.vms[0]!;
    await stage.watch.begin();
    const at = async (node: string) => {
      const expected = lab.wiring.outsideAddressOf(1 + lab.nodes.findIndex(({ name }) => name === node));
      const seen = await addressSeen(vm);
      if (seen !== expected)
        stage.watch.fault(`from ${node} the VM came to the outside as ${seen}, not as ${expected}`);
    };
    await at("node1");
    for (const node of ["node2", "node3", "node1"]) {
      stage.watch.moved(vm, await vm.move(node, { reactionMs, signal }));
      await at(node);
    }
    return await stage.watch.end();
  },
};

/** How the outside sees a new connection of the guest. */
async function addressSeen({ guest }: PlayedVm): Promise<string> {
  const { output } = await guest.machine.console.run(`nc -w 10 ${outsideAddress} ${port}`);
  return output.trim();
}

async function callers(outside: Namespace): Promise<AsyncDisposable> {
  const script = fileURLToPath(new URL("../caller-process.ts", import.meta.url));
  const words = dyingWithParent(outside.place.wrap([process.execPath, script, outsideAddress, `${port}`]));
  const child = spawn(words[0]!, words.slice(1), { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return {
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}
