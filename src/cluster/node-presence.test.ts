// What counts as silence: only the time in which somebody could be heard.
import { beforeEach, describe, expect, it } from "vitest";

import { leaseNodeAnnotation, nodeLeaseName } from "../api/slices/node-lease.ts";
import type { InformerHandler } from "../kube/cache/informer.ts";
import { type Indexes, Store } from "../kube/cache/store.ts";
import type { Lease } from "../kube/lease.ts";
import { keyOf, type KubeObject } from "../kube/meta.ts";
import { ManualClock } from "../kube/testing/manual-clock.ts";
import { defaultRules, freshMs, nodeOfLease } from "./fencing.ts";
import { Presence } from "./node-presence.ts";
import type { Node } from "./resources.ts";

const minuteMs = 60_000;
const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }];

/** An informer whose server is the test. */
class Told<T extends KubeObject> {
  readonly cache: Store<T>;
  readonly #handlers: InformerHandler<T>[] = [];

  constructor(indexes: Indexes<T> = {}) {
    this.cache = new Store<T>(indexes, () => {});
  }

  handle(handler: InformerHandler<T>): () => void {
    this.#handlers.push(handler);
    return () => {};
  }

  put(object: T): void {
    const previous = this.cache.set(object);
    const stored = this.cache.get(keyOf(object))!;
    for (const tell of this.#handlers)
      tell(previous === undefined ? { type: "add", object: stored } : { type: "update", object: stored, previous });
  }

  remove(key: string): void {
    const object = this.cache.delete(key)!;
    for (const tell of this.#handlers) tell({ type: "delete", object, missed: false });
  }
}

let clock: ManualClock;
let nodes: Told<Node>;
let leases: Told<Lease>;
let presence: Presence;
let beats = 0;

beforeEach(() => {
  clock = new ManualClock();
  nodes = new Told<Node>();
  leases = new Told<Lease>({ node: (lease) => [nodeOfLease(lease)].filter((node) => node !== undefined) });
  presence = new Presence({ nodes, leases, clock, rules: defaultRules });
  setNode("n", "True");
  renew("n");
});

function setNode(name: string, ready: string, isTainted = false): void {
  const status = { conditions: [{ type: "Ready", status: ready }] };
  nodes.put({ metadata: { name }, ...(isTainted && { spec: { taints } }), status });
}

function leaseOf(node: string, renewTime: string): Lease {
  const metadata = { name: nodeLeaseName(node), annotations: { [leaseNodeAnnotation]: node } };
  return { metadata, spec: { renewTime, leaseDurationSeconds: 43_200 } };
}

const renew = (node: string) => leases.put(leaseOf(node, `renewed ${beats++}`));

/** Time passes, and somebody's Lease is renewed every ten seconds. */
async function listen(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 10_000) {
    await clock.advance(Math.min(left, 10_000));
    leases.put({ metadata: { name: "kube-scheduler" }, spec: { holderIdentity: `beat ${beats++}` } });
  }
}

describe("silence", () => {
  it("begins when the Lease is not renewed any more and the kubelet does not report", async () => {
    await listen(10 * minuteMs);
    expect(presence.of("n")).toBe("ready");
    setNode("n", "Unknown", true);
    // Its daemon has been silent for ten minutes; its kubelet was not.
    expect(presence.of("n")).toBe("unreachable");
    await listen(5 * minuteMs - 1);
    expect(presence.of("n")).toBe("unreachable");
    await listen(1);
    expect(presence.of("n")).toBe("fenced");
    renew("n");
    expect([presence.of("n"), presence.isFresh("n")]).toEqual(["unreachable", true]);
  });

  it("of a node that renews every minute never begins, whatever is said of it", async () => {
    setNode("n", "Unknown", true);
    for (let minute = 0; minute < 60; minute++) {
      await listen(minuteMs);
      expect(presence.of("n")).toBe("unreachable");
      renew("n");
    }
  });

  it("is not the time in which nobody was heard: the API server was away, or this process slept", async () => {
    setNode("n", "Unknown", true);
    await clock.advance(24 * 60 * minuteMs);
    expect(presence.silentMs("n")).toBe(0);
    await listen(10_000);
    expect([presence.silentMs("n"), presence.of("n")]).toEqual([0, "unreachable"]);
    await listen(5 * minuteMs);
    expect(presence.of("n")).toBe("fenced");
  });

  it("outlives a gap of two minutes", async () => {
    setNode("n", "Unknown", true);
    await listen(2 * minuteMs);
    await clock.advance(2 * minuteMs);
    await listen(minuteMs);
    expect(presence.of("n")).toBe("fenced");
  });

  it("goes on when its Lease is deleted, and when the leader makes one; not when its daemon does", async () => {
    setNode("n", "Unknown", true);
    await listen(3 * minuteMs);
    leases.remove(nodeLeaseName("n"));
    expect([presence.of("n"), presence.isFresh("n")]).toEqual(["unreachable", false]);
    await listen(2 * minuteMs);
    expect(presence.of("n")).toBe("fenced");
    leases.put(leaseOf("n", ""));
    expect([presence.of("n"), presence.isFresh("n")]).toEqual(["fenced", false]);
    renew("n");
    expect([presence.of("n"), presence.isFresh("n")]).toEqual(["unreachable", true]);
  });

  it("of one whose Node is deleted outlives its Lease, which the leader removes when it is fenced for long", async () => {
    nodes.remove("n");
    setNode("other", "True");
    await listen(25 * 60 * minuteMs);
    expect(presence.of("n")).toBe("fenced");
    leases.remove(nodeLeaseName("n"));
    await listen(minuteMs);
    expect(presence.of("n")).toBe("fenced");
  });

  it("of one whose Node is deleted frees what its pods had after five minutes, its slices after a day", async () => {
    setNode("other", "True");
    nodes.remove("n");
    await listen(4 * minuteMs);
    renew("n");
    await listen(4 * minuteMs);
    expect([presence.of("n"), presence.fenced("n")]).toEqual(["unreachable", undefined]);
    await listen(minuteMs);
    expect([presence.of("n"), presence.fenced("n")]).toEqual(["fenced", undefined]);
    leases.remove(nodeLeaseName("n"));
    await listen(minuteMs);
    expect([presence.of("n"), presence.fenced("n")]).toEqual(["fenced", undefined]);
    setNode("n", "Unknown");
    expect(presence.of("n")).toBe("unreachable");
    await listen(24 * 60 * minuteMs);
    expect(presence.of("n")).toBe("unreachable");
  });

  it("of one that was never heard lasts as long as this process has listened", async () => {
    expect(presence.of("stranger")).toBe("unreachable");
    await listen(23 * 60 * minuteMs);
    expect(presence.of("stranger")).toBe("unreachable");
    await listen(60 * minuteMs);
    expect(presence.of("stranger")).toBe("fenced");
  });
});

it("what is read anew counts: a renewal that the watch has not told yet", async () => {
  setNode("n", "Unknown", true);
  await listen(5 * minuteMs);
  expect(presence.of("n")).toBe("fenced");
  const node = nodes.cache.get("n");
  expect(presence.judge("n", node, leases.cache.get(nodeLeaseName("n")))).toBe("fenced");
  expect(presence.judge("n", node, leaseOf("n", "just now"))).toBe("unreachable");
  expect(presence.of("n")).toBe("unreachable");
  expect(
    presence.judge("n", { ...node, status: { conditions: [{ type: "Ready", status: "True" }] } } as Node, undefined),
  ).toBe("ready");
});

it("listeners are told when a standing changes, also by the passing of time", async () => {
  const told: string[] = [];
  presence.handle((name) => told.push(`${name} ${presence.of(name)}`));
  setNode("n", "Unknown", true);
  await listen(6 * minuteMs);
  renew("n");
  await listen(10_000);
  expect(told).toEqual(["n unreachable", "n fenced", "n unreachable"]);
});

it("is fresh for four minutes after its Lease was seen to change, whatever its own time says", async () => {
  expect([presence.isFresh("n"), presence.isFresh("stranger")]).toEqual([true, false]);
  await clock.advance(freshMs - 1);
  leases.put(leaseOf("n", "renewed 0"));
  leases.put(leaseOf("m", ""));
  expect([presence.isFresh("n"), presence.isFresh("m")]).toEqual([true, false]);
});
