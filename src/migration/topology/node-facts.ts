// A Node as the topology needs it, by its annotations k8s.ovn.org/*. Parsed once, here. Pure. Read leniently: what
// cannot be read is not there.
import { z } from "zod";

import { readJson } from "../../api/fields.ts";
import type { Node } from "../../cluster/resources.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { type Address, parseAddress } from "../../net/address.ts";
import { type Mac, parseMac } from "../../net/mac.ts";
import { orNone } from "../../net/or-none.ts";
import { type Cidr, parseCidr, type Prefix } from "../../net/prefix.ts";
import { nodeSubnetsAnnotation, readNodeSubnets } from "../objects/node-subnets.ts";

const prefix = "k8s.ovn.org/";
export const nodeIdAnnotation = `${prefix}node-id`;
/** The name of its chassis: Open vSwitch's system-id. */
export const chassisAnnotation = `${prefix}node-chassis-id`;
export const gatewayAnnotation = `${prefix}l3-gateway-config`;
const managementMacsAnnotation = `${prefix}node-mgmt-port-mac-addresses`;
/** As OVN-Kubernetes calls it where nothing else is said (its bridge mappings have the same). */
const usualNetwork = "physnet";
/** A tunnel key of the transit switch has 15 bits. */
export const largestNodeId = 2 ** 15 - 1;

/** What the node says of its gateway; `undefined` parts of it were not said. */
interface GatewayFacts {
  readonly mac: Mac;
  readonly addresses: readonly Cidr[];
  readonly nextHops: readonly Address[];
  readonly interfaceId: string;
  readonly physicalNetwork: string;
  readonly vlan: number | undefined;
}

export interface NodeFacts {
  readonly name: string;
  readonly createdMs: number;
  readonly id: number | undefined;
  readonly chassis: string | undefined;
  readonly subnets: readonly Prefix[];
  readonly gateway: GatewayFacts | undefined;
  /** Undefined: it follows from the node's subnet. */
  readonly managementMac: Mac | undefined;
}

export function readNodeFacts({ metadata }: DeepReadonly<Node>): NodeFacts {
  const { name = "", annotations = {}, creationTimestamp = "" } = metadata;
  const macs = readJson(managementMacs, annotations[managementMacsAnnotation] ?? "{}")?.default;
  return {
    name,
    createdMs: Date.parse(creationTimestamp) || 0,
    id: idOf(annotations[nodeIdAnnotation]),
    chassis: annotations[chassisAnnotation] || undefined,
    subnets: readNodeSubnets(annotations[nodeSubnetsAnnotation]),
    gateway: readGateway(annotations[gatewayAnnotation]),
    managementMac: macs === undefined ? undefined : orNone(() => parseMac(macs)),
  };
}

/** All that is read of a Node's annotations. */
export const factsAnnotations = [
  nodeIdAnnotation,
  chassisAnnotation,
  nodeSubnetsAnnotation,
  gatewayAnnotation,
  managementMacsAnnotation,
] as const;

/** As text: the same text, the same facts. */
export function factsText({ metadata }: DeepReadonly<Node>): string {
  const { annotations = {} } = metadata;
  return factsAnnotations.map((each) => annotations[each] ?? "").join("\n");
}

const managementMacs = z.looseObject({ default: z.string().optional() });

function idOf(text: string | undefined): number | undefined {
  const id = /^\d{1,5}$/.test(text ?? "") ? Number(text) : 0;
  return id >= 1 && id <= largestNodeId ? id : undefined;
}

/** Lists since there are two families; one of each before. */
const gatewayShape = z.looseObject({
  mode: z.string().optional(),
  "interface-id": z.string(),
  "mac-address": z.string(),
  "ip-addresses": z.array(z.string()).optional(),
  "ip-address": z.string().optional(),
  "next-hops": z.array(z.string()).optional(),
  "next-hop": z.string().optional(),
  "vlan-id": z.union([z.string(), z.number()]).optional(),
  /** Ours: where the chassis' bridge mappings call it otherwise. */
  "physical-network": z.string().optional(),
});
const gateways = z.looseObject({ default: gatewayShape.optional() });

function readGateway(text: string | undefined): GatewayFacts | undefined {
  const found = text === undefined ? undefined : readJson(gateways, text)?.default;
  if (found === undefined || found.mode === "") return undefined;
  return orNone(() => {
    const addresses = listOr(found["ip-addresses"], found["ip-address"]).map((each) => parseCidr(each));
    if (addresses.length === 0 || found["interface-id"] === "") return undefined;
    const vlan = Number(found["vlan-id"] ?? 0);
    return {
      mac: parseMac(found["mac-address"]),
      addresses,
      nextHops: listOr(found["next-hops"], found["next-hop"]).map((each) => parseAddress(each)),
      interfaceId: found["interface-id"],
      physicalNetwork: found["physical-network"] ?? usualNetwork,
      vlan: vlan > 0 && vlan < 4095 ? vlan : undefined,
    };
  });
}

function listOr(list: readonly string[] | undefined, single: string | undefined): readonly string[] {
  if (list !== undefined && list.length > 0) return list;
  return single === undefined || single === "" ? [] : [single];
}
