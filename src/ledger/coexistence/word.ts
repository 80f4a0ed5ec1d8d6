// The operator's word on coexistence, in holdfast-state beside what is in force (`coexistence`): said by `holdfast coexistence`, or
// decided once by the leader where nobody has said one. Pure.
import type { ConfigMap } from "../resources.ts";
import { readSlicedRanges, slicedKey, writeSlicedRanges } from "../sliced-ranges.ts";

export interface Word {
  readonly word: "on" | "off";
  /** Who said it, when and why, for people. */
  readonly by: string;
}

const wordKey = "coexistence-word";
const byKey = "coexistence-by";
const sinceKey = "coexistence-since";

export function readWord(object: Pick<ConfigMap, "data"> | undefined): Word | undefined {
  const word = object?.data?.[wordKey];
  return word === "on" || word === "off" ? { word, by: object?.data?.[byKey] ?? "" } : undefined;
}

export function wordData({ word, by }: Word): Record<string, string> {
  return { [wordKey]: word, [byKey]: by };
}

/** What daemons act by; undefined: nothing that they may act by. */
export function inForce(object: Pick<ConfigMap, "data"> | undefined): boolean | undefined {
  const text = object?.data?.["coexistence"];
  return text === "on" ? true : text === "off" ? false : undefined;
}

/**
 * A state in which coexistence begins. It is a new version of the sliced ranges, too: that is what daemons say that they have seen, and
 * what one that was cut off asks for before it hands anything out.
 */
export function begun(data: Readonly<Record<string, string>>): Record<string, string> {
  const told = readSlicedRanges({ data });
  // What is not known nobody acts by.
  if (told === undefined) return { ...data };
  const { version, ranges } = told;
  const next = version + 1;
  return { ...data, [slicedKey]: writeSlicedRanges({ version: next, ranges }), [sinceKey]: String(next) };
}

/** The version of the sliced ranges from which on a daemon knows that coexistence is on. */
export function begunAt(object: Pick<ConfigMap, "data"> | undefined): number {
  return Number(object?.data?.[sinceKey] ?? 0);
}
