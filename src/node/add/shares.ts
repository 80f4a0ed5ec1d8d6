// The shares of one ADD: one per range and per static address outside all ranges. Pure.
import { formatDomain } from "../../api/pools/domain.ts";
import type { PoolIdentity, PoolNaming } from "../../api/pools/pool-name.ts";
import type { IpamConfig } from "../../cni/config/ipam-config.ts";
import { partsOf } from "../../cni/config/overlap-index.ts";
import { poolDefinitionOf, wantOf } from "../../cni/config/pool-definition.ts";
import type { IpamRange } from "../../cni/config/range.ts";
import type { StaticRequest } from "../../cni/static-request.ts";
import type { PoolDefinition } from "../../ipam/definition.ts";
import type { Domain } from "../../ipam/ledger.ts";
import type { ClaimOwner, PodOwner } from "../../ipam/owner.ts";
import type { Want } from "../../ipam/request.ts";
import { type Address, parseAddress } from "../../net/address.ts";
import { orNone } from "../../net/or-none.ts";
import { contains, type Prefix } from "../../net/prefix.ts";
import { notOfNode } from "../ovn/node-subnets.ts";
import type { SliceUse } from "../slices/agent.ts";
import { nothingSliced, slicedAs, slicedIn, type SlicedMap, type Source, sourceOf } from "./range-source.ts";

/** A pool object that an address comes from, or stands beside. */
export interface PoolUse {
  readonly namespace: string;
  readonly identity: PoolIdentity;
  readonly naming: PoolNaming;
  readonly l3: boolean;
  /** `enable_overlapping_ranges`. */
  readonly protectsOverlaps: boolean;
  /** See SettlingRule. */
  readonly mayStandAlone: boolean;
}

export interface Share {
  /** Index of the range; undefined for a static address that is in none. */
  readonly range?: number;
  /** Undefined where there is no pool object behind it. */
  readonly pool?: PoolUse;
  /** It comes from this node's slices of this range; then no shared pool is behind it. */
  readonly slice?: SliceUse;
  readonly namespace: string;
  /** Where no pool object says it. */
  readonly domain?: Domain;
  readonly definition: PoolDefinition;
  readonly owner: ShareOwner;
  readonly want: Want;
  /** The address in the claim's status, with a definition to take it by: a hint, all that is left of a lost hold. */
  readonly recorded?: { readonly address: Address; readonly definition: PoolDefinition };
}

/** The holder of an ADD's addresses: the pod's interface, or its claim. */
export type ShareOwner = PodOwner | ClaimOwner;

export interface PlanInput {
  readonly config: IpamConfig;
  readonly statics: readonly StaticRequest[];
  readonly owner: ShareOwner;
  readonly namespace: string;
  /** Of its definition: see SettlingRule. */
  readonly mayStandAlone: boolean;
  /** The pod's annotation whereabouts.cni.cncf.io/preferred-ip, as written; empty: none. */
  readonly preferred?: string;
  readonly cooldownMs: number;
  readonly sliced: SlicedMap;
  /** The address stays with a name or a claim, on any node. */
  readonly isSticky?: boolean;
  readonly recorded?: readonly Address[];
  /** Of this node, where slices are subnets of nodes. */
  readonly nodeSubnets?: readonly Prefix[];
}

export function planOf(input: PlanInput): Share[] {
  const { config, statics } = input;
  const prefixes = config.ranges.map(({ prefix }) => prefix);
  const parts = partsOf(prefixes);
  const { preferred: wish = "" } = input;
  // A wish that cannot be read is none; the pod's event says so.
  const preferred = wish === "" ? undefined : orNone(() => parseAddress(wish, { unmap: true }));
  const recorded = recordedIn(prefixes, input.recorded ?? []);
  const ranged = config.ranges.map((range, index): Share => {
    const asked = statics.find((request) => request.range === index);
    const about = { ...input, network: config.networkName, isSticky: input.isSticky ?? false };
    const source = sourceOf({ ...about, range, asked: asked?.cidr.address });
    const definition = ofNode(input, range, {
      ...poolDefinitionOf(config, range),
      cooldownMs: input.cooldownMs,
    });
    const own = preferred !== undefined && contains(range.prefix, preferred) ? preferred : undefined;
    const hint = recorded[index];
    return {
      range: index,
      ...placeOf(input, range, source),
      namespace: input.namespace,
      definition: without(asked === undefined || asked.inPool ? definition : beside(definition), source),
      owner: withPart(input.owner, parts[index]!),
      want:
        asked !== undefined
          ? { kind: "given", address: asked.cidr.address }
          : own !== undefined
            ? { kind: "preferred", address: own }
            : wantOf(range),
      ...(hint !== undefined && { recorded: { address: hint, definition: without(definition, source) } }),
    };
  });
  return [...ranged, ...looseShares(input)];
}

