// NodeSlicePools, as the API server stores them.
import type { KubeObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import type { BenchLab } from "../cni/lab.ts";

interface StoredSlicePool extends KubeObject {
  readonly spec: { readonly range: string; readonly sliceSize: string };
  readonly status?: { readonly allocations: readonly { readonly nodeName: string; readonly sliceRange: string }[] };
}

export const slicePools = defineResource<StoredSlicePool>({
  group: "whereabouts.cni.cncf.io",
  version: "v1alpha1",
  plural: "nodeslicepools",
  kind: "NodeSlicePool",
  namespaced: true,
});

/** 0 where there is none. managedFields are left out: the API server adds them, and they do not grow with the nodes. */
export async function largestSlicePoolBytes(lab: BenchLab): Promise<number> {
  const { items } = await lab.admin.list(slicePools);
  const sizes = items.map((pool) =>
    Buffer.byteLength(JSON.stringify(pool, (key, value: unknown) => (key === "managedFields" ? undefined : value))),
  );
  return Math.max(0, ...sizes);
}
