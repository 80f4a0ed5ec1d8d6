// Where the address of one range comes from: the range that all nodes share, this node's slices of it, or the floating
// part of a sliced range. Pure. docs/decisions/0013 has the rules.
import { parseDomain } from "../../api/pools/domain.ts";
import type { SlicedRange } from "../../cluster/sliced-ranges.ts";
import type { IpamRange } from "../../cni/config/range.ts";
import { CniError, errorCodes } from "../../cni/error.ts";
import type { JournalGrant } from "../../ledger/journal/grant.ts";
import type { Address } from "../../net/address.ts";
import { difference } from "../../net/interval-set.ts";
import { type Interval, intervalOf } from "../../net/interval.ts";
import { contains, overlaps, type Prefix } from "../../net/prefix.ts";
import { later } from "../request/failure.ts";
import type { SliceUse } from "../slices/agent.ts";

export type Source =
  /** `excludes` are sliced: not this pool's to give. */
  | { readonly kind: "shared"; readonly excludes: readonly Interval[] }
  | { readonly kind: "slice"; readonly use: SliceUse }
  /** Like a shared pool of `block`; `excludes` is the rest of the range. */
  | { readonly kind: "floating"; readonly block: Prefix; readonly excludes: readonly Interval[] };

export interface SlicedMap {
  /** As the leader tells, and those of this node's own grants, whatever the leader tells. */
  readonly ranges: readonly SlicedRange[];
  /** Empty, or in a sentence why the leader's word is not known: then nothing comes from shared ranges. */
  readonly unknown: string;
}

export const nothingSliced: SlicedMap = { ranges: [], unknown: "" };

/** The pools of one namespace and network, and what is sliced. */
export interface SlicedScope {
  readonly namespace: string;
  readonly network: string;
  readonly sliced: SlicedMap;
}

export interface SourceInput extends SlicedScope {
  readonly range: Pick<IpamRange, "prefix" | "sliceLength">;
  /** The address must follow its owner from node to node. */
  readonly isSticky: boolean;
  readonly asked?: Address | undefined;
}

/** Throws CniError: 11 while the range is being cut or is not known, 7 where no part gives sticky addresses. */
export function sourceOf(input: SourceInput): Source {
  const { range, namespace, network, isSticky, asked } = input;
  const known = slicedAs(range.prefix, input);
  const isSliced = known === undefined ? range.sliceLength !== undefined : known.phase !== "opening";
  if (!isSliced) return { kind: "shared", excludes: slicedIn(range.prefix, input) };
  const use = { namespace, network, range: range.prefix };
  if (known?.phase === "closing" && range.sliceLength === undefined)
    throw later(`${describeUse(use)} is being cut into slices of nodes: that takes moments. It goes on by itself.`);
  const block = known?.floating;
  const isFloating = block !== undefined && (isSticky || (asked !== undefined && contains(block, asked)));
  if (isFloating) {
    const rest = difference([intervalOf(range.prefix)], [intervalOf(block)]);
    return { kind: "floating", block, excludes: [...rest] };
  }
  if (isSticky) throw input.sliced.unknown === "" ? nowhereToStay(use) : later(input.sliced.unknown);
  return { kind: "slice", use };
}

/** Sliced parts of the prefix in this namespace and network: not for shared pools. Throws CniError (11): not known. */
export function slicedIn(prefix: Prefix, { namespace, network, sliced }: SlicedScope): Interval[] {
  if (sliced.unknown !== "") throw later(sliced.unknown);
  return sliced.ranges
    .filter((each) => each.namespace === namespace && each.network === network)
    .flatMap(({ range, phase, blocks }) => (phase === "opening" ? blocks : [range]))
    .filter((block) => overlaps(block, prefix))
    .map((block) => intervalOf(block));
}

export function slicedAs(range: Prefix, { namespace, network, sliced }: SlicedScope): SlicedRange | undefined {
  const text = String(range);
  return sliced.ranges.find(
    (each) => each.namespace === namespace && each.network === network && String(each.range) === text,
  );
}

/** A range with a grant in the journal is sliced, and its unsealed blocks are not shared, though the leader forgot. */
export function withOwn(told: readonly SlicedRange[], grants: readonly JournalGrant[]): readonly SlicedRange[] {
  const own = new Map<string, SlicedRange>();
  const nameOf = ({ namespace, network, range }: Pick<SlicedRange, "namespace" | "network" | "range">) =>
    `${namespace} ${network} ${range}`;
  for (const grant of grants) {
    const domain = parseDomain(grant.domain);
    if (grant.sealed || domain.scope !== "slice") continue;
    const { namespace, network, range, slice } = grant;
    const known = own.get(nameOf(grant)) ?? told.find((each) => nameOf(each) === nameOf(grant));
    const { blocks = [] } = known ?? {};
    if (known === undefined) {
      own.set(nameOf(grant), { namespace, network, range, pool: domain.name, phase: "open", blocks: [] });
    } else if (known.phase === "opening" && !blocks.some((block) => overlaps(block, slice))) {
      own.set(nameOf(grant), { ...known, blocks: [...blocks, slice] });
    }
  }
  return own.size === 0 ? told : [...told.filter((each) => !own.has(nameOf(each))), ...own.values()];
}

export function describeUse({ network, range }: SliceUse): string {
  return network === "" ? `the range ${range}` : `the range ${range} of network ${network}`;
}

function nowhereToStay(use: SliceUse): CniError {
  return new CniError(
    errorCodes.badConfiguration,
    `an address that stays (sticky, or of an IPAMClaim) cannot come from a node's slice, and ${describeUse(use)} has no part that belongs to ` +
      "no node: add floating_slice_size to the network's ipam, or take sticky or allowPersistentIPs away.",
  );
}
