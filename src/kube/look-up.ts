// An object, or a kind, that may not be there.
import { isApiError } from "./errors.ts";
import type { KubeObject, ObjectName } from "./meta.ts";
import type { Resource } from "./resource.ts";
import type { CallOptions, KubeClient, Scope } from "./rest.ts";

/** Undefined where the server has none of that name, or no such kind. */
export async function lookUp<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  at: ObjectName,
  options: CallOptions & { readonly resourceVersion?: string } = {},
): Promise<T | undefined> {
  try {
    return await client.get(resource, at, options);
  } catch (error) {
    if (isApiError(error, "not-found")) return undefined;
    throw error;
  }
}

/** Undefined where the server has no such kind. */
export async function listServed<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  options: Scope & CallOptions = {},
): Promise<T[] | undefined> {
  try {
    return (await client.list(resource, options)).items;
  } catch (error) {
    if (isApiError(error, "not-found")) return undefined;
    throw error;
  }
}
