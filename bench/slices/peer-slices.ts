// The slices of whereabouts, as its controller would have cut them: one per node, in order, in one NodeSlicePool.
import { plus } from "../../src/net/address.ts";
import { bitsOf } from "../../src/net/address.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import type { BenchLab } from "../cni/lab.ts";
import type { SlicedNetwork } from "./networks.ts";
import { slicePools } from "./slice-pools.ts";

export async function cutForPeer(
  lab: BenchLab,
  namespace: string,
  { name, range, sliceSize }: SlicedNetwork,
  nodes: readonly string[],
): Promise<void> {
  const metadata = { namespace, name };
  const spec = { range, sliceSize };
  const made = await lab.admin.create(slicePools, { metadata, spec });
  const allocations = slicesFor(range, sliceSize, nodes);
  await lab.admin.update(slicePools, { ...made, status: { allocations } }, { subresource: "status" });
}

export function slicesFor(range: string, sliceSize: string, nodes: readonly string[]) {
  const { first, family } = parsePrefix(range);
  const length = Number(sliceSize.replace("/", ""));
  const size = 1n << BigInt(bitsOf(family) - length);
  return nodes.map((nodeName, index) => ({
    nodeName,
    sliceRange: `${plus(first, size * BigInt(index))}/${length}`,
  }));
}
