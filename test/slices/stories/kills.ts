// The controller killed after each of its writes, one after the other, while nodes join and sandboxes come and go:
// whoever leads next finishes what was begun, and no address is given twice on the way.
import { expect, it } from "vitest";

import type { Fixture, Guest } from "../fixture.ts";

/** A join, a change of range and a leave take some ten writes of the controller each. */
export function killStories(get: () => Fixture, kills: number): void {
  it(`killed after every write, ${kills} times over joins, changes and leaves`, { timeout: 600_000 }, async () => {
    const fixture = get();
    const ipam = { node_slice_size: "/28", network_name: "kills" };
    let net = await fixture.define("kills", { range: "10.120.0.0/24", ...ipam });
    const living: Guest[] = [];
    const arriving: Promise<void>[] = [];
    const names: string[] = [];
    const gone: string[] = [];
    /** As a kubelet: until there is an address, by the current definition. Each try waits for some seconds itself. */
    const arrive = async (guest: Guest): Promise<void> => {
      for (let tries = 1; (await fixture.tryAdd(guest, net)).status !== 0; tries++) {
        await fixture.ask("DEL", guest, net);
        if (tries === triesMax) throw new Error(`${guest.name} on ${guest.node} never had an address`);
      }
      living.push(guest);
    };
    for (let kill = 0; kill < kills; kill++) {
      const leader = fixture.lead();
      const died = leader.line.dieAfter(1 + (kill % 7));
      if (kill % 4 === 0) names.push((await fixture.join(fixture.fresh("node"))).name);
      if (kill % 9 === 5) net = await fixture.redefine(net, { range: `10.120.${kill}.0/24`, ...ipam });
      if (kill % 11 === 10) {
        gone.push(names.shift()!);
        await fixture.removeNode(gone.at(-1)!);
      }
      arriving.push(arrive(await fixture.pod(names[kill % names.length]!)));
      await Promise.race([died, quiet(leader)]);
      await leader.kill();
      if (kill % 3 === 2 && living.length > 2) await fixture.end(living.shift()!, net);
      expect(await fixture.dangers()).toEqual([]);
    }
    // Whoever waits on a node that is gone gets an address when the node is back.
    for (const name of gone) await fixture.addNode(name);
    fixture.lead();
    await Promise.all(arriving);
    expect(await fixture.dangers()).toEqual([]);
    await fixture.settle(120_000);
    expect(living.length).toBeGreaterThan(kills / 2);
  });
}

/** Each waits for up to a quarter of a minute. */
const triesMax = 100;

/** It has nothing to write any more: twice asked, half a second apart. */
async function quiet({ line }: { readonly line: { readonly writes: number } }): Promise<void> {
  for (let before = -1; before !== line.writes;) {
    before = line.writes;
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
}
