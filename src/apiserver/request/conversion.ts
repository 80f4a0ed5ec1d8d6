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

export function toStorage(resource: Resource, object: KubeObject): KubeObject {
  if (resource.convert !== undefined) return resource.convert.toStorage(object);
  return object.apiVersion === resource.storageVersion ? object : { ...object, apiVersion: resource.storageVersion };
}

/** The object's text in the client's version; the stored text itself where both are the same. */
export function textOf(resource: Resource, entry: Entry): string {
  const sameVersion = resource.convert === undefined && entry.object.apiVersion === apiVersion(resource);
  return sameVersion ? entry.json : JSON.stringify(fromStorage(resource, entry.object));
}
