// Which claims a pod refers to. Pure and lenient: an unreadable annotation refers to nothing, and its ADD says why.
import { primaryClaimAnnotation } from "../api/claims/claim-marks.ts";
import { CniError } from "./error.ts";
import { type SelectingPod, selectionsOf } from "./selection.ts";

/** Of a network selection element. */
export const referenceKey = "ipam-claim-reference";

/** Most pods refer to none, and this is asked for every pod of a cluster: their annotations are not parsed. */
export function claimReferencesOf(pod: SelectingPod): readonly string[] {
  const primary = pod.annotations[primaryClaimAnnotation];
  const own = primary === undefined || primary === "" ? [] : [primary];
  if (!Object.values(pod.annotations).some((text) => text.includes(referenceKey))) return own;
  try {
    return [...new Set([...own, ...selectionsOf(pod).flatMap(({ claim }) => claim ?? [])])];
  } catch (error) {
    if (error instanceof CniError) return own;
    throw error;
  }
}
