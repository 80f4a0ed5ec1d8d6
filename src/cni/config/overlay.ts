// Networks as OVN-Kubernetes writes them: topology, subnets, excludeSubnets and role beside the plugin's own keys, with
// an `ipam` of ours without a range, or, where our own plugin attaches the pod (ovn-network.ts), without any. Pure.
//
// One rule, `overlayFault`, says which of them can have addresses of ours, and which can keep addresses for VMs: the
// parser of configurations refuses by it, and the reconciler of claims passes a definition over by it.
import { hashedName } from "../../api/name.ts";
import { plus } from "../../net/address.ts";
import { containsPrefix, parseCidr, type Prefix } from "../../net/prefix.ts";
import { commaList, isObject, type JsonObject, kindOf, textOf } from "../json.ts";
import type { Findings } from "./findings.ts";

export interface Overlay {
  /** layer2, localnet, layer3; empty: none is given. */
  readonly topology: string;
  readonly subnets: readonly string[];
  readonly excludes: readonly string[];
  /** It takes the place of the pod network in its namespace. */
  readonly isPrimary: boolean;
  /** Our own plugin attaches pods to it. */
  readonly isAttached: boolean;
  /** Keys that have the wrong type. */
  readonly faults: readonly Fault[];
}

/** As `Findings.refuse` takes it: the reason says what is wrong and what to write, without a full stop. */
export interface Fault {
  readonly key: string;
  readonly value: unknown;
  readonly reason: string;
}

export interface OverlayUse {
  /** Our IPAM gives its addresses. */
  readonly isOurs: boolean;
  readonly allowsPersistence: boolean;
  /** The `ipam` object has ranges of its own. */
  readonly hasRanges: boolean;
  readonly hasAddresses: boolean;
}

const flat: ReadonlySet<string> = new Set(["layer2", "localnet"]);
/** OVN's router is the first address of a primary network, and each node's own port the second. */
const primaryReserved = 2;

/** Ours, and the name under which existing definitions have it. A runtime starts the plugin by it. */
const attachTypes: ReadonlySet<unknown> = new Set(["holdfast-ovn", "ovn-k8s-cni-overlay"]);

/** OVN-Kubernetes' own plugin has this name too: where it runs, the network is its. */
export function isOvnKubernetes({ type }: JsonObject): boolean {
  return type === "ovn-k8s-cni-overlay";
}

/** Our own plugin is started for it, and attaches the pod itself. */
export function isAttached({ type }: JsonObject): boolean {
  return attachTypes.has(type);
}

/** Undefined where the plugin is none of OVN's. */
export function overlayOf(plugin: JsonObject): Overlay | undefined {
  const topology = keyOf(plugin, "topology");
  if (topology === undefined && !isAttached(plugin)) return undefined;
  const faults = ["topology", "subnets", "excludeSubnets", "role"].flatMap((key) => {
    const value = keyOf(plugin, key);
    if (value === undefined || typeof value === "string") return [];
    const reason = `it is ${kindOf(value)}; write a string${key.endsWith("ubnets") ? ", several with commas" : ""}`;
    return [{ key, value, reason }];
  });
  return {
    topology: textOf(topology),
    subnets: commaList(keyOf(plugin, "subnets")),
    excludes: commaList(keyOf(plugin, "excludeSubnets")),
    isPrimary: keyOf(plugin, "role") === "primary",
    isAttached: isAttached(plugin),
    faults,
  };
}

/** Undefined: nothing keeps it from what is asked of it. */
export function overlayFault(overlay: Overlay, use: OverlayUse): Fault | undefined {
  const { topology, subnets, faults } = overlay;
  const { isOurs, allowsPersistence, hasRanges, hasAddresses } = use;
  const isUsed = isOurs && (subnets.length > 0 || (faults.length > 0 && !hasRanges));
  if (!allowsPersistence && !isUsed) return undefined;
  if (faults[0] !== undefined) return faults[0];
  // Which of them can be attached is no question of addresses.
  if (overlay.isAttached && !allowsPersistence) return undefined;
  if (topology === "layer3") {
    const reason =
      "the addresses of layer3 belong to nodes, so none can be given for the whole network or follow a virtual machine; " +
      "write layer2 or localnet";
    return { key: "topology", value: topology, reason };
  }
  if (!flat.has(topology)) return { key: "topology", value: topology, reason: "write layer2 or localnet" };
  if (isOurs && hasRanges && subnets.length > 0) {
    const reason =
      "ipam has a range too, and only one of them can say where addresses come from; remove one of the two";
    return { key: "subnets", value: subnets.join(","), reason };
  }
  if (subnets.length > 0 || (isOurs && (hasRanges || hasAddresses))) return undefined;
  const reason = "allowPersistentIPs needs addresses to keep; write subnets, or leave allowPersistentIPs out";
  return { key: "subnets", value: undefined, reason };
}

