// Finalizers: an object is not gone while one of them is left. Each write touches only our own entry, guarded against what others do meanwhile.
import { isApiError } from "./errors.ts";
import type { DeepReadonly, KubeObject, ObjectName } from "./meta.ts";
import { type JsonPatchOperation, pointer } from "./patch.ts";
import type { Resource } from "./resource.ts";
import type { CallOptions, KubeClient } from "./rest.ts";

export function hasFinalizer(object: DeepReadonly<KubeObject>, finalizer: string): boolean {
  return (object.metadata.finalizers ?? []).includes(finalizer);
}

/**
 * True if it was removed now; false if the object given has it no more, or is gone from the server.
 * Throws `invalid` if the finalizers, or the uid, have changed since it was read: read it again.
 */
export async function removeFinalizer<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  object: DeepReadonly<T>,
  finalizer: string,
  options: CallOptions = {},
): Promise<boolean> {
  const index = (object.metadata.finalizers ?? []).indexOf(finalizer);
  if (index < 0) return false;
  const path = pointer("metadata", "finalizers", index);
  const operations: JsonPatchOperation[] = [
    // Of a namesake that was made since, we know nothing.
    { op: "test", path: "/metadata/uid", value: object.metadata.uid },
    { op: "test", path, value: finalizer },
    { op: "remove", path },
  ];
  try {
    await client.patch(resource, nameOf(object), { type: "json", operations }, options);
    return true;
  } catch (error) {
    if (isApiError(error, "not-found")) return false;
    throw error;
  }
}

function nameOf({ metadata: { name = "", namespace } }: DeepReadonly<KubeObject>): ObjectName {
  return namespace === undefined ? { name } : { name, namespace };
}
