// What goes wrong between the commit and its answer: daemons that die, answers that are lost, whereabouts beside us.
import { expect, it } from "vitest";

import { pods } from "../../../src/cluster/resources.ts";
import type { GetClaimWorld } from "./suite.ts";
import { addressesOf, conditionOf, persistent } from "./world.ts";

export function outageStories(world: GetClaimWorld): void {
  const range = { range: "10.73.0.0/24" };
  const scene = async (prefix: string) => {
    const net = world().fresh(prefix);
    const machine = await world().machine(net);
    await world().claim(machine, "blue", net);
    return { net, machine, claim: `${net}.blue`, config: persistent(net, range) };
  };

  it("a daemon that dies between the commit and the status leaves the address the claim's; the next ADD writes the status", async () => {
    const { net, machine, config, claim } = await scene("killed");
    const { rig, line } = await world().lined({ node: "node1" });
    // The pool is known, and what is written next is the hold.
    await world().add(
      await world().launcher(await world().machine(`${net}-warm`), "node1"),
      persistent(net, range, { allowPersistentIPs: false }),
      "blue",
      rig,
    );
    const pod = await world().launcher(machine, "node1");
    const dead = line.dieAfter(1);
    const asked = world()
      .ask("ADD", pod, config, "blue", rig)
      .catch(() => undefined);
    await dead;
    await rig.stop();
    expect((await asked)?.status).not.toBe(0);
    const before = (await world().held(net)).filter(({ owner }) => owner.kind === "claim");
    expect(before).toHaveLength(1);
    expect((await world().read(claim)).status).toBeUndefined();
    line.heal();
    await rig.start();
    const [address] = await world().add(pod, config, "blue", rig);
    expect(address).toBe(`${before[0]!.address}/24`);
    await world().settled(claim, ({ status }) => status?.ips[0] === address);
    expect((await world().held(net)).filter(({ owner }) => owner.kind === "claim")).toHaveLength(1);
  });

  it("answers that are lost: whatever the daemon was told, the claim has one address and every pod is on its list", async () => {
    const { net, machine, config, claim } = await scene("lossy");
    const { rig, line } = await world().lined({ node: "node1" });
    line.lossPercent = 40;
    const seen = new Set<string>();
    for (let round = 0; round < 12; round++) {
      const pod = await world().launcher(machine, "node1");
      let address: string | undefined;
      for (let tries = 0; address === undefined && tries < 50; tries++) {
        const told = await world().ask("ADD", pod, config, "blue", rig);
        if (told.status === 0) [address] = addressesOf(told);
        else expect(told.json.code).toBe(11);
      }
      seen.add(address!);
      expect((await world().held(net))[0]!.users?.map(({ uid }) => uid)).toContain(pod.uid);
      await world().gone(pods, pod.name);
    }
    line.lossPercent = 0;
    expect(seen.size).toBe(1);
    expect(await world().held(net)).toHaveLength(1);
    await world().settled(claim, (each) => conditionOf(each) === "True SuccessfulAllocation");
  });

  it("the status that is left when the daemon is told to stop is written before it ends", async () => {
    const { machine, config, claim } = await scene("stopped");
    const rig = await world().daemon({ node: "node1" });
    const [address] = await world().add(await world().launcher(machine, "node1"), config, "blue", rig);
    await rig.stop();
    expect((await world().read(claim)).status?.ips).toEqual([address]);
  });

  it("beside whereabouts no claim holds an address, and the pod is told why", async () => {
    const { net, machine, config } = await scene("beside");
    await using _ = await world().beside();
    const rig = await world().daemon({ node: "node1" });
    const { json } = await world().ask("ADD", await world().launcher(machine, "node1"), config, "blue", rig);
    expect(json).toMatchObject({ code: 11, msg: expect.stringContaining("whereabouts") as string });
    expect(await world().held(net)).toEqual([]);
  });

  it("a DEL calls off an ADD that waits for its claim", async () => {
    const net = world().fresh("called-off");
    const machine = await world().machine(net);
    const pod = await world().launcher(machine, "node1");
    const config = persistent(net, range);
    const asked = world().ask("ADD", pod, config);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await world().ask("DEL", pod, config)).status).toBe(0);
    expect((await asked).status).not.toBe(0);
    expect(await world().held(net)).toEqual([]);
  });
}
