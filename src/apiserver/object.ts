// What every Kubernetes object has.
import type { JsonObject } from "./json.ts";

export interface OwnerReference extends JsonObject {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ManagedFields extends JsonObject {
  manager?: string;
  operation?: "Apply" | "Update";
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: JsonObject;
  subresource?: string;
}

interface ObjectMeta extends JsonObject {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string | null;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFields[];
}

export interface KubeObject extends JsonObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

const times = ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] as const;
/** Of the metadata, what the server sets, whatever a client says. */
export const serverSet = ["namespace", "uid", "resourceVersion", "generation", ...times] as const;
/** What an update does not change. */
export const serverKept = ["name", "generateName", ...serverSet] as const;
