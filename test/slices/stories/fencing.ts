// The taint out-of-service is said about a machine by somebody who is not there. It counts when the machine itself has been silent, and what its
// pods held stays taken until they are gone.
import { setTimeout as pause } from "node:timers/promises";

import { expect, it } from "vitest";

import { nodes } from "../../../src/cluster/resources.ts";
import type { Fleet } from "../fleet.ts";
import { added, addMany } from "../scenes.ts";
import { refused, soon, tight } from "./nodes.ts";

/** As an operator does it whose kubelet is dead, to fail its pods over. */
async function taint(fleet: Fleet, name: string): Promise<void> {
  const body = { status: { conditions: [{ type: "Ready", status: "Unknown" }] } };
  await fleet.admin.patch(nodes, { name }, { type: "merge", body }, { subresource: "status" });
  const taints = [{ key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" }];
  await fleet.admin.patch(nodes, { name }, { type: "merge", body: { spec: { taints } } });
}

const slicesOf = async (fleet: Fleet, node: string) =>
  (await fleet.books()).slices.filter((each) => each.node === node).map(({ name }) => name);

export function fencingStories(get: () => Fleet): void {
  it("a node that is tainted while its daemon is heard keeps its slices, also when its line breaks then", async () => {
    const fleet = get();
    const net = await fleet.define("heard", tight("heard", 3));
    for (const name of ["a", "b"]) await fleet.join(name);
    fleet.lead();
    for (let count = 0; count < 3; count++) await added(fleet, net, "b");
    await addMany(fleet, net, "a", 3);
    await fleet.settle();
    const before = await slicesOf(fleet, "b");
    const short = await fleet.pod("a", "short");
    await taint(fleet, "b");
    for (const isCut of [false, true]) {
      if (isCut) fleet.node("b").line.cut();
      const asking = refused(fleet, short, net);
      for (let look = 0; look < 30; look++) {
        expect(await fleet.dangers()).toEqual([]);
        await pause(100);
      }
      await asking;
      expect(await slicesOf(fleet, "b")).toEqual(before);
    }
  });

  it("tainted and silent: others get its slice, and what its pods hold when they are gone", async () => {
    const fleet = get();
    const net = await fleet.define("mute", tight("mute", 4));
    for (const name of ["a", "b"]) await fleet.join(name);
    fleet.lead(soon);
    const stays = await added(fleet, net, "b");
    const goes = await added(fleet, net, "b");
    await addMany(fleet, net, "a", 3);
    await fleet.settle();
    await fleet.node("b").rig.stop();
    await taint(fleet, "b");
    await addMany(fleet, net, "a", 1);
    expect(await slicesOf(fleet, "b")).toEqual([]);
    const kept = new Set((await fleet.books()).shared.map(({ who }) => who));
    expect(kept).toEqual(new Set([stays, goes].map(({ name }) => `default/${name} net1`)));
    const short = await fleet.pod("a", "short");
    await refused(fleet, short, net);
    expect(await fleet.dangers()).toEqual([]);
    // Its kubelet is dead: pod GC deletes the pod. Leak collection takes its two looks.
    fleet.forget(goes);
    await fleet.endPod(goes);
    await expect.poll(async () => (await fleet.books()).shared.length, { timeout: 120_000 }).toBe(1);
    await fleet.add(short, net);
    expect(await fleet.dangers()).toEqual([]);
  });
}
