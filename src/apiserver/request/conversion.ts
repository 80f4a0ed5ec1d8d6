// Between the version a client speaks and the one that is stored.
import type { KubeObject } from "../object.ts";
import type { Resource } from "../registry/resource.ts";
import { apiVersion } from "../registry/resource.ts";
import type { Entry } from "../store/entry.ts";

export function fromStorage(resource: Resource, object: KubeObject): KubeObject {
  if (resource.convert !== undefined) return resource.convert.fromStorage(object);
  const wanted = apiVersion(resource);
  return object.apiVersion === wanted ? object : { ...object, apiVersion: wanted };
}

/** Kind and version first, so that `itemText` finds them. */
export function toStorage(resource: Resource, object: KubeObject): KubeObject {
  const { kind, apiVersion: _apiVersion, metadata, ...rest } = resource.convert?.toStorage(object) ?? object;
  return { kind, apiVersion: resource.storageVersion, metadata, ...rest };
}

/** The object's text in the client's version; the stored text itself where both are the same. */
export function textOf(resource: Resource, entry: Entry): string {
  const sameVersion = resource.convert === undefined && entry.object.apiVersion === apiVersion(resource);
  return sameVersion ? entry.json : JSON.stringify(fromStorage(resource, entry.object));
}

/** As an item of a list: the list names kind and version of built-in objects, so that the items do not. */
export function itemText(resource: Resource, entry: Entry): string {
  const text = textOf(resource, entry);
  if (resource.custom !== undefined) return text;
  const head = `{"kind":"${resource.kind}","apiVersion":"${apiVersion(resource)}",`;
  if (text.startsWith(head)) return `{${text.slice(head.length)}`;
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = fromStorage(resource, entry.object);
  return JSON.stringify(rest);
}
