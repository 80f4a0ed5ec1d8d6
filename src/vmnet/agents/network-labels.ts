// The labels by which a network names its pool. Pure. Of several pools the first by name, then by namespace: every
// leader at any time comes to the same, so that no two of them write in turns.
import { poolNameLabelName, poolNamespaceLabelName } from "../../api/vmnet/marks.ts";
import type { NetworkAttachmentDefinition } from "../../cluster/resources.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { networkLabels, type PoolName } from "./names.ts";

const names = [poolNamespaceLabelName, poolNameLabelName];

/** The body of a merge patch, guarded by the version; undefined: all is as it should be. */
export function labelPatch(
  { metadata }: DeepReadonly<NetworkAttachmentDefinition>,
  pools: readonly PoolName[],
): { metadata: { resourceVersion: string | undefined; labels: Record<string, string | null> } } | undefined {
  const [first] = pools.toSorted(byName);
  const wanted = first === undefined ? undefined : networkLabels(first);
  const labels: Record<string, string | null> = {};
  for (const name of names) {
    const found = metadata.labels?.[name];
    const value = wanted?.[name];
    if (found !== value) labels[name] = value ?? null;
  }
  if (Object.keys(labels).length === 0) return undefined;
  return { metadata: { resourceVersion: metadata.resourceVersion, labels } };
}

function byName(a: PoolName, b: PoolName): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.namespace < b.namespace ? -1 : 1;
}
