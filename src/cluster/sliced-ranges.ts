// The ranges cut into slices, as the leader tells every daemon: key `sliced` of the ConfigMap holdfast-state
// (docs/decisions/0013). Pure. A broadcast; the record is on the NodeSlicePools. Promised: a missing or unreadable key,
// or a phase that this version does not know, reads as "not known", never as "none".
import { z } from "zod";

import { orNone } from "../net/or-none.ts";
import { parsePrefix } from "../net/prefix.ts";
import type { ConfigMap } from "./resources.ts";

/**
 * `closing`: the shared range hands out no more, and no slice is granted yet: the leader waits until every daemon has
 * seen it. `open`: nodes hand out of their slices. `opening`: shared again, but for `blocks`, which are not sealed yet.
 */
const phase = z.enum(["closing", "open", "opening"]);

export type SlicedPhase = z.infer<typeof phase>;

export function readPhase(text: string | undefined): SlicedPhase | undefined {
  return phase.safeParse(text).data;
}

const prefix = z.string().transform((text) => parsePrefix(text));

const slicedRange = z.object({
  /** Of the pool objects. */
  namespace: z.string(),
  /** network_name; empty: none. */
  network: z.string(),
  range: prefix,
  /** The NodeSlicePool's name. */
  pool: z.string(),
  phase,
  /** The part that belongs to no node and is handed out through the reservation ledger; absent: none. */
  floating: prefix.optional(),
  /** While opening: what is still a slice. */
  blocks: z.array(prefix).readonly().default([]),
});

/** `version`: greater with every change. */
const slicedRanges = z.object({ version: z.int().nonnegative(), ranges: z.array(slicedRange).readonly() });

export type SlicedRange = Readonly<z.infer<typeof slicedRange>>;
export type SlicedRanges = Readonly<z.infer<typeof slicedRanges>>;

export const slicedKey = "sliced";
/** JSON: `namespace network range` -> in a sentence why it gets no slices. No version: nobody acts by it. */
export const refusedKey = "refused";
export const noSlicedRanges: SlicedRanges = { version: 0, ranges: [] };

export function readSlicedRanges(object: Pick<ConfigMap, "data"> | undefined): SlicedRanges | undefined {
  return orNone(() => slicedRanges.parse(JSON.parse(object?.data?.[slicedKey] ?? "null")));
}

export function writeSlicedRanges({ version, ranges }: SlicedRanges): string {
  const shown = ranges.map(({ blocks, ...range }) => ({ ...range, ...(blocks.length > 0 && { blocks }) }));
  return JSON.stringify({ version, ranges: shown });
}

export function writeRefusals(refusals: ReadonlyMap<string, string>): string {
  return JSON.stringify(Object.fromEntries(refusals));
}

export function readRefusal(object: Pick<ConfigMap, "data"> | undefined, key: string): string | undefined {
  return orNone(() => z.record(z.string(), z.string()).parse(JSON.parse(object?.data?.[refusedKey] ?? "{}")))?.[key];
}
