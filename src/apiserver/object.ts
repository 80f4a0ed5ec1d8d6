// What every Kubernetes object has.
import type * as meta from "../kube/meta.ts";
import type { JsonObject } from "./json.ts";

export type OwnerReference = JsonObject & meta.OwnerReference;

export interface ManagedFields extends JsonObject {
  manager?: string;
  operation?: "Apply" | "Update";
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: JsonObject;
  subresource?: string;
}

type OwnMeta = Omit<meta.ObjectMeta, "creationTimestamp" | "ownerReferences" | "managedFields">;

interface ObjectMeta extends JsonObject, OwnMeta {
  creationTimestamp?: string | null;
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
