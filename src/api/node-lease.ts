// The one Lease of a node (docs/decisions/0013): its daemon renews it and says what it has seen; the controller says which slices the
// node has, so that a daemon follows one small object by its name and never the NodeSlicePools. Pure.
import { createHash } from "node:crypto";

import { z } from "zod";

import { holdfastGroup } from "./kind.ts";

/** Annotation, written by the daemon: the node's name, in full. */
export const leaseNodeAnnotation = `${holdfastGroup}/node`;
/** Annotation, written by the daemon: the version of the sliced ranges (src/ledger/sliced-ranges.ts) that it works by. */
export const seenAnnotation = `${holdfastGroup}/seen`;
/** Annotation, written by the controller: what the node has, and waits for. */
export const slicesAnnotation = `${holdfastGroup}/slices`;

/** Of the annotation, and of the same number on a node's disk; undefined: it is none. */
export function readSeen(text: string): number | undefined {
  const version = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(version) ? version : undefined;
}

const prefix = "holdfast-node-";
const longestName = 253;

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
});

export type NodeSlices = z.infer<typeof nodeSlices>;

/** What cannot be read says nothing. */
export function readNodeSlices(text: string | undefined): NodeSlices {
  try {
    return nodeSlices.parse(JSON.parse(text ?? "{}"));
  } catch {
    return { grants: {}, waiting: {} };
  }
}

/** All annotations of an object have 256 KiB: sentences never keep a grant from being told. */
const longestSentence = 500;
const mostBytesOfSentences = 64 * 1024;

/** Keys in order: the same contents are the same text. Sentences are cut short, and those after the first 64 KiB left out; grants never are. */
export function writeNodeSlices({ grants, waiting }: NodeSlices): string {
  const inOrder = (map: Readonly<Record<string, string>>) => Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
  let bytes = 0;
  const sentences = inOrder(waiting)
    .map(([key, words]) => [key, shortened(words, longestSentence)] as const)
    .filter((entry) => (bytes += Buffer.byteLength(JSON.stringify(entry))) <= mostBytesOfSentences);
  return JSON.stringify({ grants: Object.fromEntries(inOrder(grants)), waiting: Object.fromEntries(sentences) });
}

/** At most so many characters. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

/** The key of `waiting`. */
export function sliceUseKey(use: {
  readonly namespace: string;
  readonly network: string;
  readonly range: unknown;
}): string {
  return `${use.namespace} ${use.network} ${String(use.range)}`;
}
