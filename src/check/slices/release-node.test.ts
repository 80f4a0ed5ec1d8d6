// `holdfast slices release` on a server: refused while anything says that the node lives, and whole otherwise.
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";

import { SliceFixture } from "../../../test/pools/slice-fixture.ts";
import { nodeLeaseName, slicesAnnotation } from "../../api/slices/node-lease.ts";
import { offAnnotation, offBy } from "../../cluster/fencing.ts";
import * as kinds from "../../cluster/resources.ts";
import { entry, leaseObject, offLease, system } from "../../slices/testing/objects.ts";
import { releaseNode, type ReleaseOptions } from "./release-node.ts";
import { nowMs } from "./testing/snapshot.ts";

const hourMs = 3_600_000;
const [first, second] = ["blue-n1-10.0.0.0-24", "blue-n1-10.0.1.0-24"] as const;

let fixture: SliceFixture;
beforeEach(async () => {
  fixture = await SliceFixture.open();
  await fixture.slice({ entries: { "5": entry("web") } });
  await fixture.slice({ block: "10.0.1.0/24" });
  await fixture.slice({ node: "n2", block: "10.0.2.0/24" });
});
afterEach(() => fixture.close());

async function release(options: Partial<ReleaseOptions> = {}) {
  const said: string[] = [];
  const { client, clock } = fixture;
  const given: ReleaseOptions = {
    client,
    clock,
    systemNamespace: system,
    node: "n1",
    by: "anna@desk",
    dryRun: false,
    isConfirmed: true,
    observeMs: 90_000,
    wait: false,
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    say: (line) => said.push(line),
    ...options,
  };
  const error = await releaseNode(given).then(
    () => undefined,
    (thrown: unknown) => thrown as Error & { code: string },
  );
  return { said, error };
}

/** The word on the node's Lease; undefined: there is none. */
const said = async (node = "n1") =>
  offBy(await fixture.client.lookUp(kinds.leases, { namespace: system, name: nodeLeaseName(node) }));
const lease = (renewedMs: number, node = "n1") => fixture.client.create(kinds.leases, leaseObject(node, renewedMs));
const patchLease = (body: object) =>
  fixture.client.patch(kinds.leases, { namespace: system, name: nodeLeaseName("n1") }, { type: "merge", body });

describe("refused", () => {
  const stories: readonly [string, () => Promise<unknown>, Partial<ReleaseOptions>, string, RegExp][] = [
    ["a node that is Ready", () => fixture.node("n1", "True"), {}, "node-alive", /^Node n1 is Ready/],
    [
      "a Lease of a minute ago, whatever the Node says",
      () => fixture.node("n1", "Unknown").then(() => lease(nowMs - 61_000)),
      {},
      "node-alive",
      /renewed its Lease 61 s ago/,
    ],
    [
      "a Lease from the future: a clock that is ahead",
      () => lease(nowMs + hourMs),
      {},
      "node-alive",
      /renewed its Lease 0 s ago/,
    ],
    [
      "without the word of the operator",
      () => fixture.node("n1", "False"),
      { isConfirmed: false },
      "not-confirmed",
      /--yes-the-node-is-off/,
    ],
  ];
  test.each(stories)("%s", async (_, prepare, options, code, words) => {
    await prepare();
    const { error } = await release(options);
    expect(error).toMatchObject({ code, message: expect.stringMatching(words) as unknown });
    expect(await said()).toBeUndefined();
  });

  it("a daemon whose clock is hours behind, and which renews its Lease while we look", async () => {
    const { metadata } = await lease(nowMs - 5 * hourMs);
    fixture.clock.meanwhile = async () => {
      const renewed = leaseObject("n1", nowMs - 5 * hourMs + 60_000);
      await fixture.client.update(kinds.leases, {
        ...renewed,
        metadata: { ...renewed.metadata, resourceVersion: metadata.resourceVersion! },
      });
    };
    const { error } = await release();
    expect(error).toMatchObject({
      code: "node-alive",
      message: expect.stringContaining("its clock is behind") as unknown,
    });
    expect(await said()).toBeUndefined();
  });

  it("what is called off while it watches", async () => {
    const stop = new AbortController();
    fixture.clock.meanwhile = () => stop.abort();
    expect((await release({ signal: stop.signal })).error).toMatchObject({ code: "called-off" });
    expect(await said()).toBeUndefined();
  });

  it("a daemon that writes its mirror while we look", async () => {
    fixture.clock.meanwhile = async () => {
      const body = { spec: { allocations: { "6": entry("db") } } };
      await fixture.client.patch(kinds.ipPools, { namespace: system, name: second }, { type: "merge", body });
    };
    expect((await release()).error).toMatchObject({ code: "node-alive" });
    expect(await said()).toBeUndefined();
  });

  it("a daemon that renews at the very moment: the guarded write finds out", async () => {
    await lease(nowMs - 5 * hourMs);
    const renewTime = new Date(nowMs).toISOString().replace("Z", "000Z");
    fixture.beforeNext("PATCH", async () => void (await patchLease({ spec: { renewTime } })));
    expect((await release()).error).toMatchObject({ code: "node-alive" });
    expect(await said()).toBeUndefined();
  });
});

