// `holdfast slices release` on a server: refused while anything says that the node lives, and whole otherwise.
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";

import { SliceStage } from "../../test/pools/slice-stage.ts";
import { fencedAnnotation, grantAnnotation, nodeWordAnnotation } from "../api/slice-grant.ts";
import * as kinds from "../ledger/resources.ts";
import { releaseNode, type ReleaseNodeOptions } from "./release-node.ts";
import { entry, journalOf, leaseObject, system } from "./testing/objects.ts";
import { nowMs } from "./testing/snapshot.ts";

const hourMs = 3_600_000;
const [first, second, other] = ["blue-n1-10.0.0.0-24", "blue-n1-10.0.1.0-24", "blue-n2-10.0.2.0-24"] as const;

let stage: SliceStage;
beforeEach(async () => {
  stage = await SliceStage.open();
  await stage.slice({ entries: { "5": entry("web") } });
  await stage.slice({ block: "10.0.1.0/24" });
  await stage.slice({ node: "n2", block: "10.0.2.0/24" });
});
afterEach(() => stage.close());

async function release(options: Partial<ReleaseNodeOptions> = {}) {
  const said: string[] = [];
  const { client, clock } = stage;
  const given: ReleaseNodeOptions = {
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
    leaderLease: "holdfast-controller",
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

const fenced = () => stage.annotations(fencedAnnotation);
const nothing = { [first]: undefined, [second]: undefined, [other]: undefined };
const lease = (renewedMs: number, node = "n1") => stage.client.create(kinds.leases, leaseObject(node, renewedMs));
const annotate = (name: string, annotations: Record<string, string>) =>
  stage.client.patch(
    kinds.ipPools,
    { namespace: system, name },
    { type: "merge", body: { metadata: { annotations } } },
  );

describe("refused", () => {
  const stories: readonly [string, () => Promise<unknown>, Partial<ReleaseNodeOptions>, string, RegExp][] = [
    ["a node that is Ready", () => stage.node("n1", "True"), {}, "node-alive", /^Node n1 is Ready/],
    [
      "a Lease of a minute ago, whatever the Node says",
      () => stage.node("n1", "Unknown").then(() => lease(nowMs - 61_000)),
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
      () => stage.node("n1", "False"),
      { isConfirmed: false },
      "not-confirmed",
      /--yes-the-node-is-off/,
    ],
    ["a node that has no slices", async () => {}, { node: "n9" }, "no-slices", /^Node n9 has no slices/],
  ];
  test.each(stories)("%s", async (_, prepare, options, code, words) => {
    await prepare();
    const { error } = await release(options);
    expect(error).toMatchObject({ code, message: expect.stringMatching(words) as unknown });
    expect(await fenced()).toEqual(nothing);
  });

  it("a daemon whose clock is hours behind, and which renews its Lease while we look", async () => {
    const { metadata } = await lease(nowMs - 5 * hourMs);
    stage.clock.meanwhile = async () => {
      const renewed = leaseObject("n1", nowMs - 5 * hourMs + 60_000);
      await stage.client.update(kinds.leases, {
        ...renewed,
        metadata: { ...renewed.metadata, resourceVersion: metadata.resourceVersion! },
      });
    };
    const { error } = await release();
    expect(error).toMatchObject({
      code: "node-alive",
      message: expect.stringContaining("its clock is behind") as unknown,
    });
    expect(await fenced()).toEqual(nothing);
  });

  it("what is called off while it watches", async () => {
    const stop = new AbortController();
    stage.clock.meanwhile = () => stop.abort();
    expect((await release({ signal: stop.signal })).error).toMatchObject({ code: "called-off" });
    expect(await fenced()).toEqual(nothing);
  });

  it("a daemon that writes its mirror while we look", async () => {
    stage.clock.meanwhile = async () => {
      const body = { spec: { allocations: { "6": entry("db") } } };
      await stage.client.patch(kinds.ipPools, { namespace: system, name: second }, { type: "merge", body });
    };
    expect((await release()).error).toMatchObject({ code: "node-alive" });
    expect(await fenced()).toEqual(nothing);
  });

  it("a daemon that writes at the very moment: the guarded write finds out", async () => {
    stage.beforeNext("PATCH", async () => {
      const word = JSON.stringify({ journal: journalOf("n1"), generation: 1, serial: 1, used: 2 });
      await annotate(first, { [nodeWordAnnotation]: word });
    });
    const { error } = await release();
    expect(error).toMatchObject({
      code: "node-alive",
      message: expect.stringContaining(`IPPool ${system}/${first}`) as unknown,
    });
    expect(await fenced()).toEqual(nothing);
  });
});

describe("released", () => {
  const words = `anna@desk at ${new Date(nowMs + 90_000).toISOString()}`;
  const done = { [first]: words, [second]: words, [other]: undefined };

  it("every slice of the node says by whom and when; those of others are left alone", async () => {
    await stage.node("n1", "Unknown");
    await lease(nowMs - 5 * hourMs);
    const { said, error } = await release();
    expect(error).toBeUndefined();
    expect(await fenced()).toEqual(done);
    expect(said).toEqual([
      "Node n1 is not Ready; its daemon was last heard 18000 s ago. It has 2 slices with 1 address held, as far as it could tell:",
      "  POOL              SLICE        STATE   HELD",
      "  kube-system/blue  10.0.0.0/24  active  1",
      "  kube-system/blue  10.0.1.0/24  active  0",
      "  10.0.0.5  pod shop/web (net1)",
      "These addresses are given to others from then on. If a pod still runs there, an address is given twice.",
      "Its Node object stays, so it is given an empty slice anew; delete the Node if it does not come back.",
      "Watching for 90 s whether node n1 stays silent.",
      "Fenced: 2 slices of node n1.",
      "The controller removes what is fenced; holdfast slices shows when it has.",
    ]);
  });

  it("a dry run says the same and writes nothing", async () => {
    const { said, error } = await release({ dryRun: true, isConfirmed: false });
    expect(error).toBeUndefined();
    expect(said[0]).toContain("Node n1 has no Node object; its daemon was never heard.");
    expect(said.at(-1)).toBe("Nothing was written: this was a dry run.");
    expect(await fenced()).toEqual(nothing);
  });

  it("the controller's own writes in between do not stop it", async () => {
    stage.beforeNext("PATCH", async () => {
      await annotate(first, { [grantAnnotation]: JSON.stringify({ generation: 1, serial: 2, phase: "draining" }) });
    });
    expect((await release()).error).toBeUndefined();
    expect(await fenced()).toEqual(done);
  });

  it("what was fenced before keeps the word of who did it", async () => {
    await annotate(first, { [fencedAnnotation]: "bert at noon" });
    await release();
    expect(await fenced()).toEqual({ ...done, [first]: "bert at noon" });
  });

  it("many held addresses are counted, not listed", async () => {
    const entries = Object.fromEntries(
      Array.from({ length: 14 }, (_, index) => [String(index + 1), entry(`web-${index}`)]),
    );
    await stage.slice({ node: "n3", block: "10.0.3.0/24", entries });
    const { said } = await release({ node: "n3", dryRun: true });
    expect(said.filter((line) => line.startsWith("  10.0.3."))).toHaveLength(10);
    expect(said).toContain("  ... and 4 more of 10.0.3.0/24");
  });
});

describe("waiting for the controller", () => {
  const leader = { metadata: { namespace: system, name: "holdfast-controller" }, spec: { holderIdentity: "c-1" } };
  const remove = (name: string) => stage.client.delete(kinds.ipPools, { namespace: system, name });
  const renew = async (round: number) => {
    const patch = { type: "merge", body: { spec: { leaseTransitions: round } } } as const;
    await stage.client.patch(kinds.leases, { namespace: system, name: "holdfast-controller" }, patch);
  };

  it("says how far it is, and ends when all are gone", async () => {
    await stage.client.create(kinds.leases, leader);
    const steps = ["", first, "", second];
    stage.clock.meanwhile = async () => {
      const name = steps.shift() ?? "";
      if (name !== "") await remove(name);
    };
    const { said, error } = await release({ wait: true });
    expect(error).toBeUndefined();
    expect(said.slice(-3)).toEqual([
      "Removed: 1 of 2 slices.",
      "Removed: 2 of 2 slices.",
      "Removed: the addresses are free for others.",
    ]);
  });

  it("a slice that was granted anew under the same name counts as removed", async () => {
    await stage.client.create(kinds.leases, leader);
    stage.clock.meanwhile = async (delayMs) => {
      if (delayMs === 90_000) return;
      await remove(first);
      await remove(second);
      await stage.slice({ grant: { generation: 7 } });
      stage.clock.meanwhile = () => {};
    };
    expect((await release({ wait: true })).error).toBeUndefined();
    expect((await fenced())[first]).toBeUndefined();
  });

  it("where no controller leads it says so, and that the fence stands", async () => {
    const { said, error } = await release({ wait: true });
    expect(said).toContain(
      "No controller leads (Lease kube-system/holdfast-controller is not renewed): the slices go when one does.",
    );
    expect(error).toMatchObject({
      code: "not-removed",
      message: expect.stringContaining("no controller leads; start one") as unknown,
    });
    expect((await fenced())[second]).toMatch(/^anna@desk/);
  });

  it("a leader that has died is noticed, one that is only slow is not taken for dead", async () => {
    await stage.client.create(kinds.leases, leader);
    const dead = await release({ wait: true });
    expect(dead.error?.message).toContain("no controller leads");
    let round = 1;
    stage.clock.meanwhile = () => renew(round++);
    const slow = await release({ wait: true });
    expect(slow.error?.message).toContain("the controller has not removed it yet");
    expect(slow.said.filter((line) => line.startsWith("No controller"))).toEqual([]);
  });
});
