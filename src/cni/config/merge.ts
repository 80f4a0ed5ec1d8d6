// The flat file's part in a configuration: it fills what the inline `ipam` object leaves at its zero value, deep.
//
// As in whereabouts, a list is filled only as a whole. An inline boolean stands, `false` too (zero in Go, which cannot
// tell it from a missing one and fills it). whereabouts restores its one boolean by hand: `enable_overlapping_ranges`
// comes from the inline object or its default, never from the flat file. So it does here.
import { isObject, isZero, type JsonObject } from "../json.ts";

/** The second is the definition's to say: whoever makes claims reads definitions, and no node's files. */
const neverFilled = new Set(["enable_overlapping_ranges", "allowPersistentIPs"]);

/** `inline` wins. Both have passed shapeOf: their keys have the table's names. */
export function mergeFlatFile(inline: JsonObject, flat: JsonObject): JsonObject {
  const result: Record<string, unknown> = { ...inline };
  for (const [key, filler] of Object.entries(flat)) {
    if (neverFilled.has(key)) continue;
    const value = inline[key];
    if (typeof value === "boolean" || isZero(filler)) {
      if (value === undefined) result[key] = filler;
    } else if (isObject(value) && isObject(filler)) result[key] = mergeFlatFile(value, filler);
    else if (isZero(value)) result[key] = filler;
  }
  return result;
}

/** Where whereabouts looks for its flat file, and the default folders that `configuration_path` may point into. */
export const flatFileFolders: readonly string[] = [
  "/etc/kubernetes/cni/net.d",
  "/etc/cni/net.d",
  "/host/etc/cni/net.d",
];

/** Where the flat file is looked for, in this order; the first that exists counts, and none is fine. */
export function flatFilePaths(configurationPath = ""): string[] {
  const usual = flatFileFolders.map((directory) => `${directory}/whereabouts.d/whereabouts.conf`);
  return configurationPath === "" ? usual : [configurationPath, ...usual];
}
