// A resource as the API serves it: one version of one kind.
import type { JsonObject } from "../json.ts";
import type { NameRule } from "../names.ts";
import type { KubeObject } from "../object.ts";
import type { Schema } from "../schema/schema.ts";
import type { Subject } from "../status.ts";

export interface PrinterColumn extends JsonObject {
  name: string;
  type: string;
  format?: string;
  description?: string;
  priority?: number;
  jsonPath: string;
}

export interface Resource extends Subject {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly string[];
  /** Where its objects are kept: `group/plural`, shared by all versions of a kind. */
  readonly storage: string;
  readonly storageVersion: string;
  readonly schema: Schema | undefined;
  /** The name of its definition in the OpenAPI documents. */
  readonly definition: string;
  /** From a CRD: validated by its schema; without it a built-in kind, merged by strategic patches. */
  readonly custom?: CustomTraits;
  readonly nameRule: NameRule;
  /** A change outside of metadata and status raises metadata.generation. */
  readonly generation: boolean;
  /** A PUT without resourceVersion overwrites. */
  readonly unconditionalUpdate: boolean;
  /** What field selectors may name beside metadata.name and metadata.namespace, each with its path in the object. */
  readonly selectableFields: Readonly<Record<string, string>>;
  /** Where the versions of a kind differ in more than apiVersion. */
  readonly convert?: { toStorage(object: KubeObject): KubeObject; fromStorage(object: KubeObject): KubeObject };
  /** A DELETE that removes the object at once answers with it rather than with a Status. */
  readonly returnsDeleted?: true;
  /** A PUT of an object that does not exist creates it. */
  readonly createsOnUpdate?: true;
  readonly deprecationWarning?: string;
}

interface CustomTraits {
  readonly columns: readonly PrinterColumn[];
  readonly crdName: string;
  /** Objects written before this revision of the definition are pruned and defaulted when they are read. */
  readonly schemaRevision: number;
}

export function apiVersion({ group, version }: Pick<Resource, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}

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

/**
 * What an object has before anybody writes to it: the real server keeps built-in kinds as Go structs, whose fields are
 * there from the start. Such a field has no owner, so managedFields name only what is in it.
 */
export function blankOf({ custom, storage }: Resource): JsonObject {
  if (custom !== undefined) return { metadata: {} };
  return { metadata: {}, spec: specs[storage] ?? {}, status: {} };
}
