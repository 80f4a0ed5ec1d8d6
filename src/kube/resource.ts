// A resource descriptor: all that is needed to speak of a kind to the API server. There is no registry of them.
import type { KubeObject } from "./meta.ts";

export interface Resource<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Never set: it carries the type of the objects. */
  readonly example?: T;
}

type Description = Omit<Resource, "example" | "plural"> & { readonly plural?: string };

/** The plural is the kind in small letters with an "s", unless it is given. */
export function defineResource<T extends KubeObject>(description: Description): Resource<T> {
  return Object.freeze({ plural: `${description.kind.toLowerCase()}s`, ...description });
}

export function apiVersionOf(resource: Resource): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

export interface ObjectPlace {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/**
 * The path of a collection (no name) or of one object.
 * An empty name is refused rather than dropped: it would turn the delete of one object into the delete of all.
 */
export function pathOf(resource: Resource, { namespace, name, subresource }: ObjectPlace): string {
  const { kind, group, version, plural, namespaced } = resource;
  if (namespace !== undefined && !namespaced) {
    throw new TypeError(`${kind} is cluster-wide: it was given the namespace "${namespace}"; leave it out.`);
  }
  if (name !== undefined && namespaced && namespace === undefined) {
    throw new TypeError(`${kind} "${name}" is namespaced: say in which namespace it is.`);
  }
  const parts = group === "" ? ["/api", version] : ["/apis", segment(resource, "group", group), version];
  if (namespace !== undefined) parts.push("namespaces", segment(resource, "namespace", namespace));
  parts.push(plural);
  if (name !== undefined) parts.push(segment(resource, "name", name));
  for (const each of subresource?.split("/") ?? []) parts.push(segment(resource, "subresource", each));
  return parts.join("/");
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export function withQuery(path: string, query: Query): string {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

/** The API server's own rule for a name in a path; what it forbids would change the meaning of the path. */
function segment(resource: Resource, what: string, value: string): string {
  if (value === "" || value === "." || value === ".." || /[/%]/.test(value)) {
    throw new TypeError(`"${value}" cannot be the ${what} of a ${resource.kind}: it does not fit into a path.`);
  }
  return encodeURIComponent(value);
}
