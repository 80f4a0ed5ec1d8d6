// Launcher pods as KubeVirt 1.9 was seen to write them.
import { expect, it } from "vitest";

import type { Pod } from "../../cluster/resources.ts";
import { compareAge, isLiving, type Launcher, readLauncher } from "./launcher.ts";

interface Parts {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  spec?: Pod["spec"];
  phase?: string;
}

function pod({ labels = {}, annotations = {}, spec = { nodeName: "n2" }, phase }: Parts = {}): Pod {
  return {
    metadata: {
      namespace: "t",
      name: "virt-launcher-vm1-b",
      uid: "u-b",
      creationTimestamp: "2026-11-15T04:34:00Z",
      labels: {
        "kubevirt.io": "virt-launcher",
        "kubevirt.io/created-by": "vmi-1",
        "vm.kubevirt.io/name": "vm1",
        ...labels,
      },
      annotations: { "kubevirt.io/allow-pod-bridge-network-live-migration": "true", ...annotations },
    },
    spec,
    ...(phase !== undefined && { status: { phase } }),
  };
}

const read = (parts?: Parts) => readLauncher(pod(parts));

it("a migration's target before and after the guest has moved", () => {
  const labels = { "kubevirt.io/nodeName": "n1", "kubevirt.io/migrationJobUID": "m1" };
  const annotations = { "kubevirt.io/domain": "vm1" };
  expect(read({ labels, annotations, phase: "Running" })).toMatchObject({
    vm: "vm1",
    instance: "vmi-1",
    node: "n2",
    phase: "running",
    isTarget: true,
    ready: undefined,
  });
  const stamped = { ...annotations, "kubevirt.io/migration-target-ready-timestamp": "2026-11-15 04:34:18 +0000 UTC" };
  expect(read({ labels, annotations: stamped })).toMatchObject({
    ready: "ready-timestamp",
    readyMs: Date.UTC(2026, 10, 15, 4, 34, 18),
  });
  expect(read({ labels: { ...labels, "kubevirt.io/nodeName": "n2" }, annotations })?.ready).toBe("node-label");
});

it("the annotation's name in the design of 2024 counts too, and what is no time says that it is ready", () => {
  const name = "kubevirt.io/migration-target-start-timestamp";
  expect(read({ annotations: { [name]: "2026-11-15T04:34:18Z" } })?.readyMs).toBe(Date.UTC(2026, 10, 15, 4, 34, 18));
  expect(read({ annotations: { [name]: "yes" } })).toMatchObject({ ready: "ready-timestamp", readyMs: undefined });
  expect(read({ annotations: { [name]: "" } })?.ready).toBeUndefined();
});

it("a label is no node's before the pod is bound", () => {
  expect(read({ labels: { "kubevirt.io/nodeName": "" }, spec: {} })?.ready).toBeUndefined();
});

it("the domain is the name, whatever the label says; a label of 63 letters may be cut", () => {
  const long = "a".repeat(70);
  const label = { "vm.kubevirt.io/name": long.slice(0, 63) };
  expect(read({ labels: label, annotations: { "kubevirt.io/domain": long } })).toMatchObject({
    vm: long,
    isCut: false,
  });
  expect(read({ labels: label })).toMatchObject({ vm: long.slice(0, 63), isCut: true });
  expect(read({ labels: { "vm.kubevirt.io/name": "dbhost" }, annotations: { "kubevirt.io/domain": "dbvm" } })?.vm).toBe(
    "dbvm",
  );
});

it.each([
  ["another pod", { labels: { "kubevirt.io": "virt-api" } }],
  ["on the host's network", { spec: { nodeName: "n2", hostNetwork: true } }],
  ["nameless", { labels: { "vm.kubevirt.io/name": "" } }],
])("%s is none", (_, parts) => {
  expect(read(parts)).toBeUndefined();
});

it("without the annotation its address does not move", () => {
  const { metadata, spec } = pod();
  expect(readLauncher({ metadata: { ...metadata, annotations: {} }, spec: spec! })).toBeUndefined();
});

it.each([
  [undefined, true],
  ["Pending", true],
  ["Running", true],
  ["Unknown", true],
  ["Succeeded", false],
  ["Failed", false],
])("phase %s: living %s", (phase, living) => {
  expect(isLiving(read({ ...(phase !== undefined && { phase }) })!)).toBe(living);
});

it.each([
  ["2026-11-18T20:00:00.125Z rarp", { kind: "rarp", seenMs: Date.UTC(2026, 10, 18, 20, 0, 0, 125) }],
  ["2026-11-18T20:00:00Z frame", { kind: "frame", seenMs: Date.UTC(2026, 10, 18, 20) }],
  ["2026-11-18T20:00:00Z gossip", undefined],
  ["soon rarp", undefined],
])("the guest was seen: %s", (text, sign) => {
  expect(read({ annotations: { "holdfast.io/guest-seen": text } })?.sign).toEqual(sign);
});

it("age: by creation, then a target is the newer, then by UID", () => {
  const at = (createdMs: number, isTarget: boolean, uid: string) => ({ ...read()!, createdMs, isTarget, uid });
  const order: Launcher[] = [at(1, true, "z"), at(2, false, "b"), at(2, false, "c"), at(2, true, "a")];
  expect(order.toReversed().toSorted(compareAge)).toEqual(order);
});
