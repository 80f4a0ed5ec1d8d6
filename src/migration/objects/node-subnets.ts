// Which node has which subnet of the default network: annotation k8s.ovn.org/node-subnets. Pure. Read leniently: what
// cannot be read is nobody's.
import { z } from "zod";

import { readJson } from "../../api/fields.ts";
import type { Address } from "../../net/address.ts";
import { orNone } from "../../net/or-none.ts";
import { contains, parsePrefix, type Prefix } from "../../net/prefix.ts";

export const nodeSubnetsAnnotation = "k8s.ovn.org/node-subnets";

/** Key: a node. */
export type NodeSubnets = ReadonlyMap<string, readonly Prefix[]>;

/** A list since there are two families; one text before. */
const shape = z.looseObject({ default: z.union([z.string(), z.array(z.string())]).optional() });

export function readNodeSubnets(text: string | undefined): readonly Prefix[] {
  const found = (text === undefined ? undefined : readJson(shape, text))?.default ?? [];
  return [found].flat().flatMap((each) => orNone(() => parsePrefix(each)) ?? []);
}

/** The annotation with these for the default network: subnets of other networks stay. Null: nothing is left of it. */
export function writeNodeSubnets(text: string | undefined, subnets: readonly Prefix[]): string | null {
  const { default: _, ...others } = (text === undefined ? undefined : readJson(shape, text)) ?? {};
  if (subnets.length > 0) return JSON.stringify({ default: subnets.map(String), ...others });
  return Object.keys(others).length === 0 ? null : JSON.stringify(others);
}

/**
 * The node that has the subnets of all these addresses. Undefined where no node has, where one node has the IPv4 and
 * another the IPv6 subnet, and where two claim the same: a VM is at home nowhere then, and is routed to wherever it is.
 */
export function ownerOf(addresses: readonly Address[], nodes: NodeSubnets): string | undefined {
  const has = (subnets: readonly Prefix[]) => (address: Address) => subnets.some((each) => contains(each, address));
  const owners = [...nodes].filter(([, subnets]) => addresses.some(has(subnets)));
  const [only] = owners;
  return owners.length === 1 && addresses.every(has(only![1])) ? only![0] : undefined;
}

/** Which of these addresses lie in each node's subnets: nobody else may be given them there. */
export function reservedOnNodes(
  addresses: Iterable<Address>,
  nodes: NodeSubnets,
): ReadonlyMap<string, readonly Address[]> {
  const all = [...addresses];
  return new Map(
    [...nodes].map(([node, subnets]) => [
      node,
      all.filter((address) => subnets.some((subnet) => contains(subnet, address))),
    ]),
  );
}
