// A network attachment definition as a migration sees it: where its pools are, and what their addresses are unique in.
// Parsed with the leniency of whereabouts: a definition that works today must be found, however it is written. What the
// node's flat file adds is not known here; a definition that has no range of its own is named as unreadable.
import type { NetworkAttachmentDefinition } from "../../cluster/resources.ts";
import { type IpamConfig, parseIpamConfig } from "../../cni/config/ipam-config.ts";
import { type NetworkConfig, parseNetwork } from "../../cni/config/network.ts";
import { CniError } from "../../cni/error.ts";
import { isObject, type JsonObject } from "../../cni/json.ts";
import { keyOf } from "../../kube/meta.ts";
import { attempt } from "../../net/coded-error.ts";
import { NetError } from "../../net/error.ts";
import { type Cidr, parseCidr, type Prefix } from "../../net/prefix.ts";

export interface NetworkRange {
  readonly prefix: Prefix;
  /** As the configuration writes it, host bits and all: early pools are named by it. */
  readonly written?: Cidr;
}

export interface Network extends Pick<IpamConfig, "networkName" | "poolNaming" | "poolNamespace"> {
  /** namespace/name of the definition. */
  readonly key: string;
  readonly namespace: string;
  /** `name` of the CNI configuration, or the definition's own where it has none. */
  readonly configurationName: string;
  readonly protectsOverlaps: boolean;
  /** Prefix length of a node's slice; undefined where nodes share the ranges. */
  readonly sliceLength?: number;
  readonly ranges: readonly NetworkRange[];
  readonly config: IpamConfig;
  readonly definition: NetworkAttachmentDefinition;
}

/** Undefined: another IPAM's, or a network without one. A sentence: ours, and why it cannot be read. */
export function readNetwork(definition: NetworkAttachmentDefinition): Network | string | undefined {
  const text = definition.spec?.config ?? "";
  // Cheap, and never wrong about what is ours: whoever uses us names one of the two types.
  if (!/"(whereabouts|holdfast)"/.test(text)) return undefined;
  const read = () => networkOf(definition, parseNetwork(text));
  return attempt(CniError, read, (error) => `NetworkAttachmentDefinition ${keyOf(definition)}: ${error.message}`);
}

/** Those that are ours and can be read. */
export function networksOf(definitions: readonly NetworkAttachmentDefinition[]): Network[] {
  return definitions.map(readNetwork).filter((reading) => typeof reading === "object");
}

function networkOf(definition: NetworkAttachmentDefinition, parsed: NetworkConfig): Network {
  const { config } = parseIpamConfig({ ...parsed, ipam: { ...parsed.ipam, strict: false } });
  const written = writtenRanges(parsed.ipam);
  // whereabouts slices its first range only.
  const { sliceLength } = config.ranges[0] ?? {};
  const { networkName, overlappingRanges: protectsOverlaps, poolNaming, poolNamespace } = config;
  const placed = { networkName, protectsOverlaps, poolNaming, poolNamespace };
  return {
    ...placed,
    key: keyOf(definition),
    namespace: definition.metadata.namespace ?? "",
    configurationName: config.name === "" ? (definition.metadata.name ?? "") : config.name,
    ...(sliceLength !== undefined && { sliceLength }),
    ranges: config.ranges.map(({ prefix }) => {
      const found = written.find((cidr) => `${cidr.prefix}` === `${prefix}`);
      return { prefix, ...(found && { written: found }) };
    }),
    config,
    definition,
  };
}

function writtenRanges(ipam: JsonObject): Cidr[] {
  const more = Array.isArray(ipam["ipRanges"]) ? (ipam["ipRanges"] as unknown[]) : [];
  const texts = [ipam, ...more].map((each) => (isObject(each) ? each["range"] : undefined));
  return texts.flatMap((text) => {
    if (typeof text !== "string" || text.includes("-")) return [];
    return attempt(NetError, () => parseCidr(text, { sloppy: true, unmap: true })) ?? [];
  });
}
