// Addresses asked for by number: the annotation network.kubevirt.io/addresses, {"network": ["10.0.0.7"]}. Pure.
import { addressesAnnotation } from "../../api/claim-marks.ts";
import type { Life } from "./lives.ts";

export interface Requested {
  readonly addresses: readonly string[];
  /** In a sentence, where the annotation cannot be read; empty otherwise. */
  readonly problem: string;
}

const nothing: Requested = { addresses: [], problem: "" };
/** One per family would do; an annotation of thousands is a mistake. */
const addressesMax = 16;

/** The running VMI's word comes first: that is what its pods carry. */
export function requestedOf({ vm, vmi }: Life, nic: string): Requested {
  const text =
    vmi?.metadata.annotations?.[addressesAnnotation] ??
    vm?.spec?.template?.metadata?.annotations?.[addressesAnnotation] ??
    "";
  if (text === "") return nothing;
  try {
    return listed((JSON.parse(text) as Record<string, unknown> | null)?.[nic]);
  } catch (error) {
    return unreadable(`it is no JSON (${error instanceof Error ? error.message : String(error)})`);
  }
}

function listed(value: unknown): Requested {
  if (value === undefined) return nothing;
  const isList =
    Array.isArray(value) && value.length <= addressesMax && value.every((each) => typeof each === "string");
  if (!isList) return unreadable(`a network's value is no list of at most ${addressesMax} addresses`);
  return { addresses: value.map((each) => each.split("/")[0]!.trim()).filter((each) => each !== ""), problem: "" };
}

function unreadable(why: string): Requested {
  return {
    addresses: [],
    problem: `the annotation ${addressesAnnotation} cannot be read: ${why}; it counts for nothing.`,
  };
}
