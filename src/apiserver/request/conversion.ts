// Between the version a client speaks and the one that is stored.
import { clone, writeJson } from "../json.ts";
import type { KubeObject } from "../object.ts";
import { type Resource, apiVersion } from "../registry/resource.ts";
import { applyDefaults, prune } from "../schema/prune.ts";
import type { Entry } from "../store/entry.ts";

export function fromStorage(resource: Resource, object: KubeObject): KubeObject {
  if (resource.convert !== undefined) return resource.convert.fromStorage(object);
  if (!isOutdated(resource, object)) return object;
  return refreshed(resource, { ...object, apiVersion: apiVersion(resource) });
}

/** Written in another version, or under an older schema. */
function isOutdated(resource: Resource, object: KubeObject): boolean {
  if (object.apiVersion !== apiVersion(resource)) return true;
  return resource.custom !== undefined && Number(object.metadata.resourceVersion) < resource.custom.schemaRevision;
}

/** The object as this version's schema of today would have it. */
function refreshed(resource: Resource, object: KubeObject): KubeObject {
  if (resource.custom === undefined || resource.schema === undefined) return object;
  const { metadata, ...rest } = object;
  const copy = clone(rest);
  prune(copy, resource.schema, "", []);
  applyDefaults(copy, resource.schema);
  return { ...copy, kind: object.kind, apiVersion: object.apiVersion, metadata };
}

/** Kind and version first, so that `itemText` finds them. */
export function toStorage(resource: Resource, object: KubeObject): KubeObject {
  const { kind, apiVersion: _apiVersion, metadata, ...rest } = resource.convert?.toStorage(object) ?? object;
  return { kind, apiVersion: resource.storageVersion, metadata, ...rest };
}

const headOf = (resource: Resource) => `{"kind":"${resource.kind}","apiVersion":"${apiVersion(resource)}",`;

/** Told by the text alone, so that a list of many objects parses none of them. */
function isCurrent(resource: Resource, entry: Entry, head: string): boolean {
  if (resource.convert !== undefined || !entry.json.startsWith(head)) return false;
  return resource.custom === undefined || entry.revision >= resource.custom.schemaRevision;
}

/** The object's text in the client's version; the stored text itself where both are the same. */
export function textOf(resource: Resource, entry: Entry): string {
  return isCurrent(resource, entry, headOf(resource)) ? entry.json : writeJson(fromStorage(resource, entry.object));
}

/** As an item of a list: the list names kind and version of built-in objects, so that the items do not. */
export function itemText(resource: Resource, entry: Entry): string {
  if (resource.custom !== undefined) return textOf(resource, entry);
  const head = headOf(resource);
  if (isCurrent(resource, entry, head)) return `{${entry.json.slice(head.length)}`;
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = fromStorage(resource, entry.object);
  return writeJson(rest);
}
