// What an object of a kind has before anybody writes to it: the real server keeps built-in kinds as Go structs, whose
// fields are there from the start. Such a field has no owner, so managedFields name only what is in it.
import type { JsonObject } from "../json.ts";
import type { Resource } from "./resource.ts";

const template: JsonObject = { metadata: {}, spec: { containers: null } };

/** Key: storage; value: the spec. */
const specs: Readonly<Record<string, JsonObject>> = {
  "/pods": { containers: null },
  "/replicationcontrollers": {},
  "apps/deployments": { selector: null, strategy: {}, template },
  "apps/daemonsets": { selector: null, updateStrategy: {}, template },
  "apps/replicasets": { selector: null, template },
  "apps/statefulsets": { selector: null, updateStrategy: {}, template },
  "batch/jobs": { template },
  "batch/cronjobs": { jobTemplate: { metadata: {}, spec: { template } } },
};

export function blankOf({ custom, storage }: Resource): JsonObject {
  if (custom !== undefined) return { metadata: {} };
  return { metadata: {}, spec: specs[storage] ?? {}, status: {} };
}
