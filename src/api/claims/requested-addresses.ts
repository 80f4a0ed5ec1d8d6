// Addresses that a VM asks for by number: annotation network.kubevirt.io/addresses, {"network": ["10.0.0.7"]}. Pure.
import { addressesAnnotation } from "./claim-marks.ts";

export interface Requested {
  /** Without lengths. */
  readonly addresses: readonly string[];
  /** In a sentence, where the annotation cannot be read; empty otherwise. */
  readonly problem: string;
}

/** One per family would do; an annotation of thousands is a mistake. */
const addressesMax = 16;

/** What the annotation asks for one network of the VM. */
export function readRequested(text: string | undefined, nic: string): Requested {
  if (text === undefined || text.trim() === "") return { addresses: [], problem: "" };
  let all: unknown;
  try {
    all = JSON.parse(text);
  } catch (error) {
    return unreadable(`it is no JSON (${error instanceof Error ? error.message : String(error)})`);
  }
  if (typeof all !== "object" || all === null || Array.isArray(all)) return unreadable("it is no object");
  const own: unknown = Object.hasOwn(all, nic) ? (all as Record<string, unknown>)[nic] : [];
  if (!Array.isArray(own) || own.length > addressesMax || !own.every((each) => typeof each === "string"))
    return unreadable(`a network's value is no list of at most ${addressesMax} addresses`);
  return { addresses: own.map((each) => each.split("/")[0]!.trim()).filter((each) => each !== ""), problem: "" };
}

function unreadable(why: string): Requested {
  const problem = `the annotation ${addressesAnnotation} cannot be read: ${why}; it counts for nothing.`;
  return { addresses: [], problem };
}
