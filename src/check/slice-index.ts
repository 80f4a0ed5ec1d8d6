// Which addresses are handed out by the slices of nodes, and which slice has one. Pure.
import type { SlicedRanges } from "../cluster/sliced-ranges.ts";
import type { Address } from "../net/address.ts";
import { contains, Prefix } from "../net/prefix.ts";
import type { NetworkUse } from "../pools/networks.ts";
import type { SliceView } from "./slices/slice-view.ts";

/** As the leader tells the daemons: not what floats, nor what is shared again. */
export function isSliced({ ranges }: SlicedRanges, { namespace, identity }: NetworkUse, address: Address): boolean {
  return ranges.some(
    (each) =>
      each.namespace === namespace &&
      each.network === identity.network &&
      contains(each.range, address) &&
      !(each.floating !== undefined && contains(each.floating, address)) &&
      (each.phase !== "opening" || each.blocks.some((block) => contains(block, address))),
  );
}

/** Slices by the addresses they span: made once, asked for every hold. */
export class SliceIndex {
  /** namespace, network, block -> slices; more than one only where something is wrong, or a whole slice was lent on. */
  readonly #byBlock: Map<string, SliceView[]>;
  /** Lengths that occur, the longest first; at most 129. */
  readonly #lengths: readonly number[];

  constructor(slices: readonly SliceView[]) {
    this.#byBlock = Map.groupBy(slices, ({ namespace, network, block }) => keyOf(namespace, network, block));
    this.#lengths = [...new Set(slices.map(({ block }) => block.length))].toSorted((a, b) => b - a);
  }

  /** Every slice that spans the address, pieces first. */
  around(namespace: string, network: string, address: Address): SliceView[] {
    const bits = address.family === 4 ? 32 : 128;
    return this.#lengths
      .filter((length) => length <= bits)
      .flatMap((length) => this.#byBlock.get(keyOf(namespace, network, Prefix.around(address, length))) ?? []);
  }
}

function keyOf(namespace: string, network: string, block: Prefix): string {
  return `${namespace} ${network} ${block}`;
}
