// What an address that nobody holds is in each network that has it: free, or why it is never handed out. Pure.
import { poolDefinitionOf } from "../cni/config/pool-definition.ts";
import { DefinitionError, reservationsOf, usableOf } from "../ipam/definition.ts";
import { type Address, equal } from "../net/address.ts";
import { formatInterval, includes, intervalOf } from "../net/interval.ts";
import { contains } from "../net/prefix.ts";
import type { NetworkUse } from "../pools/networks.ts";
import type { SliceView } from "./slices/slice-view.ts";
import type { LedgerSnapshot } from "./snapshot.ts";

export interface Unheld {
  readonly state: "free" | "reserved" | "excluded" | "outside";
  /** As "it is free", for a sentence about the address. */
  readonly words: string;
  /** Of the network's range, namespace/name. */
  readonly pool: string;
  readonly network: string;
  /** namespace/name of the definitions that agree about it. */
  readonly definitions: readonly string[];
}

/** One for each pool and verdict: definitions may exclude differently from one pool. */
export function unheldIn({ networks, slices }: LedgerSnapshot, address: Address): Unheld[] {
  const found = new Map<string, Unheld>();
  for (const use of [...networks.uses, ...networks.sliced]) {
    if (!contains(use.range.prefix, address)) continue;
    const pool = `${use.namespace}/${use.names[0] ?? ""}`;
    const verdict = verdictOf(use, address);
    const slice = slices.slices.find(
      ({ namespace, network, block }) =>
        namespace === use.namespace && network === use.identity.network && contains(block, address),
    );
    const isSliced = use.range.sliceLength !== undefined && verdict.state === "free";
    const words = isSliced ? inSlice(slice) : verdict.words;
    const key = `${pool} ${words}`;
    const definitions = [...(found.get(key)?.definitions ?? []), use.definition];
    found.set(key, { state: verdict.state, words, pool, network: use.identity.network, definitions });
  }
  return [...found.values()];
}

function inSlice(slice: Pick<SliceView, "node" | "block"> | undefined): string {
  if (slice === undefined) return "it is free, and in no node's slice yet";
  return `it is free, in the slice ${slice.block} of node ${slice.node}, as its mirror shows it`;
}

function verdictOf({ config, range }: NetworkUse, address: Address): Pick<Unheld, "state" | "words"> {
  const definition = poolDefinitionOf(config, range);
  const { first, last } = intervalOf(range.prefix);
  try {
    const usable = usableOf(definition);
    const reservation = reservationsOf(definition).find(({ interval }) => includes(interval, address));
    if (reservation !== undefined) return { state: "reserved", words: `it is the ${reservation.reason}` };
    const exclude = definition.excludes?.find((each) => includes(each, address));
    if (exclude !== undefined) return { state: "excluded", words: `it is excluded by ${formatInterval(exclude)}` };
    if (includes(usable, address)) return { state: "free", words: "it is free" };
    if (equal(address, first)) return { state: "outside", words: "it is the network's own address, never handed out" };
    if (equal(address, last) && address.family === 4) {
      return { state: "outside", words: "it is the broadcast address, never handed out" };
    }
    return { state: "outside", words: `it is outside of what is handed out, ${formatInterval(usable)}` };
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error;
    return { state: "outside", words: `nothing is handed out: ${error.message}` };
  }
}
