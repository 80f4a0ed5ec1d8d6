// What stands on the IPPool of a node's slice beside whereabouts' fields (docs/decisions/0013): the grant, which only
// the controller writes, and the node's word on it, which only that node's daemon writes. Pure. Promised: a grant or a
// word that cannot be read reads as absent, and nothing is handed out by it.
import { z } from "zod";

import { attempt } from "../../net/coded-error.ts";
import { NetError } from "../../net/error.ts";
import { difference } from "../../net/interval-set.ts";
import { intervalOf } from "../../net/interval.ts";
import { containsPrefix, parsePrefix, type Prefix } from "../../net/prefix.ts";
import { readJson } from "../fields.ts";
import { holdfastGroup } from "../kind.ts";
import type { ReadMetadata } from "../metadata.ts";

/** Label: on every IPPool that is a slice or a piece of one. The reconcilers of shared pools leave those alone. */
export const sliceLabelName = `${holdfastGroup}/slice`;
/** Annotation: the name of the NodeSlicePool, in the same namespace. */
export const slicePoolAnnotation = `${holdfastGroup}/slice-pool`;
/** Annotation: the whole range that the slice is cut from. */
export const slicedRangeAnnotation = `${holdfastGroup}/sliced-range`;
export const grantAnnotation = `${holdfastGroup}/grant`;
export const nodeWordAnnotation = `${holdfastGroup}/node-word`;

/** Stands for a node in a NodeSlicePool: the part of the range that belongs to no node. */
export const floatingNode = "floating.holdfast.io";

const whole = z.int().nonnegative();
const block = z.string();

/**
 * `active`: hand out of it. `returning`: hand nothing out any more, and seal it if it is empty; in use again when it
 * says active. `draining`: hand nothing out any more, move what is held to the reservation ledger, then seal it.
 */
const phase = z.enum(["active", "returning", "draining"]);

const grant = z.object({
  /** Greater in every later grant of the same addresses. A node that returns with another hands out nothing. */
  generation: whole.positive(),
  /** Greater with every change of the grant. */
  serial: whole.positive(),
  phase,
  /** Pieces that are not this node's: lent to others. CIDRs. */
  without: z.array(block).default([]),
  /** Addresses that the reservation ledger holds inside: never handed out of the slice. `A` or `A-B`. */
  taken: z.array(z.string()).default([]),
  /** The node is asked to give up a free piece of at most so many addresses. */
  lend: z.object({ ask: whole.positive(), addresses: whole.positive() }).optional(),
  /** In a sentence why there is no more to be had; absent: there is. */
  exhausted: z.string().optional(),
});

export type SliceGrant = z.infer<typeof grant>;
export type GrantPhase = SliceGrant["phase"];

const nodeWord = z.object({
  /** The journal that speaks: another one of the same node is a node made anew. */
  journal: z.string(),
  /** Of the grant that the journal works by. */
  generation: whole,
  serial: whole,
  /** No address is handed out of it any more, and none is held by the journal: on the disk. */
  sealed: z.boolean().default(false),
  /** What was moved to the reservation ledger before it was sealed: addresses. */
  moved: z.array(z.string()).default([]),
  /** The piece that the node gives up for good, in answer to `lend.ask`, or gave up before a restore that forgot it. */
  gives: z.object({ ask: whole.positive(), block }).optional(),
  /** Held, and free for any pod: what cools down is neither. */
  used: whole.default(0),
  free: whole.default(0),
  /** Requests that found nothing free since the last grant: the node needs more. 0: it does not. */
  short: whole.default(0),
});

export type NodeWord = z.infer<typeof nodeWord>;

export function readGrant({ annotations }: ReadMetadata): SliceGrant | undefined {
  return readJson(grant, annotations?.[grantAnnotation] ?? "");
}

export function readNodeWord({ annotations }: ReadMetadata): NodeWord | undefined {
  return readJson(nodeWord, annotations?.[nodeWordAnnotation] ?? "");
}

/** Defaults are left out: 50,000 of them are written. */
const written = (value: object) =>
  JSON.stringify(value, (_, each: unknown) => (Array.isArray(each) && each.length === 0 ? undefined : each));

export const writeGrant = (value: SliceGrant): string => written(value);
export const writeNodeWord = (value: NodeWord): string => written(value);

/** The blocks that are CIDRs; what is none was written by a hand and is left out. */
export function blocksOf(texts: readonly string[]): Prefix[] {
  return texts.flatMap((text) => attempt(NetError, () => parsePrefix(text)) ?? []);
}

/** The blocks together have all of this one: two neighbours that came back one by one are given out as one. */
export function covers(blocks: readonly Prefix[], wanted: Prefix): boolean {
  if (blocks.some((each) => containsPrefix(each, wanted))) return true;
  return blocks.length > 1 && difference([intervalOf(wanted)], blocks.map(intervalOf)).count === 0;
}
