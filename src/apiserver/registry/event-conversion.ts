// core/v1 and events.k8s.io/v1 are two views of the same events; they are kept in the core form.
import type { KubeObject } from "../object.ts";

/** Core name, new name. */
const renamed: readonly (readonly [string, string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["reportingComponent", "reportingController"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
];

function rename(object: KubeObject, apiVersion: string, from: 0 | 1, to: 0 | 1): KubeObject {
  const result: KubeObject = { ...object, apiVersion };
  for (const pair of renamed) {
    const value = result[pair[from]];
    if (value === undefined) continue;
    delete result[pair[from]];
    result[pair[to]] = value;
  }
  return result;
}

export const eventConversion = {
  toStorage: (object: KubeObject): KubeObject => rename(object, "v1", 1, 0),
  fromStorage: (object: KubeObject): KubeObject => rename(object, "events.k8s.io/v1", 0, 1),
};
