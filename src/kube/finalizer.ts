// Finalizers: an object is not gone while one is left. Each write touches our own entry only, guarded by its place.
import { type DeepReadonly, keyOf, type KubeObject, parseKey } from "./meta.ts";
import { type JsonPatchOperation, pointer } from "./patch.ts";
import type { Resource } from "./resource.ts";
import type { CallOptions, KubeClient } from "./rest.ts";
import { unless } from "./unless.ts";

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
  const at = parseKey(keyOf(object));
  return (await unless(["not-found"], client.patch(resource, at, { type: "json", operations }, options))) !== undefined;
}
