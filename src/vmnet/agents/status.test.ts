// What a pool says of its agents, which of its network's pools is named, and when Harvester's agents go.
import { describe, expect, it } from "vitest";

import type { StoredManagedPool } from "../../cluster/resources.ts";
import { labelPatch } from "./network-labels.ts";
import type { AgentDeployment, AgentPod } from "./objects.ts";
import { agentStatusOf } from "./status.ts";
import { sortPods, takeoverStep } from "./takeover.ts";

const pool = (paused = false): StoredManagedPool => ({
  metadata: { namespace: "shop", name: "blue" },
  spec: { networkName: "shop/net", ipv4Config: { cidr: "10.0.0.0/24" }, paused },
});
const deployment = { metadata: {}, spec: { replicas: 2 } } as AgentDeployment;

interface PodPlan {
  readonly name?: string;
  readonly isReady?: boolean;
  readonly namespace?: string;
  readonly isBare?: boolean;
  readonly isGoing?: boolean;
  readonly status?: AgentPod["status"];
}

function podOf({
  name = "a",
  isReady = false,
  namespace = "kube-system",
  isBare = false,
  isGoing = false,
  status,
}: PodPlan = {}): AgentPod {
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "1", controller: true };
  return {
    metadata: {
      name,
      namespace,
      uid: `uid-${name}`,
      ...(isGoing && { deletionTimestamp: "2026-11-18T00:00:00Z" }),
      ...(!isBare && { ownerReferences: [owner] }),
    },
    spec: { containers: [{ name: "agent", image: "i:1" }] },
    status: status ?? { conditions: [{ type: "Ready", status: isReady ? "True" : "False" }] },
  };
}

const conditionOf = (pods: readonly AgentPod[], more: object = {}) =>
  agentStatusOf({ pool: pool(), deployment, pods, holder: "", ...more }).condition;

describe("AgentReady", () => {
  const scheduling = [{ type: "PodScheduled", status: "False", message: "0/3 nodes are available." }];
  const pulling = [{ state: { waiting: { reason: "ImagePullBackOff", message: "not found" } } }];
  it.each<[string, readonly AgentPod[], object, boolean, string, string]>([
    ["both", [podOf({ isReady: true }), podOf({ name: "b", isReady: true })], {}, true, "Ready", "2 of 2 ready."],
    ["one is enough", [podOf({ isReady: true }), podOf({ name: "b" })], {}, true, "Degraded", "1 of 2 ready."],
    ["none", [podOf()], {}, false, "NotReady", "0 of 2 ready."],
    ["one that goes is none", [podOf({ isReady: true, isGoing: true })], {}, false, "NotReady", "0 of 2 ready."],
    [
      "no node",
      [podOf({ status: { conditions: scheduling } })],
      {},
      false,
      "NotReady",
      "0 of 2 ready. Pod a has no node: 0/3 nodes are available.",
    ],
    [
      "no image",
      [podOf({ status: { containerStatuses: pulling } })],
      {},
      false,
      "NotReady",
      "0 of 2 ready. Pod a is not ready: ImagePullBackOff: not found",
    ],
    ["nothing yet", [], { deployment: undefined }, false, "NotDeployed", "Its agents are not deployed yet."],
    [
      "an obstacle",
      [],
      { deployment: undefined, obstacle: { reason: "NetworkMissing", message: "Make it." } },
      false,
      "NetworkMissing",
      "Make it.",
    ],
    [
      "an obstacle, and agents that run all the same",
      [podOf({ isReady: true }), podOf({ name: "b", isReady: true })],
      { obstacle: { reason: "NetworkMissing", message: "Make it." } },
      true,
      "Ready",
      "2 of 2 ready.",
    ],
    [
      "paused",
      [podOf({ isReady: true })],
      { pool: pool(true) },
      false,
      "Paused",
      "The pool is paused: nothing is served. Set spec.paused to false.",
    ],
  ])("%s", (_, pods, more, status, reason, message) => {
    expect(conditionOf(pods, more)).toEqual({ type: "AgentReady", status, reason, message });
  });

  it("names the pod that holds the server's address, and none where nobody is known to", () => {
    const pods = [podOf({ name: "a" }), podOf({ name: "b" })];
    const refOf = (holder: string) => agentStatusOf({ pool: pool(), deployment, pods, holder }).agentPodRef;
    expect(refOf("b")).toEqual({ namespace: "kube-system", name: "b", image: "i:1", uid: "uid-b" });
    expect(refOf("gone")).toBeUndefined();
    expect(refOf("")).toBeUndefined();
  });
});

