// A VM with a persistent claim is stopped and started on another node: it has its address from the first moment on,
// without ever having been at home in this life. Pods of its subnet still know it by the MAC that it had on their
// switch: they are told, as after a migration.
import { proxyMac } from "../../../../src/migration/neighbours/announcements.ts";
import { until } from "../../wait.ts";
import { newestFirst } from "./routed.ts";
import type { Scenario } from "./scenario.ts";
import { Stage, vm1 } from "./stage.ts";

export const stopped: Scenario = {
  name: "stopped",
  about: "stopped, and started on another node with the address of its claim",
  nodes: 2,
  zones: ["one", "interconnected"],
  versions: newestFirst,
  async run(lab, wishes) {
    const { signal } = wishes;
    await using stage = await Stage.open(lab, wishes, { vms: [vm1] });
    const [vm, near] = [stage.vms[0]!, stage.pods[0]!.namespace];
    await near.run(["ping", "-c", "1", "-w", "20", vm.address]);
    const known = () => near.run(["ip", "neigh", "show", vm.address]);
    if ((await known()).includes(proxyMac)) stage.watch.fault("a1 had vm1 behind the proxy before it was elsewhere");
    await vm.stop(signal);
    await vm.startAgain("node2", signal);
    await vm.guest.leased(signal);
    // Nobody has spoken with it meanwhile, so that nobody has had a reason to ask.
    const isTold = async () => (await known()).includes(proxyMac);
    const telling = until(isTold, { what: "a1 to be told where vm1 is", timeoutMs: 20_000, signal });
    await telling.catch((error: Error) => stage.watch.fault(error.message));
    await stage.watch.begin();
    return await stage.watch.end();
  },
};
