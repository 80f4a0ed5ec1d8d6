// What goes wrong between the commit and its answer: daemons that die, answers that are lost, whereabouts beside us.
import { expect, it } from "vitest";

import { pods } from "../../../src/cluster/resources.ts";
import { addressesOf, conditionOf, persistent } from "./fixture.ts";
import type { GetClaimFixture } from "./suite.ts";

export function outageStories(fixture: GetClaimFixture): void {
  const range = { range: "10.73.0.0/24" };
  const scene = async (prefix: string) => {
    const net = fixture().fresh(prefix);
    const machine = await fixture().machine(net);
    await fixture().claim(machine, "blue", net);
    return { net, machine, claim: `${net}.blue`, config: persistent(net, range) };
  };

  it("a daemon that dies between the commit and the status leaves the address the claim's; the next ADD writes the status", async () => {
    const { net, machine, config, claim } = await scene("killed");
    const { daemonFixture, line } = await fixture().lined({ node: "node1" });
    // The pool is known, and what is written next is the hold.
    await fixture().add(
      await fixture().launcher(await fixture().machine(`${net}-warm`), "node1"),
      persistent(net, range, { allowPersistentIPs: false }),
      "blue",
      daemonFixture,
    );
    const pod = await fixture().launcher(machine, "node1");
    const dead = line.dieAfter(1);
    const asked = fixture()
      .ask("ADD", pod, config, "blue", daemonFixture)
      .catch(() => undefined);
    await dead;
    await daemonFixture.stop();
    expect((await asked)?.status).not.toBe(0);
    const before = (await fixture().held(net)).filter(({ owner }) => owner.kind === "claim");
    expect(before).toHaveLength(1);
    expect((await fixture().read(claim)).status).toBeUndefined();
    line.heal();
    await daemonFixture.start();
    const [address] = await fixture().add(pod, config, "blue", daemonFixture);
    expect(address).toBe(`${before[0]!.address}/24`);
    await fixture().settled(claim, ({ status }) => status?.ips[0] === address);
    expect((await fixture().held(net)).filter(({ owner }) => owner.kind === "claim")).toHaveLength(1);
  });

  it("answers that are lost: whatever the daemon was told, the claim has one address and every pod is on its list", async () => {
    const { net, machine, config, claim } = await scene("lossy");
    const { daemonFixture, line } = await fixture().lined({ node: "node1" });
    line.lossPercent = 40;
    const seen = new Set<string>();
    for (let round = 0; round < 12; round++) {
      const pod = await fixture().launcher(machine, "node1");
      let address: string | undefined;
      for (let tries = 0; address === undefined && tries < 50; tries++) {
        const told = await fixture().ask("ADD", pod, config, "blue", daemonFixture);
        if (told.status === 0) [address] = addressesOf(told);
        else expect(told.json.code).toBe(11);
      }
      seen.add(address!);
      expect((await fixture().held(net))[0]!.users?.map(({ uid }) => uid)).toContain(pod.uid);
      await fixture().gone(pods, pod.name);
    }
    line.lossPercent = 0;
    expect(seen.size).toBe(1);
    expect(await fixture().held(net)).toHaveLength(1);
    await fixture().settled(claim, (each) => conditionOf(each) === "True SuccessfulAllocation");
  });

  it("the status that is left when the daemon is told to stop is written before it ends", async () => {
    const { machine, config, claim } = await scene("stopped");
    const daemonFixture = await fixture().daemon({ node: "node1" });
    const [address] = await fixture().add(await fixture().launcher(machine, "node1"), config, "blue", daemonFixture);
    await daemonFixture.stop();
    expect((await fixture().read(claim)).status?.ips).toEqual([address]);
  });

  it("beside whereabouts no claim holds an address, and the pod is told why", async () => {
    const { net, machine, config } = await scene("beside");
    await using _ = await fixture().beside();
    const daemonFixture = await fixture().daemon({ node: "node1" });
    const { json } = await fixture().ask(
      "ADD",
      await fixture().launcher(machine, "node1"),
      config,
      "blue",
      daemonFixture,
    );
    expect(json).toMatchObject({ code: 11, msg: expect.stringContaining("whereabouts") as string });
    expect(await fixture().held(net)).toEqual([]);
  });

  it("a DEL calls off an ADD that waits for its claim", async () => {
    const net = fixture().fresh("called-off");
    const machine = await fixture().machine(net);
    const pod = await fixture().launcher(machine, "node1");
    const config = persistent(net, range);
    const asked = fixture().ask("ADD", pod, config);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await fixture().ask("DEL", pod, config)).status).toBe(0);
    expect((await asked).status).not.toBe(0);
    expect(await fixture().held(net)).toEqual([]);
  });
}
