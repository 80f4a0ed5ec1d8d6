// Deleting the object of a hold, and no other: guarded by uid and resourceVersion. Where our finalizer stands on it that is a
// second write, which the deletion itself guards: what is being deleted cannot become another's.
import { keptFinalizer } from "../api/hold-marks.ts";
import { isApiError } from "../kube/errors.ts";
import type { KubeObject } from "../kube/meta.ts";
import { pointer } from "../kube/patch.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeClient } from "../kube/rest.ts";

/** `changed`: since it was read, or another of its name is there; nothing was done. `gone`: it was, before. */
export type Removal = "removed" | "gone" | "changed";

export async function removeObject<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  { metadata }: KubeObject,
  signal?: AbortSignal,
): Promise<Removal> {
  const { namespace = "", name = "", uid = "", resourceVersion = "" } = metadata;
  try {
    const left = await client.delete(
      resource,
      { namespace, name },
      { signal, preconditions: { uid, resourceVersion }, propagationPolicy: "Background" },
    );
    if (left !== undefined) await letGo(client, resource, left, signal);
    return "removed";
  } catch (error) {
    if (isApiError(error, "not-found")) return "gone";
    if (isApiError(error, "conflict")) return "changed";
    throw error;
  }
}

/** A few others may put or take their own finalizers meanwhile; more than that is no accident. */
const triesMax = 5;

async function letGo<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  deleted: T,
  signal: AbortSignal | undefined,
): Promise<void> {
  const at = { namespace: deleted.metadata.namespace ?? "", name: deleted.metadata.name ?? "" };
  let object = deleted;
  for (let tries = 1; object.metadata.uid === deleted.metadata.uid; tries++) {
    const index = (object.metadata.finalizers ?? []).indexOf(keptFinalizer);
    if (index < 0) return;
    const path = pointer("metadata", "finalizers", index);
    try {
      const operations = [
        { op: "test", path: "/metadata/uid", value: deleted.metadata.uid },
        { op: "test", path, value: keptFinalizer },
        { op: "remove", path },
      ] as const;
      await client.patch(resource, at, { type: "json", operations }, { signal });
      return;
    } catch (error) {
      if (isApiError(error, "not-found")) return;
      if (!isApiError(error, "invalid", "conflict") || tries === triesMax) throw error;
    }
    try {
      object = await client.get(resource, at, { signal });
    } catch (error) {
      if (isApiError(error, "not-found")) return;
      throw error;
    }
  }
}
