// The subnets that this node's switch has on the default network, as the topology's writer tells them.
import { z } from "zod";

import { readJson } from "../../api/fields.ts";
import { nodes } from "../../cluster/resources.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { plus } from "../../net/address.ts";
import { difference } from "../../net/interval-set.ts";
import { type Interval, intervalOf } from "../../net/interval.ts";
import { orNone } from "../../net/or-none.ts";
import { containsPrefix, parsePrefix, type Prefix } from "../../net/prefix.ts";

const annotation = "k8s.ovn.org/node-subnets";
/** A list since there are two families; one text before. */
const shape = z.looseObject({ default: z.union([z.string(), z.array(z.string())]).optional() });

/** Empty: it has none yet. Asked at each ADD, since an address of another subnet would reach nobody. */
export async function subnetsOf(client: KubeClient, node: string, signal: AbortSignal): Promise<readonly Prefix[]> {
  const { items } = await client.list(nodes, { fieldSelector: `metadata.name=${node}`, signal });
  const text = items[0]?.metadata.annotations?.[annotation];
  const found = (text === undefined ? undefined : readJson(shape, text))?.default ?? [];
  return [found].flat().flatMap((each) => orNone(() => parsePrefix(each)) ?? []);
}

/** The subnet's own address, the router's, the node's. */
const reservedFirst = 2;

/** What a node does not give of a range that is cut into subnets of nodes: others', and what is OVN's of its own. */
export function notOfNode(range: Prefix, subnets: readonly Prefix[]): Interval[] {
  const own = subnets.filter((each) => each.family === range.family && containsPrefix(range, each));
  const others = difference([intervalOf(range)], own.map(intervalOf));
  const reserved = own.flatMap(({ first, last, family }): Interval[] => {
    const end = plus(first, reservedFirst);
    // IPv4's last is the broadcast address; IPv6 has none, and the same rule is simpler.
    return end === undefined ? [] : [{ first, last: end }, ...(family === 4 ? [{ first: last, last }] : [])];
  });
  return [...others, ...reserved];
}
