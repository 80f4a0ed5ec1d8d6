// The taint out-of-service is said about a machine by somebody who is not there. It counts when the machine itself has
// been silent, and what its pods held stays taken until they are gone.
import { setTimeout as pause } from "node:timers/promises";

import { expect, it } from "vitest";

import { nodes } from "../../../src/cluster/resources.ts";
import type { Fixture } from "../fixture.ts";
import { added, addMany } from "../steps.ts";
import { refused, soon, tight } from "./nodes.ts";

/** As an operator does it whose kubelet is dead, to fail its pods over. */
async function taint(fixture: Fixture, name: string): Promise<void> {
  const body = { status: { conditions: [{ type: "Ready", status: "Unknown" }] } };
  await fixture.admin.patch(nodes, { name }, { type: "merge", body }, { subresource: "status" });
  const taints = [{ key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" }];
  await fixture.admin.patch(nodes, { name }, { type: "merge", body: { spec: { taints } } });
}

const slicesOf = async (fixture: Fixture, node: string) =>
  (await fixture.books()).slices.filter((each) => each.node === node).map(({ name }) => name);

export function fencingStories(get: () => Fixture): void {
  it("a node that is tainted while its daemon is heard keeps its slices, also when its line breaks then", async () => {
    const fixture = get();
    const net = await fixture.define("heard", tight("heard", 3));
    for (const name of ["a", "b"]) await fixture.join(name);
    fixture.lead();
    for (let count = 0; count < 3; count++) await added(fixture, net, "b");
    await addMany(fixture, net, "a", 3);
    await fixture.settle();
    const before = await slicesOf(fixture, "b");
    const short = await fixture.pod("a", "short");
    await taint(fixture, "b");
    for (const isCut of [false, true]) {
      if (isCut) fixture.node("b").line.cut();
      const asking = refused(fixture, short, net);
      for (let look = 0; look < 30; look++) {
        expect(await fixture.dangers()).toEqual([]);
        await pause(100);
      }
      await asking;
      expect(await slicesOf(fixture, "b")).toEqual(before);
    }
  });

  it("tainted and silent: others get its slice, and what its pods hold when they are gone", async () => {
    const fixture = get();
    const net = await fixture.define("mute", tight("mute", 4));
    for (const name of ["a", "b"]) await fixture.join(name);
    fixture.lead(soon);
    const stays = await added(fixture, net, "b");
    const goes = await added(fixture, net, "b");
    await addMany(fixture, net, "a", 3);
    await fixture.settle();
    await fixture.node("b").daemonFixture.stop();
    await taint(fixture, "b");
    await addMany(fixture, net, "a", 1);
    expect(await slicesOf(fixture, "b")).toEqual([]);
    const kept = new Set((await fixture.books()).shared.map(({ who }) => who));
    expect(kept).toEqual(new Set([stays, goes].map(({ name }) => `default/${name} net1`)));
    const short = await fixture.pod("a", "short");
    await refused(fixture, short, net);
    expect(await fixture.dangers()).toEqual([]);
    // Its kubelet is dead: pod GC deletes the pod. Leak collection takes its two looks.
    fixture.forget(goes);
    await fixture.endPod(goes);
    await expect.poll(async () => (await fixture.books()).shared.length, { timeout: 120_000 }).toBe(1);
    await fixture.add(short, net);
    expect(await fixture.dangers()).toEqual([]);
  });
}
