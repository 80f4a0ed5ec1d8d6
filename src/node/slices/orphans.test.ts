import { expect, it } from "vitest";

import type { Owner, PodOwner } from "../../ipam/owner.ts";
import type { Pod } from "../../ledger/resources.ts";
import { isJudged, isOver } from "./orphans.ts";

const owner: PodOwner = { kind: "pod", uid: "u1", namespace: "ns", name: "web", interface: "net1" };
const nameless: PodOwner = { ...owner, uid: "" };
const pod = (uid: string, phase = "Running", nodeName = "n1", annotations = {}): Pod => ({
  metadata: { namespace: "ns", name: "web", uid, annotations },
  spec: { nodeName },
  status: { phase },
});

it.each([
  ["it runs", owner, pod("u1"), false],
  ["there is none", owner, undefined, true],
  ["a namesake came after it", owner, pod("u2"), true],
  [
    "a static pod's mirror stands for it",
    owner,
    pod("u2", "Running", "n1", { "kubernetes.io/config.mirror": "u1" }),
    false,
  ],
  ["it ended well", owner, pod("u1", "Succeeded"), true],
  ["it ended badly", owner, pod("u1", "Failed"), true],
  ["nobody knows how it is", owner, pod("u1", "Unknown"), false],
  ["recorded without a UID, and a pod of the name is here", nameless, pod("u2"), false],
  ["recorded without a UID, and the pod of the name is elsewhere", nameless, pod("u2", "Running", "n2"), true],
  ["recorded without a UID, and the pod of the name has no node yet", nameless, pod("u2", "Pending", ""), false],
] as const)("its pod is over or not: %s", (_, who, found, expected) => {
  expect(isOver(who, found, "n1")).toBe(expected);
});

it.each<[string, Owner, { keeper?: string }, boolean]>([
  ["a pod", owner, {}, true],
  ["a container of podman", { ...owner, namespace: "n1" }, {}, false],
  ["a record without a namespace", { ...owner, namespace: "" }, {}, false],
  ["what a StatefulSet keeps", owner, { keeper: "statefulset/web" }, false],
  ["a claim", { kind: "claim", uid: "u", namespace: "ns", name: "c" }, {}, false],
])("the API server can judge %s or not", (_, who, note, expected) => {
  expect(isJudged({ owner: who, note }, "n1")).toBe(expected);
});
