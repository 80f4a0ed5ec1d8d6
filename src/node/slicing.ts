// Where the address of one range comes from: the range that all nodes share, this node's slices of it, or the part of a sliced range
// that belongs to no node. Pure. docs/decisions/0013 has the rules.
import { CniError, errorCodes } from "../cni/error.ts";
import type { IpamRange } from "../cni/range.ts";
import type { SlicedRange } from "../ledger/sliced-ranges.ts";
import type { Address } from "../net/address.ts";
import { difference } from "../net/interval-set.ts";
import { type Interval, intervalOf } from "../net/interval.ts";
import { contains, overlaps, type Prefix } from "../net/prefix.ts";
import { later } from "./failure.ts";
import type { SliceUse } from "./slices/keeper.ts";

export type Source =
  /** `excludes` are sliced, and not this pool's to give. */
  | { readonly kind: "shared"; readonly excludes: readonly Interval[] }
  | { readonly kind: "slice"; readonly use: SliceUse }
  /** Like a shared pool of `block`; `excludes` is the rest of the range. */
  | { readonly kind: "floating"; readonly block: Prefix; readonly excludes: readonly Interval[] };

export interface SourceInput {
  readonly range: Pick<IpamRange, "prefix" | "sliceLength">;
  /** Of the pool objects. */
  readonly namespace: string;
  readonly network: string;
  /** Every sliced range that the leader tells of; undefined: the API server has not told yet. */
  readonly sliced: readonly SlicedRange[] | undefined;
  /** The address must follow its owner from node to node. */
  readonly isSticky: boolean;
  /** The address that was asked for by its number. */
  readonly asked?: Address | undefined;
}

/** Throws CniError: 11 while the range is being cut or it is not known, 7 where a sticky address has no part to come from. */
export function sourceOf(input: SourceInput): Source {
  const { range, namespace, network, isSticky, asked } = input;
  const known = slicedAs(input);
  const isSliced = known === undefined ? range.sliceLength !== undefined : known.phase !== "opening";
  if (!isSliced) return { kind: "shared", excludes: slicedIn(range.prefix, input) };
  const use = { namespace, network, range: range.prefix };
  if (known?.phase === "closing" && range.sliceLength === undefined) throw beingCut(use);
  const block = known?.floating;
  const isFloating = block !== undefined && (isSticky || (asked !== undefined && contains(block, asked)));
  if (isFloating) {
    const rest = difference([intervalOf(range.prefix)], [intervalOf(block)]);
    return { kind: "floating", block, excludes: [...rest] };
  }
  if (isSticky) throw input.sliced === undefined ? notTold(use) : nowhereToStay(use);
  return { kind: "slice", use };
}

/** What is sliced of the prefix, in pools of the same namespace and network: shared pools leave it alone. */
export function slicedIn(
  prefix: Prefix,
  { namespace, network, sliced }: Pick<SourceInput, "namespace" | "network" | "sliced">,
): Interval[] {
  return (sliced ?? [])
    .filter((each) => each.namespace === namespace && each.network === network)
    .flatMap(({ range, phase, blocks }) => (phase === "opening" ? blocks : [range]))
    .filter((block) => overlaps(block, prefix))
    .map((block) => intervalOf(block));
}

/** What the leader says of this very range. */
export function slicedAs({
  range,
  namespace,
  network,
  sliced,
}: Pick<SourceInput, "namespace" | "network" | "sliced"> & { readonly range: Pick<IpamRange, "prefix"> }):
  | SlicedRange
  | undefined {
  const text = String(range.prefix);
  return sliced?.find(
    (each) => each.namespace === namespace && each.network === network && String(each.range) === text,
  );
}

export function describeUse({ network, range }: SliceUse): string {
  return network === "" ? `the range ${range}` : `the range ${range} of network ${network}`;
}

function beingCut(use: SliceUse): CniError {
  return later(`${describeUse(use)} is being cut into slices of nodes: that takes moments. It goes on by itself.`);
}

function notTold(use: SliceUse): CniError {
  return later(
    `the API server has not told yet whether ${describeUse(use)} has a part that belongs to no node: look at it.`,
  );
}

function nowhereToStay(use: SliceUse): CniError {
  return new CniError(
    errorCodes.badConfiguration,
    `an address that stays (sticky, or of an IPAMClaim) cannot come from a node's slice, and ${describeUse(use)} has no part that belongs to ` +
      "no node: add floating_slice_size to the network's ipam, or take sticky or allowPersistentIPs away.",
  );
}
