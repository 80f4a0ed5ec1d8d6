// Owner references: which object an object belongs to, so that it is collected with it and its events lead to its owner's key.
import { type DeepReadonly, keyOf, type KubeObject, type ObjectKey, type OwnerReference } from "./meta.ts";
import { apiVersionOf, type Resource } from "./resource.ts";

/** The reference to put into what `owner` controls. The owner must exist: without a uid the reference would be refused, or collect at once. */
export function controllerReference<T extends KubeObject>(
  resource: Resource<T>,
  owner: DeepReadonly<T>,
): OwnerReference {
  const { name, uid } = owner.metadata;
  if (name === undefined || uid === undefined) {
    throw new TypeError(`The ${resource.kind} "${name}" has no uid yet: create it before what it owns.`);
  }
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The key of the controlling owner, if it is of this kind (in any version of its group); for `Controller.watch`. */
export function controllerKey(resource: Resource, object: DeepReadonly<KubeObject>): ObjectKey[] {
  const owner = (object.metadata.ownerReferences ?? []).find(({ controller }) => controller === true);
  if (owner === undefined || owner.kind !== resource.kind || groupOf(owner.apiVersion) !== resource.group) return [];
  // An owner is in the namespace of what it owns, or in none.
  return [
    keyOf({ metadata: { name: owner.name, namespace: resource.namespaced ? object.metadata.namespace : undefined } }),
  ];
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}
