import { beforeEach, describe, expect, it } from "vitest";

import { KubeClient } from "../rest.ts";
import { FakeApi } from "../testing/fake-api.ts";
import { ManualClock, settle } from "../testing/manual-clock.ts";
import { nodeNameOf, OwnNode } from "./own-node.ts";

describe("the name of a Node", () => {
  it.each([
    ["laptop", "laptop"],
    ["My_Laptop.Home", "my-laptop.home"],
    ["-kvm1-.", "kvm1"],
    ["ä", "localhost"],
    ["", "localhost"],
  ])("of %j is %j", (hostname, name) => expect(nodeNameOf(hostname)).toBe(name));
});

describe("the Node of a machine without a kubelet", () => {
  let api: FakeApi;
  let clock: ManualClock;
  let errors: Error[];
  const over = new Set<string>();
  const stop = new AbortController().signal;
  const make = () =>
    new OwnNode({
      client: new KubeClient({ transport: api.transport, clock }),
      clock,
      name: "laptop",
      keeper: "this test",
      isOver: (uid) => over.has(uid),
      onError: (error) => void errors.push(error),
    });
  const path = "/api/v1/nodes/laptop";
  const ready = async () => {
    const text = await new KubeClient({ transport: api.transport, clock }).raw(path);
    const { status } = JSON.parse(text) as { status?: { conditions: Record<string, string>[] } };
    return status?.conditions.find(({ type }) => type === "Ready");
  };
  beforeEach(() => {
    [api, clock, errors] = [new FakeApi(), new ManualClock(), []];
    over.clear();
  });

  it("is there and Ready, is renewed, and comes back where somebody deletes it", async () => {
    const node = make();
    await node.register(stop);
    expect(await ready()).toMatchObject({ status: "True", lastHeartbeatTime: "2026-01-01T00:00:00Z" });
    const ending = new AbortController();
    const keeping = node.keep.run(ending.signal, () => {});
    await clock.advance(60_000);
    expect(await ready()).toMatchObject({
      lastHeartbeatTime: "2026-01-01T00:01:00Z",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    });
    api.remove(path);
    await clock.advance(10_000);
    expect(await ready()).toMatchObject({ status: "True" });
    ending.abort();
    await keeping;
    expect([errors, clock.pending]).toEqual([[], 0]);
  });

  it("ends a pod that is being deleted when its grace is over and nothing of it is left, and no other", async () => {
    const pod = (name: string, metadata: object) =>
      api.put(`/api/v1/namespaces/a/pods/${name}`, {
        metadata,
        spec: { nodeName: "laptop" },
      }).metadata.uid!;
    const soon = "2026-01-01T00:00:15Z";
    const [lives, waits, ends] = [
      pod("lives", {}),
      pod("waits", { deletionTimestamp: soon }),
      pod("ends", { deletionTimestamp: soon }),
    ];
    over.add(lives).add(ends);
    const ending = new AbortController();
    const keeping = make().keep.run(ending.signal, () => {});
    await clock.advance(10_000);
    expect(api.count("DELETE")).toBe(0);
    await clock.advance(10_000);
    expect(api.requests.filter(({ method }) => method === "DELETE").map(({ path: at }) => at)).toEqual([
      "/api/v1/namespaces/a/pods/ends",
    ]);
    over.add(waits);
    await clock.advance(10_000);
    expect(api.count("DELETE", "/waits")).toBe(1);
    expect(api.count("DELETE", "/lives")).toBe(0);
    ending.abort();
    await settle();
    await keeping;
    expect(errors).toEqual([]);
  });

  it("says what failed, and tries again", async () => {
    const node = make();
    api.fault = () => {
      throw new Error("no route");
    };
    const ending = new AbortController();
    const keeping = node.keep.run(ending.signal, () => {});
    await clock.advance(10_000);
    expect(errors).toHaveLength(1);
    api.fault = () => undefined;
    await clock.advance(10_000);
    expect(await ready()).toMatchObject({ status: "True" });
    ending.abort();
    await keeping;
  });
});