describe("released", () => {
  const words = `anna@desk at ${new Date(nowMs + 90_000).toISOString()}`;

  it("the node's Lease says by whom and when; those of others are left alone", async () => {
    await fixture.node("n1", "Unknown");
    await lease(nowMs - 5 * hourMs);
    await lease(nowMs - 5 * hourMs, "n2");
    const { said: lines, error } = await release();
    expect(error).toBeUndefined();
    expect([await said(), await said("n2")]).toEqual([words, undefined]);
    expect(lines).toEqual([
      "Node n1 is not Ready; its daemon was last heard 18000 s ago. It has 2 slices with 1 address held, as far as it could tell:",
      "  POOL              SLICE        STATE   HELD",
      "  kube-system/blue  10.0.0.0/24  active  1",
      "  kube-system/blue  10.0.1.0/24  active  0",
      "  10.0.0.5  pod shop/web (net1)",
      "Of shared ranges its pods hold 0 addresses; and it counts as off for the claims of its virtual machines.",
      "All of these are given to others when it has been silent for five minutes and its pods are gone. If one still runs there, an address is given twice.",
      "It is given slices anew when its daemon is heard again.",
      "Watching for 90 s whether node n1 stays silent.",
      "Node n1 is declared off, with 2 slices.",
      "The controller removes its slices; holdfast slices shows when it has.",
    ]);
  });

  it("a dry run says the same and writes nothing", async () => {
    const { said: lines, error } = await release({ dryRun: true, isConfirmed: false });
    expect(error).toBeUndefined();
    expect(lines[0]).toContain("Node n1 has no Node object; its daemon was never heard.");
    expect(lines.at(-1)).toBe("Nothing was written: this was a dry run.");
    expect(await said()).toBeUndefined();
  });

  it("the controller's own writes in between do not stop it", async () => {
    await lease(nowMs - 5 * hourMs);
    fixture.beforeNext(
      "PATCH",
      async () => void (await patchLease({ metadata: { annotations: { [slicesAnnotation]: "{}" } } })),
    );
    expect((await release()).error).toBeUndefined();
    expect(await said()).toBe(words);
  });

  it("what was said before keeps the word of who did it", async () => {
    await fixture.client.create(kinds.leases, offLease("n1", "bert at noon", nowMs - 5 * hourMs));
    await release();
    expect(await said()).toBe("bert at noon");
  });

  it("a node that has no slices, and was never heard: what its pods hold of shared ranges goes by the same word", async () => {
    const { said: lines, error } = await release({ node: "n9", wait: true });
    expect(error).toBeUndefined();
    expect(lines[0]).toBe(
      "Node n9 has no Node object; its daemon was never heard. It has 0 slices with 0 addresses held, as far as it could tell:",
    );
    expect(await said("n9")).toBe(words);
  });

  it("a word that the node has outlived counts no more", async () => {
    await lease(nowMs - 5 * hourMs);
    await release();
    await patchLease({ spec: { renewTime: new Date(nowMs).toISOString().replace("Z", "000Z") } });
    expect(await said()).toBeUndefined();
    const { metadata } = await fixture.client.get(kinds.leases, { namespace: system, name: nodeLeaseName("n1") });
    expect(metadata.annotations?.[offAnnotation]).toContain(words);
  });

  it("many held addresses are counted, not listed", async () => {
    const entries = Object.fromEntries(
      Array.from({ length: 14 }, (_, index) => [String(index + 1), entry(`web-${index}`)]),
    );
    await fixture.slice({ node: "n3", block: "10.0.3.0/24", entries });
    const { said: lines } = await release({ node: "n3", dryRun: true });
    expect(lines.filter((line) => line.startsWith("  10.0.3."))).toHaveLength(10);
    expect(lines).toContain("  ... and 4 more of 10.0.3.0/24");
  });
});

describe("waiting for the controller", () => {
  const leader = { metadata: { namespace: system, name: "holdfast-controller" }, spec: { holderIdentity: "c-1" } };
  const remove = (name: string) => fixture.client.delete(kinds.ipPools, { namespace: system, name });
  const renew = async (round: number) => {
    const patch = { type: "merge", body: { spec: { leaseTransitions: round } } } as const;
    await fixture.client.patch(kinds.leases, { namespace: system, name: "holdfast-controller" }, patch);
  };

  it("says how far it is, and ends when all are gone", async () => {
    await fixture.client.create(kinds.leases, leader);
    const steps = ["", first, "", second];
    fixture.clock.meanwhile = async () => {
      const name = steps.shift() ?? "";
      if (name !== "") await remove(name);
    };
    const { said: lines, error } = await release({ wait: true });
    expect(error).toBeUndefined();
    expect(lines.slice(-3)).toEqual([
      "Removed: 1 of 2 slices.",
      "Removed: 2 of 2 slices.",
      "Removed: what no pod holds of them is free for others.",
    ]);
  });

  it("a slice that was granted anew under the same name counts as removed", async () => {
    await fixture.client.create(kinds.leases, leader);
    fixture.clock.meanwhile = async (delayMs) => {
      if (delayMs === 90_000) return;
      await remove(first);
      await remove(second);
      await fixture.slice({ grant: { generation: 7 } });
      fixture.clock.meanwhile = () => {};
    };
    expect((await release({ wait: true })).error).toBeUndefined();
  });

  it("where no controller leads it says so, and that the fence stands", async () => {
    const { said: lines, error } = await release({ wait: true });
    expect(lines).toContain(
      "No controller leads (Lease kube-system/holdfast-controller is not renewed): the slices go when one does.",
    );
    expect(error).toMatchObject({
      code: "not-removed",
      message: expect.stringContaining("no controller leads; start one") as unknown,
    });
    expect(await said()).toMatch(/^anna@desk/);
  });

  it("a leader that has died is noticed, one that is only slow is not taken for dead", async () => {
    await fixture.client.create(kinds.leases, leader);
    const dead = await release({ wait: true });
    expect(dead.error?.message).toContain("no controller leads");
    let round = 1;
    fixture.clock.meanwhile = () => renew(round++);
    const slow = await release({ wait: true });
    expect(slow.error?.message).toContain("the controller has not removed it yet");
    expect(slow.said.filter((line) => line.startsWith("No controller"))).toEqual([]);
  });
});
