// What an operator says of the default network: the cluster's subnets and how they are cut, and the subnets between
// routers. Parsed once, at the border; two that overlap are refused.
import { attempt, CodedError } from "../../net/coded-error.ts";
import { NetError } from "../../net/error.ts";
import { overlaps, parsePrefix, type Prefix } from "../../net/prefix.ts";

export class NetworkError extends CodedError<"bad-network"> {}

/** One of the cluster's subnets; every node gets one of `nodeLength` of it. */
interface ClusterSubnet {
  readonly prefix: Prefix;
  readonly nodeLength: number;
}

export interface ClusterNetwork {
  /** One per family at the most. */
  readonly subnets: readonly ClusterSubnet[];
  readonly joinSubnets: readonly Prefix[];
  /** Empty: there is one zone. */
  readonly transitSubnets: readonly Prefix[];
  readonly mtu: number;
  /** Gateways give what leaves the node's address. */
  readonly masks: boolean;
}

export interface NetworkTexts {
  /** As OVN-Kubernetes writes them: `10.244.0.0/16/24`; without the third part /24, and /64 of IPv6. */
  readonly subnets: readonly string[];
  readonly joinSubnets: readonly string[];
  readonly transitSubnets?: readonly string[];
  readonly mtu: number;
  readonly masks: boolean;
}

const usualLengths = { 4: 24, 6: 64 } as const;
/** Of a /30 the router, the node and the network's own two addresses are all that there is. */
const longestNodeLengths = { 4: 29, 6: 120 } as const;

export function parseNetwork({ subnets, joinSubnets, transitSubnets = [], mtu, masks }: NetworkTexts): ClusterNetwork {
  const parsed = subnets.map(parseSubnet);
  /** Those of a family that the cluster lacks are for nobody. */
  const between = (texts: readonly string[], what: string) =>
    texts
      .map((each) => prefixOf(each, what))
      .filter(({ family }) => parsed.some(({ prefix }) => prefix.family === family));
  const network = {
    subnets: parsed,
    joinSubnets: between(joinSubnets, "join subnet"),
    transitSubnets: between(transitSubnets, "transit subnet"),
    mtu,
    masks,
  };
  if (subnets.length === 0) throw new NetworkError("bad-network", "The cluster has no subnet: give at least one.");
  const clusters = network.subnets.map(({ prefix }) => prefix);
  for (const list of [clusters, network.joinSubnets, network.transitSubnets]) refuseTwins(list);
  for (const { family } of clusters) {
    if (network.joinSubnets.some((each) => each.family === family)) continue;
    const words = `The cluster has an IPv${family} subnet and no IPv${family} join subnet: give one for each family.`;
    throw new NetworkError("bad-network", words);
  }
  refuseOverlaps([...clusters, ...network.joinSubnets, ...network.transitSubnets]);
  return network;
}

function parseSubnet(text: string): ClusterSubnet {
  const [, whole = text, length] = /^([^/]+\/\d+)\/(\d{1,3})$/.exec(text) ?? [];
  const prefix = prefixOf(whole, "cluster subnet");
  const nodeLength = length === undefined ? usualLengths[prefix.family] : Number(length);
  if (nodeLength > prefix.length && nodeLength <= longestNodeLengths[prefix.family]) return { prefix, nodeLength };
  const range = `${prefix.length + 1} to ${longestNodeLengths[prefix.family]}`;
  throw new NetworkError("bad-network", `${text}: nodes cannot get a /${nodeLength} of it: write ${range}.`);
}

function prefixOf(text: string, what: string): Prefix {
  return attempt(
    NetError,
    () => parsePrefix(text),
    (error): never => {
      throw new NetworkError("bad-network", `${JSON.stringify(text)} is no ${what}: ${error.message}`, {
        cause: error,
      });
    },
  );
}

function refuseTwins(prefixes: readonly Prefix[]): void {
  const [one, other] = prefixes;
  const isTwin = prefixes.length > 2 || (one !== undefined && one.family === other?.family);
  if (!isTwin) return;
  const words = `${prefixes.join(" and ")}: a node has one subnet of each family, so give one of each at the most.`;
  throw new NetworkError("bad-network", words);
}

function refuseOverlaps(prefixes: readonly Prefix[]): void {
  for (const [at, one] of prefixes.entries()) {
    const other = prefixes.slice(at + 1).find((each) => overlaps(one, each));
    if (other !== undefined)
      throw new NetworkError("bad-network", `${one} and ${other} overlap: give each a range of its own.`);
  }
}
