// Who has an address out of a slice, by the slice's mirror: for a hold of a shared range that was lost and made again after the range was cut.
import { parseObject } from "../../api/kind.ts";
import { parseDomain } from "../../api/pools/domain.ts";
import { ipPoolKind } from "../../api/pools/ip-pool.ts";
import { poolName } from "../../api/pools/pool-name.ts";
import { blocksOf, floatingNode } from "../../api/slices/slice-grant.ts";
import { ipPools, nodeSlicePools } from "../../cluster/resources.ts";
import type { SlicedRange } from "../../cluster/sliced-ranges.ts";
import type { Hold } from "../../ipam/ledger.ts";
import { lookUp } from "../../kube/look-up.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { parseAddress } from "../../net/address.ts";
import { contains } from "../../net/prefix.ts";
import type { HoldPlace } from "../holds/sandboxes.ts";
import { holdsIn, readSliceObject } from "./grant/slice-object.ts";

/** Undefined: nobody, as far as the mirrors show. `ranges`: those that are sliced. */
export async function sliceHolder(
  client: KubeClient,
  ranges: readonly SlicedRange[],
  { namespace, domain, address: text }: HoldPlace,
  signal: AbortSignal,
): Promise<Hold | undefined> {
  const parts = parseDomain(domain);
  const address = parseAddress(text);
  // Of a pool that is a domain of its own: whatever network has the range in its namespace.
  const isOfNetwork = ({ network }: SlicedRange) => parts.scope !== "network" || parts.network === network;
  const cut = ranges.filter(
    (each) => each.namespace === namespace && isOfNetwork(each) && contains(each.range, address),
  );
  for (const { pool, network } of cut) {
    const { status } = (await lookUp(client, nodeSlicePools, { namespace, name: pool }, { signal })) ?? {};
    for (const { nodeName: node, sliceRange } of status?.allocations ?? []) {
      const [range] = blocksOf([sliceRange]);
      if (range === undefined || node === "" || node === floatingNode || !contains(range, address)) continue;
      const object = await lookUp(client, ipPools, { namespace, name: poolName({ range, network, node }) }, { signal });
      const slice = object && readSliceObject(parseObject(ipPoolKind, object));
      const found = slice && holdsIn(slice).find((hold) => `${hold.address}` === `${address}`);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
