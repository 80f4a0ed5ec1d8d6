// The controller killed after each of its writes, one after the other, while nodes join and sandboxes come and go: whoever leads
// next finishes what was begun, and no address is given twice on the way.
import { expect, it } from "vitest";

import type { Fleet, Guest } from "../fleet.ts";
import { added } from "../scenes.ts";

/** Ten nodes' worth of steps: a join, a change of range and a leave take some thirty writes of the controller. */
export function killStories(get: () => Fleet, kills: number): void {
  it(`killed after every write, ${kills} times over joins, changes and leaves`, { timeout: 600_000 }, async () => {
    const fleet = get();
    const ipam = { node_slice_size: "/28", network_name: "kills" };
    let net = await fleet.define("kills", { range: "10.120.0.0/24", ...ipam });
    const guests: Guest[] = [];
    const names: string[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const leader = fleet.lead();
      const died = leader.line.dieAfter(1 + (kill % 7));
      if (kill % 4 === 0) names.push((await fleet.join(fleet.fresh("node"))).name);
      if (kill % 9 === 5) net = await fleet.redefine(net, { range: `10.120.${kill}.0/24`, ...ipam });
      if (kill % 11 === 10 && names.length > 3) await fleet.removeNode(names.shift()!);
      await Promise.race([died, quiet(leader)]);
      await leader.kill();
      const node = names[kill % names.length]!;
      const guest = await fleet.pod(node);
      if ((await fleet.tryAdd(guest, net)).status === 0) guests.push(guest);
      else await fleet.end(guest, net);
      if (kill % 3 === 2 && guests.length > 2) await fleet.end(guests.shift()!, net);
      expect(await fleet.dangers()).toEqual([]);
    }
    fleet.lead();
    for (const name of names) guests.push(await added(fleet, net, name));
    expect(await fleet.dangers()).toEqual([]);
    await fleet.settle(120_000);
  });
}

/** It has nothing to write any more: twice asked, half a second apart. */
async function quiet({ line }: { readonly line: { readonly writes: number } }): Promise<void> {
  for (let before = -1; before !== line.writes;) {
    before = line.writes;
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
}