describe("agents of Harvester's", () => {
  const left = podOf({ name: "shop-blue-agent", isBare: true, isReady: true, namespace: "harvester-system" });
  const stepOf = (pods: readonly AgentPod[], more: { deletedMs?: number; isPaused?: boolean } = {}) => {
    const { deletedMs, isPaused = false } = more;
    return takeoverStep({ ...sortPods(pods, "kube-system"), isPaused, deletedMs, nowMs: 100_000 });
  };

  it("stay until one of ours is ready", () => {
    expect(stepOf([left, podOf()])).toEqual({ kind: "wait" });
    expect(stepOf([left, podOf({ isReady: true })])).toEqual({ kind: "delete", pods: [left] });
  });

  it("go at once where nothing is to be served", () => {
    expect(stepOf([left], { isPaused: true })).toEqual({ kind: "delete", pods: [left] });
  });

  it("are not fought over with a controller that makes them again", () => {
    expect(stepOf([left, podOf({ isReady: true })], { deletedMs: 90_000 })).toEqual({ kind: "rest", forMs: 50_000 });
    expect(stepOf([left, podOf({ isReady: true })], { deletedMs: 40_000 })).toEqual({ kind: "delete", pods: [left] });
  });

  it("are no pods of tenants, and none that a controller keeps", () => {
    const tenants = podOf({ name: "trap", isBare: true, namespace: "shop" });
    const kept = podOf({ name: "kept", namespace: "harvester-system", isReady: true });
    expect(stepOf([tenants, kept, podOf({ isReady: true })])).toEqual({ kind: "wait" });
    expect(sortPods([tenants, kept], "kube-system")).toEqual({ ours: [], left: [] });
  });
});

describe("the labels of a network", () => {
  const names = ["network.harvesterhci.io/ippool-namespace", "network.harvesterhci.io/ippool-name"] as const;
  const labelled = (namespace: string, name: string) => ({ [names[0]]: namespace, [names[1]]: name });
  const definition = (labels: Record<string, string>) => ({ metadata: { name: "net", resourceVersion: "7", labels } });
  const patchOf = (labels: Record<string, string>, ...pools: readonly (readonly [string, string])[]) =>
    labelPatch(
      definition(labels),
      pools.map(([namespace, name]) => ({ namespace, name })),
    )?.metadata;

  it.each<[string, Record<string, string>, readonly (readonly [string, string])[], object | undefined]>([
    ["none, and no pool", {}, [], undefined],
    ["set", { keep: "me" }, [["shop", "blue"]], labelled("shop", "blue")],
    ["as they are", labelled("shop", "blue"), [["shop", "blue"]], undefined],
    [
      "moved to the first by name",
      labelled("shop", "red"),
      [
        ["shop", "red"],
        ["shop", "blue"],
      ],
      { [names[1]]: "blue" },
    ],
    [
      "of one name, the first namespace",
      {},
      [
        ["b", "x"],
        ["a", "x"],
      ],
      labelled("a", "x"),
    ],
    ["removed", labelled("shop", "blue"), [], { [names[0]]: null, [names[1]]: null }],
    [
      "too long to be said",
      labelled("shop", "blue"),
      [["shop", "n".repeat(64)]],
      { [names[0]]: null, [names[1]]: null },
    ],
  ])("%s", (_, before, pools, expected) => {
    expect(patchOf(before, ...pools)?.labels).toEqual(expected);
    if (expected !== undefined) expect(patchOf(before, ...pools)?.resourceVersion).toBe("7");
  });
});
