// Read, change, write, until nobody came in between; deletes of what may be gone. Whoever plays KubeVirt does no more.
import { isApiError } from "../../../src/kube/errors.ts";
import type { KubeObject, ObjectName } from "../../../src/kube/meta.ts";
import type { Resource } from "../../../src/kube/resource.ts";
import type { DeleteOptions, KubeClient } from "../../../src/kube/rest.ts";

/** Two writers that meet again and again are a test's mistake: garbage collection writes an object once or twice. */
const mostTries = 20;

/** Undefined: it is gone. `change` says false where there is nothing to write. */
export async function edit<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  at: ObjectName,
  change: (object: T) => boolean | void,
  subresource?: string,
): Promise<T | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      const object = await client.get(resource, at);
      if (change(object) === false) return object;
      return await client.update(resource, object, subresource === undefined ? {} : { subresource });
    } catch (error) {
      if (isApiError(error, "not-found")) return undefined;
      if (!isApiError(error, "conflict") || tries === mostTries) throw error;
    }
  }
}

/** Whether it was there. Where `uid` says which one is meant, a later one of the same name stays. */
export async function remove(
  client: KubeClient,
  resource: Resource,
  at: ObjectName,
  options: DeleteOptions & { readonly uid?: string } = {},
): Promise<boolean> {
  const { uid, ...rest } = options;
  try {
    await client.delete(resource, at, { ...rest, ...(uid !== undefined && { preconditions: { uid } }) });
    return true;
  } catch (error) {
    if (isApiError(error, "not-found") || (uid !== undefined && isApiError(error, "conflict"))) return false;
    throw error;
  }
}

export async function find<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  at: ObjectName,
): Promise<T | undefined> {
  try {
    return await client.get(resource, at);
  } catch (error) {
    if (isApiError(error, "not-found")) return undefined;
    throw error;
  }
}

/** Of the object of that UID, where one is given. */
export async function dropFinalizer(
  client: KubeClient,
  resource: Resource,
  at: ObjectName & { readonly uid?: string },
  finalizer: string,
): Promise<void> {
  const { uid, ...name } = at;
  await edit(client, resource, name, ({ metadata }) => {
    const before = metadata.finalizers ?? [];
    if (!before.includes(finalizer) || (uid !== undefined && metadata.uid !== uid)) return false;
    metadata.finalizers = before.filter((each) => each !== finalizer);
    return true;
  });
}
