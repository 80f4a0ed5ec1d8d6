// Taking back that pools are adopted: what whereabouts hands out while it is active has no hold, so such a pool is
// adopted again. The leader calls this before it writes `coexistence: off`; daemons then look at the pool again.
import { adoptedAnnotation } from "../../api/holds/hold-marks.ts";
import { sliceLabelName } from "../../api/slices/slice-grant.ts";
import { ipPools } from "../../cluster/resources.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { unless } from "../../kube/unless.ts";

/** How many pools were adopted, and no longer are. Without a namespace: in all of them. */
export async function disownPools(
  client: KubeClient,
  { namespace, signal }: { readonly namespace?: string; readonly signal?: AbortSignal } = {},
): Promise<number> {
  const { items } = await client.list(ipPools, { namespace, labelSelector: `!${sliceLabelName}`, signal });
  const adopted = items.filter(({ metadata }) => metadata.annotations?.[adoptedAnnotation] !== undefined);
  const body = { metadata: { annotations: { [adoptedAnnotation]: null } } };
  for (const { metadata } of adopted) {
    const at = { namespace: metadata.namespace ?? "", name: metadata.name ?? "" };
    await unless(["not-found"], client.patch(ipPools, at, { type: "merge", body }, { signal }));
  }
  return adopted.length;
}
