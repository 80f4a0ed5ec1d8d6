// Whether pools may move to another namespace: only if the old one is empty; a leftover would be a second ledger.
import { holds, ipPools, nodeSlicePools, reservations } from "../../cluster/resources.ts";
import type { Resource } from "../../kube/resource.ts";
import type { KubeClient } from "../../kube/rest.ts";

/** A sentence: what keeps them, and what to do. */
export async function whyNotMoved(
  client: KubeClient,
  { from, to, signal }: { readonly from: string; readonly to: string; readonly signal?: AbortSignal },
): Promise<string | undefined> {
  for (const resource of [ipPools, nodeSlicePools, reservations, holds] as readonly Resource[]) {
    const { items } = await client.list(resource, { namespace: from, signal });
    const [first] = items;
    if (first === undefined) continue;
    const more = items.length > 1 ? ` and ${items.length - 1} more` : "";
    return (
      `pools cannot go to the namespace ${to}: ${resource.kind} ${from}/${first.metadata.name}${more} would be a second ledger. Install Holdfast into ${to} (docs/install.md), ` +
      `or set WHEREABOUTS_NAMESPACE of whereabouts to ${from}, or delete them once no pod uses an address of theirs (holdfast pools), and say it again`
    );
  }
  return undefined;
}
