import { expect, it } from "vitest";

import type { Pod } from "../../cluster/resources.ts";
import { ownerOf, parseInvocation } from "../../cni/invocation.ts";
import type { Owner, PodOwner } from "../../ipam/owner.ts";
import { isJudged, isOver } from "./orphans.ts";

const owner: PodOwner = { kind: "pod", uid: "u1", namespace: "ns", name: "web", interface: "net1" };
const nameless: PodOwner = { ...owner, uid: "" };
const fromFile: PodOwner = { ...owner, uid: "0123456789abcdef0123456789abcdef" };
/** As the plugin records it. */
function ownerBy(args: string): PodOwner {
  const environment = { CNI_COMMAND: "ADD", CNI_CONTAINERID: "c", CNI_IFNAME: "eth0", CNI_NETNS: "/n", CNI_ARGS: args };
  const invocation = parseInvocation(environment);
  if (invocation.command !== "ADD") throw new Error(invocation.command);
  return ownerOf(invocation, "n1");
}
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
  ["the kubelet's own, and no mirror is there", fromFile, undefined, false],
  ["the kubelet's own, and the namesake is no mirror", fromFile, pod("u2"), false],
  [
    "the kubelet's own, from a file that changed since",
    fromFile,
    pod("u2", "Running", "n1", { "kubernetes.io/config.mirror": "fedcba98" }),
    true,
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
  ["a pod", ownerBy("K8S_POD_NAMESPACE=ns;K8S_POD_NAME=web;K8S_POD_UID=u1"), {}, true],
  ["a pod in a namespace that is called as the node", { ...owner, namespace: "n1" }, {}, true],
  ["a container of podman", ownerBy("K8S_POD_NAME=web"), {}, false],
  ["a record without a namespace", { ...owner, namespace: "" }, {}, false],
  ["what a StatefulSet keeps", owner, { keeper: "statefulset/web" }, false],
  ["a claim", { kind: "claim", uid: "u", namespace: "ns", name: "c" }, {}, false],
])("the API server can judge %s or not", (_, who, note, expected) => {
  expect(isJudged({ owner: who, note })).toBe(expected);
});
