import { describe, expect, it } from "vitest";

import type { Pod } from "../cluster/resources.ts";
import { podIndexes, trimPod } from "./pod-trim.ts";

const networks = "k8s.v1.cni.cncf.io/networks";
const podOf = (metadata: Pod["metadata"]): Pod => ({
  metadata: { namespace: "shop", name: "p", uid: "u", resourceVersion: "1", ...metadata },
  spec: { nodeName: "n1", hostNetwork: false },
  status: { phase: "Running", conditions: [] },
});
const launcher = {
  labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "i1", tier: "db" },
  annotations: { "kubevirt.io/domain": "vm", [networks]: '[{"name":"blue"}]', other: "text" },
  ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "vm", uid: "i1" }],
};
const place = { namespace: "shop", name: "p", uid: "u", resourceVersion: "1" };

describe("a pod as the leader keeps it", () => {
  it("is its name, node and phase", () => {
    const pod = podOf({ labels: { app: "web" }, annotations: { [networks]: "blue", other: "text" } });
    expect(trimPod(pod)).toEqual({
      apiVersion: "v1",
      kind: "Pod",
      metadata: place,
      spec: { nodeName: "n1" },
      status: { phase: "Running" },
    });
  });

  it("a launcher also keeps what says whose it is and what it asks for", () => {
    expect(trimPod(podOf(launcher)).metadata).toEqual({
      ...place,
      labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "i1" },
      annotations: { "kubevirt.io/domain": "vm", [networks]: '[{"name":"blue"}]' },
      ownerReferences: launcher.ownerReferences,
    });
  });

  it("one that refers to a claim keeps the reference, and is found by it", () => {
    const text = '[{"name":"blue","ipam-claim-reference":"stake"}]';
    const pod = trimPod(podOf({ annotations: { [networks]: text } }));
    expect(pod.metadata.annotations).toEqual({ [networks]: text });
    expect(podIndexes["claim"]!(pod)).toEqual(["shop/stake"]);
    expect(podIndexes["launcher"]!(pod)).toEqual([]);
  });

  it("a launcher is found by its VMI, also after it was cut down", () => {
    expect(podIndexes["launcher"]!(trimPod(podOf(launcher)))).toEqual(["shop/vm"]);
  });
});