/** The ranges that the subnets stand for, as entries of `ipRanges` with where each is written. */
export function overlayRanges(overlay: Overlay, findings: Findings): { path: string; object: JsonObject }[] {
  if (overlay.isAttached && overlay.topology === "layer3") return [];
  if (isOfNodes(overlay)) return overlay.subnets.flatMap((text, index) => nodeRange(text, index, findings));
  const subnets = overlay.subnets.map((text) => prefixOf("subnets", text, findings));
  const excludes = overlay.excludes.flatMap((text) => {
    const prefix = prefixOf("excludeSubnets", text, findings);
    if (prefix === undefined) return [];
    if (subnets.some((subnet) => subnet !== undefined && containsPrefix(subnet, prefix))) return [prefix];
    const reason = "it is in none of subnets; write a part of one, or remove it";
    findings.disallow("excludeSubnets", text, reason, "it is ignored");
    return [];
  });
  return subnets.flatMap((subnet, index) => {
    if (subnet === undefined) return [];
    const inside = excludes.filter((prefix) => containsPrefix(subnet, prefix)).map(String);
    const exclude = overlay.isPrimary ? [...inside, ...reservedIn(subnet)] : inside;
    return [{ path: `subnets[${index}].`, object: { range: `${subnet}`, exclude } }];
  });
}

/** The default network: each node has a subnet of it, with a router, and hands out the addresses of that one. */
export function isOfNodes({ isAttached: isOwn, topology }: Overlay): boolean {
  return isOwn && topology === "";
}

/** OVN-Kubernetes' own where none is written. */
const nodeLengths = { 4: 24, 6: 64 } as const;

/** `10.244.0.0/16/24`: a range, and the length of each node's part, as OVN-Kubernetes writes cluster subnets. */
function nodeRange(text: string, index: number, findings: Findings): { path: string; object: JsonObject }[] {
  const [, cidr = text, length] = /^([^/]+\/\d+)\/(\d+)$/.exec(text) ?? [];
  const range = prefixOf("subnets", cidr, findings);
  if (range === undefined) return [];
  const size = length ?? `${Math.max(range.length, nodeLengths[range.family])}`;
  return [{ path: `subnets[${index}].`, object: { range: `${range}`, node_slice_size: `/${size}` } }];
}

/** Room for the longest range behind it: settings.ts has the arithmetic. */
const longestDomain = 209;

/** `network_name` of an overlay that gives none: an OVN network is a domain of its own, whatever its subnets are. */
export function overlayDomain(name: string): string {
  return hashedName(name, name, longestDomain);
}

/** Whether the `ipam` object itself says where addresses come from. */
export function sourcesIn(ipam: unknown): Pick<OverlayUse, "hasRanges" | "hasAddresses"> {
  if (!isObject(ipam)) return { hasRanges: false, hasAddresses: false };
  const isFilled = (value: unknown) => Array.isArray(value) && value.length > 0;
  return {
    hasRanges: textOf(keyOf(ipam, "range")) !== "" || isFilled(keyOf(ipam, "ipRanges")),
    hasAddresses: isFilled(keyOf(ipam, "addresses")),
  };
}

/** In any case, as Go's decoder reads it; null is nothing. */
export function keyOf(object: JsonObject, key: string): unknown {
  const folded = key.toLowerCase();
  const found = object[key] ?? Object.entries(object).findLast(([name]) => name.toLowerCase() === folded)?.[1];
  return found ?? undefined;
}

function prefixOf(key: string, text: string, findings: Findings): Prefix | undefined {
  return findings.attempt(key, text, () => parseCidr(text, { unmap: true }).prefix);
}

function reservedIn(subnet: Prefix): string[] {
  const first = plus(subnet.network, 1);
  const last = plus(subnet.network, primaryReserved);
  return first === undefined || last === undefined ? [] : [`${first}-${last}`];
}
