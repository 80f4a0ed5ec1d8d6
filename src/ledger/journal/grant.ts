// What a journal knows of one slice: the controller's grant as far as it is durable on this node, and the node's own
// steps in it (docs/decisions/0013). Pure.
import type { SliceGrant } from "../../api/slices/slice-grant.ts";
import type { SlicedRange } from "../../cluster/sliced-ranges.ts";
import type { Domain } from "../../ipam/ledger.ts";
import { type Address, parseAddress } from "../../net/address.ts";
import { IntervalSet } from "../../net/interval-set.ts";
import { type Interval, formatInterval, intervalOf, parseBlock } from "../../net/interval.ts";
import { parsePrefix, type Prefix } from "../../net/prefix.ts";

export interface JournalGrant
  extends
    Pick<SlicedRange, "namespace" | "network" | "range">,
    Readonly<Pick<SliceGrant, "generation" | "serial" | "phase">> {
  /** namespace/name of the slice's IPPool. */
  readonly key: string;
  /** `slice:NAMESPACE/NODESLICEPOOL` */
  readonly domain: Domain;
  /** The slice, or the piece of one. */
  readonly slice: Prefix;
  readonly without: readonly Prefix[];
  readonly taken: readonly Interval[];
  /** Given up, and not acknowledged yet. */
  readonly gives?: { readonly ask: number; readonly block: Prefix };
  /** Nothing is handed out of it any more, and nothing is held in it. */
  readonly sealed: boolean;
  readonly moved: readonly Address[];
}

/** What may be handed out by these grants. A moved address is the reservation ledger's, whatever the grant says. */
export function usableOf(grants: Iterable<JournalGrant>): IntervalSet {
  const usable = new IntervalSet();
  for (const { slice, phase, sealed, without, gives, taken, moved } of grants) {
    if (sealed || phase !== "active") continue;
    const own = IntervalSet.of([intervalOf(slice)]);
    for (const block of without) own.delete(intervalOf(block));
    if (gives !== undefined) own.delete(intervalOf(gives.block));
    for (const each of taken) own.delete(each);
    for (const address of moved) own.delete({ first: address, last: address });
    for (const each of own) usable.add(each);
  }
  return usable;
}

type Written = Readonly<Record<string, unknown>>;

/** As a value of JSON; empty lists are left out. */
export function writeJournalGrant(grant: JournalGrant): Written {
  const { range, slice, without, taken, gives, sealed, moved, ...rest } = grant;
  return {
    ...rest,
    range: String(range),
    slice: String(slice),
    ...(without.length > 0 && { without: without.map(String) }),
    ...(taken.length > 0 && { taken: taken.map(formatInterval) }),
    ...(gives && { gives: { ask: gives.ask, block: String(gives.block) } }),
    ...(sealed && { sealed }),
    ...(moved.length > 0 && { moved: moved.map(String) }),
  };
}

/** Reads what `writeJournalGrant` wrote; throws at anything else, and the line counts as damaged. */
export function readJournalGrant(written: Written): JournalGrant {
  const gives = written["gives"] as { ask: number; block: string } | undefined;
  const phase = text(written, "phase");
  if (phase !== "active" && phase !== "returning" && phase !== "draining") throw new TypeError(`phase ${phase}`);
  return {
    key: text(written, "key"),
    domain: text(written, "domain"),
    namespace: text(written, "namespace"),
    network: text(written, "network"),
    range: parsePrefix(text(written, "range")),
    slice: parsePrefix(text(written, "slice")),
    generation: whole(written, "generation"),
    serial: whole(written, "serial"),
    phase,
    without: texts(written, "without").map((each) => parsePrefix(each)),
    taken: texts(written, "taken").map((each) => parseBlock(each)),
    ...(gives && { gives: { ask: gives.ask, block: parsePrefix(gives.block) } }),
    sealed: written["sealed"] === true,
    moved: texts(written, "moved").map((each) => parseAddress(each)),
  };
}

function text(written: Written, key: string): string {
  const value = written[key];
  if (typeof value !== "string") throw new TypeError(`${key} is no text`);
  return value;
}

function whole(written: Written, key: string): number {
  const value = written[key];
  if (!Number.isSafeInteger(value)) throw new TypeError(`${key} is no whole number`);
  return value as number;
}

function texts(written: Written, key: string): readonly string[] {
  return (written[key] as readonly string[] | undefined) ?? [];
}