/**
 * A further slice of such a range is on no switch: only the subnet that the node's switch has is given from. A node
 * without a subnet takes an address all the same, so that it is granted its slice; the attachment then fails.
 */
function ofNode({ nodeSubnets = [] }: PlanInput, { isOfNodes, prefix }: IpamRange, definition: PoolDefinition) {
  if (isOfNodes !== true || nodeSubnets.length === 0) return definition;
  return { ...definition, excludes: [...(definition.excludes ?? []), ...notOfNode(prefix, nodeSubnets)] };
}

function placeOf(input: PlanInput, range: IpamRange, source: Source): Pick<Share, "pool" | "slice"> {
  if (source.kind === "slice") return { slice: source.use };
  // A pool that is a domain of its own must be the same before and after the cut: that of the whole range.
  const isPart = source.kind === "floating" && input.config.overlappingRanges;
  return { pool: poolOf(input, isPart ? source.block : range.prefix, range.l3) };
}

/** The definition, less the addresses that the source does not give. */
function without(definition: PoolDefinition, source: Source): PoolDefinition {
  if (source.kind === "slice" || source.excludes.length === 0) return definition;
  return { ...definition, excludes: [...(definition.excludes ?? []), ...source.excludes] };
}

/** A static address in no range: held in the network's domain by itself, without a pool object. */
function looseShares({ config, statics, owner, namespace, cooldownMs, sliced }: PlanInput): Share[] {
  const network = config.networkName;
  const loose = statics.filter((request) => request.range === undefined);
  const parts = partsOf(loose.map(({ cidr }) => cidr.prefix));
  return loose.map(({ cidr: { prefix, address } }, index) => ({
    namespace,
    domain: formatDomain({ scope: "network", network }),
    definition: { prefix, l3: true, cooldownMs, excludes: slicedIn(prefix, { namespace, network, sliced }) },
    // Ranges may lie inside a loose address's network: a part of its own keeps the two apart.
    owner: withPart(owner, config.ranges.length + parts[index]!),
    want: { kind: "given", address },
  }));
}

/** An address that the definition lists may lie outside the pool's ends and among its excludes; not the gateway. */
function beside({ prefix, gateway, cooldownMs }: PoolDefinition): PoolDefinition {
  return { prefix, l3: true, ...(gateway && { gateway }), ...(cooldownMs !== undefined && { cooldownMs }) };
}

export function poolsOf(config: IpamConfig, namespace: string, sliced: SlicedMap = nothingSliced): PoolUse[] {
  return config.ranges.flatMap((range) => {
    const { floating } = slicedAs(range.prefix, { namespace, network: config.networkName, sliced }) ?? {};
    const prefixes = [range.prefix, ...(floating === undefined ? [] : [floating])];
    // Who only looks decides nothing.
    return prefixes.map((prefix) => poolOf({ config, namespace, mayStandAlone: false }, prefix, range.l3));
  });
}

type PoolInput = Pick<PlanInput, "config" | "namespace" | "mayStandAlone">;

function poolOf({ config, namespace, mayStandAlone }: PoolInput, range: Prefix, l3: boolean): PoolUse {
  const { networkName: network, poolNaming: naming, overlappingRanges: protectsOverlaps } = config;
  return { namespace, identity: { range, network, node: "" }, naming, l3, protectsOverlaps, mayStandAlone };
}

/** The first address of each range that no range before it has: the status lists them in the order of the ranges. */
function recordedIn(prefixes: readonly Prefix[], addresses: readonly Address[]): (Address | undefined)[] {
  const left = [...addresses];
  return prefixes.map((prefix) => {
    const at = left.findIndex((address) => contains(prefix, address));
    return at < 0 ? undefined : left.splice(at, 1)[0];
  });
}

function withPart(owner: ShareOwner, part: number): ShareOwner {
  return part === 0 ? owner : { ...owner, part };
}
