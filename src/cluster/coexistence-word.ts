// The operator's word on coexistence, in holdfast-state beside the mode in force (`coexistence`): said by `holdfast
// coexistence`, or decided once by the leader where nobody has said one. Pure.
import type { ConfigMap } from "./resources.ts";
import { readSlicedRanges, slicedKey, writeSlicedRanges } from "./sliced-ranges.ts";

export interface Word {
  readonly word: "on" | "off";
  /** Who said it, when and why, for people. */
  readonly by: string;
  /** Where whereabouts keeps its pools, and so where ours are; undefined: where they are. */
  readonly namespace?: string;
}

const wordKey = "coexistence-word";
const byKey = "coexistence-by";
const namespaceKey = "coexistence-namespace";
const sinceKey = "coexistence-since";
// Daemons act by it; empty, or never said: the system namespace. The leader alone writes it, each change with a new
// version of the sliced ranges. Once one was said, a missing one is no word (src/node/shared-state.ts).
export const poolNamespaceKey = "pool-namespace";

export function readWord(object: Pick<ConfigMap, "data"> | undefined): Word | undefined {
  const word = object?.data?.[wordKey];
  const { [byKey]: by = "", [namespaceKey]: namespace } = object?.data ?? {};
  return word === "on" || word === "off" ? { word, by, ...(namespace && { namespace }) } : undefined;
}

export function wordData({ word, by, namespace }: Word): Record<string, string> {
  return { [wordKey]: word, [byKey]: by, ...(namespace !== undefined && { [namespaceKey]: namespace }) };
}

/** Where the pools of definitions are that do not say `pool_namespace: nad`. */
export function poolNamespaceOf(object: Pick<ConfigMap, "data"> | undefined, systemNamespace: string): string {
  return object?.data?.[poolNamespaceKey] || systemNamespace;
}

/** What daemons act by; undefined: nothing that they may act by. */
export function inForce(object: Pick<ConfigMap, "data"> | undefined): boolean | undefined {
  const text = object?.data?.["coexistence"];
  return text === "on" ? true : text === "off" ? false : undefined;
}

/** Coexistence begins: also a new version of the sliced ranges, since that is what daemons say they have seen. */
export function begun(data: Readonly<Record<string, string>>): Record<string, string> {
  const told = readSlicedRanges({ data });
  if (told === undefined) return { ...data };
  const { version, ranges } = told;
  const next = version + 1;
  return { ...data, [slicedKey]: writeSlicedRanges({ version: next, ranges }), [sinceKey]: String(next) };
}

/** The version of the sliced ranges from which on a daemon knows that coexistence is on. */
export function begunAt(object: Pick<ConfigMap, "data"> | undefined): number {
  return Number(object?.data?.[sinceKey] ?? 0);
}
