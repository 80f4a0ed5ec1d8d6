// Deleting the object of a hold, and no other: guarded by uid and resourceVersion. With our finalizer on it that is a
// second write, guarded too: in between a later container of the owner may have taken the hold over, or anybody one
// that had cooled, and then it stays.
import { isDeepStrictEqual } from "node:util";

import { keptFinalizer } from "../../api/holds/hold-marks.ts";
import { isApiError } from "../../kube/errors.ts";
import type { KubeObject } from "../../kube/meta.ts";
import { pointer } from "../../kube/patch.ts";
import type { Resource } from "../../kube/resource.ts";
import type { KubeClient } from "../../kube/rest.ts";

/** `changed`: since it was read, or another of its name is there; nothing was done. `gone`: it was, before. */
export type Removal = "removed" | "gone" | "changed";

/**
 * Others may put or take their own finalizers meanwhile, and whereabouts' DEL deletes an address's reservation,
 * whosever it is, which our finalizer then keeps. More often than that is no accident.
 */
const triesMax = 5;

/** Also where only its finalizers have changed since, or somebody has begun to delete it: it holds for nobody else. */
export async function removeObject<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  known: KubeObject,
  signal?: AbortSignal,
): Promise<Removal> {
  const { namespace = "", name = "", uid = "" } = known.metadata;
  let { resourceVersion = "" } = known.metadata;
  for (let tries = 1; ; tries++) {
    try {
      const guard = { preconditions: { uid, resourceVersion }, propagationPolicy: "Background" } as const;
      const left = await client.delete(resource, { namespace, name }, { signal, ...guard });
      return left === undefined ? "removed" : await letGo(client, resource, left, signal);
    } catch (error) {
      if (isApiError(error, "not-found")) return "gone";
      if (!isApiError(error, "conflict")) throw error;
    }
    const found = await client.lookUp(resource, { namespace, name }, { signal });
    if (found === undefined) return "gone";
    if (found.metadata.uid !== uid || !isUnchanged(found, known) || tries === triesMax) return "changed";
    resourceVersion = found.metadata.resourceVersion ?? "";
  }
}

async function letGo<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  deleted: T,
  signal: AbortSignal | undefined,
): Promise<Removal> {
  const { namespace = "", name = "", uid } = deleted.metadata;
  let object: T | undefined = deleted;
  for (let tries = 1; object !== undefined && object.metadata.uid === uid; tries++) {
    if (!isUnchanged(object, deleted)) return "changed";
    const index = (object.metadata.finalizers ?? []).indexOf(keptFinalizer);
    if (index < 0) return "removed";
    const path = pointer("metadata", "finalizers", index);
    try {
      const operations = [
        { op: "test", path: "/metadata/uid", value: uid },
        { op: "test", path: "/metadata/resourceVersion", value: object.metadata.resourceVersion },
        { op: "test", path, value: keptFinalizer },
        { op: "remove", path },
      ] as const;
      await client.patch(resource, { namespace, name }, { type: "json", operations }, { signal });
      return "removed";
    } catch (error) {
      if (isApiError(error, "not-found")) return "removed";
      if (!isApiError(error, "invalid", "conflict") || tries === triesMax) throw error;
    }
    object = await client.lookUp(resource, { namespace, name }, { signal });
  }
  return "removed";
}

/** But for finalizers, deletion and status: whose it is, what was noted, and all that the object carries. */
function isUnchanged(object: KubeObject, known: KubeObject): boolean {
  const [one, two] = [object, known].map((each) => {
    const { apiVersion: _, kind: _1, status: _2, metadata, ...content } = each as KubeObject & Record<string, unknown>;
    return [content, metadata.labels, metadata.annotations];
  });
  return isDeepStrictEqual(one, two);
}
