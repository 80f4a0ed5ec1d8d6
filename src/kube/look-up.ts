// An object, or a kind, that may not be there.
import type { KubeObject, ObjectName } from "./meta.ts";
import type { Resource } from "./resource.ts";
import type { CallOptions, KubeClient, Scope } from "./rest.ts";
import { unless } from "./unless.ts";

/** Undefined where the server has none of that name, or no such kind. */
export function lookUp<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  at: ObjectName,
  options: CallOptions & { readonly resourceVersion?: string } = {},
): Promise<T | undefined> {
  return unless(["not-found"], client.get(resource, at, options));
}

/** Undefined where the server has no such kind. */
export async function listServed<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  options: Scope & CallOptions = {},
): Promise<T[] | undefined> {
  return (await unless(["not-found"], client.list(resource, options)))?.items;
}
