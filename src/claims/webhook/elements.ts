// The networks annotation of a launcher pod, read to be written again: every element keeps what we do not know of it. Pure.
//
// Promised: odd text is nobody's error here. What is no JSON list is left as it is, and an element that is no object or has no name is
// passed over while the others are still seen; the pod's ADD says what is wrong.
import type { NicElement } from "../../api/kubevirt.ts";
import { isObject, type JsonObject } from "../../cni/json.ts";

export const referenceKey = "ipam-claim-reference";

export interface LauncherElement extends NicElement {
  /** In the list. */
  readonly index: number;
  readonly value: JsonObject;
  readonly claim: string;
}

/** An annotation is 256 KiB at most, and JSON of elements is some hundred bytes each: more than these are a mistake, and left alone. */
const maxElements = 100;

/** `namespace` is the pod's. */
export function launcherElements(text: string | undefined, namespace: string): readonly LauncherElement[] {
  const list = listOf(text);
  if (list.length > maxElements) return [];
  return list.flatMap((value, index) => {
    if (!isObject(value)) return [];
    const name = textOf(value["name"]);
    if (name === "") return [];
    return [
      {
        index,
        value,
        name,
        namespace: textOf(value["namespace"]) || namespace,
        interfaceName: textOf(value["interface"]) || `net${index + 1}`,
        claim: textOf(value[referenceKey]),
      },
    ];
  });
}

/** The same text with the references written; `claims`: index of the element -> name of the claim. */
export function withReferences(text: string | undefined, claims: ReadonlyMap<number, string>): string {
  const list = listOf(text).map((value, index) => {
    const claim = claims.get(index);
    return claim === undefined || !isObject(value) ? value : { ...value, [referenceKey]: claim };
  });
  return JSON.stringify(list);
}

/** One object stands for a list of one, as the standard has it. Anything else has no elements. */
function listOf(text: string | undefined): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return Array.isArray(value) ? value : isObject(value) ? [value] : [];
  } catch {
    return [];
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
