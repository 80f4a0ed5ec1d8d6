// The one Lease of a node (docs/decisions/0013): its daemon renews it and says what it has seen; the controller says
// which slices the node has, so that a daemon follows one small object by its name and never the NodeSlicePools. Pure.
import { createHash } from "node:crypto";

import { z } from "zod";

import { readJson } from "../fields.ts";
import { holdfastGroup } from "../kind.ts";
import { longestName } from "../name.ts";

/** Annotation, written by the daemon: the node's name, in full. */
export const leaseNodeAnnotation = `${holdfastGroup}/node`;
/** Annotation, written by the daemon: the version of the sliced ranges (src/cluster/sliced-ranges.ts) it works by. */
export const seenAnnotation = `${holdfastGroup}/seen`;
/** Annotation, written by the daemon: the slices of its journal that are not sealed, whatever the API server knows. */
export const journalAnnotation = `${holdfastGroup}/journal`;
/** Annotation, written by the controller: what the node has, and waits for. */
export const slicesAnnotation = `${holdfastGroup}/slices`;

/** Of the annotation, and of the same number on a node's disk; undefined: it is none. */
export function readSeen(text: string): number | undefined {
  const version = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(version) ? version : undefined;
}

const prefix = "holdfast-node-";

/** A node's name may itself be as long as a name may be: then a hash stands for its end. */
export function nodeLeaseName(node: string): string {
  const name = `${prefix}${node}`;
  if (name.length <= longestName) return name;
  const hash = createHash("sha256").update(node).digest("hex").slice(0, 16);
  return `${name.slice(0, longestName - 17).replace(/[-.]+$/, "")}-${hash}`;
}

const nodeSlices = z.object({
  /** namespace/name of the slice's IPPool -> `GENERATION.SERIAL` of its grant */
  grants: z.record(z.string(), z.string()).default({}),
  /** `namespace network range` -> in a sentence why the node has no slice of it */
  waiting: z.record(z.string(), z.string()).default({}),
  /** So many grants are not named. The node keeps what it has of them, and learns of no new one. */
  more: z.int().nonnegative().default(0),
});

export type NodeSlices = z.infer<typeof nodeSlices>;

/** What cannot be read says nothing. */
export function readNodeSlices(text: string | undefined): NodeSlices {
  return readJson(nodeSlices, text ?? "{}") ?? { grants: {}, waiting: {}, more: 0 };
}

const longestSentence = 500;
/** All annotations of an object have 256 KiB; sentences never keep a grant from being told, of 30 to 330 bytes. */
const mostBytes = { grants: 96 * 1024, sentences: 64 * 1024, journal: 64 * 1024 } as const;

/** Keys in order: the same contents are the same text. Grants that do not fit are counted; sentences are cut. */
export function writeNodeSlices({ grants, waiting }: Pick<NodeSlices, "grants" | "waiting">): string {
  const inOrder = (map: Readonly<Record<string, string>>) => Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
  const sentences = inOrder(waiting).map(([key, words]) => [key, shortened(words, longestSentence)] as const);
  const told = within(inOrder(grants), mostBytes.grants);
  const more = Object.keys(grants).length - told.length;
  return JSON.stringify({
    grants: Object.fromEntries(told),
    waiting: Object.fromEntries(within(sentences, mostBytes.sentences)),
    ...(more > 0 && { more }),
  });
}

/** The first that fit. */
function within<T>(items: readonly T[], most: number): T[] {
  let bytes = 0;
  return items.filter((each) => (bytes += Buffer.byteLength(JSON.stringify(each)) + 1) <= most);
}

/** A node has a slice of each network and a few more where it is full: of a hundred networks hundreds. */
const mostJournalSlices = 1024;

const journalSlices = z.object({
  /** namespace, network_name, range, name of the NodeSlicePool, block */
  slices: z.array(z.tuple([z.string(), z.string(), z.string(), z.string(), z.string()])),
  /** So many more are not named. */
  more: z.int().nonnegative().default(0),
  /** The daemon has just noticed that the API server was restored from an older copy. */
  restored: z.boolean().default(false),
  /** The node was asleep until just now, or has lost its disk: it would not have noticed a restore. */
  woke: z.boolean().default(false),
});

export type JournalSlices = z.infer<typeof journalSlices>;

type JournalSlice = readonly [...JournalSlices["slices"][number]];

export function writeJournalSlices(
  slices: readonly JournalSlice[],
  { restored = false, woke = false }: Partial<Pick<JournalSlices, "restored" | "woke">> = {},
): string {
  const inOrder = slices.toSorted((a, b) => (a.join(" ") < b.join(" ") ? -1 : 1));
  const named = within(inOrder, mostBytes.journal).slice(0, mostJournalSlices);
  const more = slices.length - named.length;
  return JSON.stringify({
    slices: named,
    ...(more > 0 && { more }),
    ...(restored && { restored }),
    ...(woke && { woke }),
  });
}

/** Absent: a daemon that says nothing of it. Undefined: it cannot be read. A list that no daemon writes is cut. */
export function readJournalSlices(text: string | undefined): JournalSlices | undefined {
  const said = readJson(journalSlices, text ?? '{"slices":[]}');
  return said && { ...said, slices: said.slices.slice(0, mostJournalSlices) };
}

/** At most so many characters. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

/** The key of `waiting`. */
export function sliceUseKey(use: Record<"namespace" | "network", string> & { readonly range: unknown }): string {
  return `${use.namespace} ${use.network} ${String(use.range)}`;
}
