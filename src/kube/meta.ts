// What every Kubernetes object carries, typed as far as the runtime looks at it.

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: unknown[];
}

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

/** An object whose kind is not known at compile time. */
export interface AnyObject extends KubeObject {
  [field: string]: unknown;
}

export interface ListMeta {
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export type DeepReadonly<T> = T extends (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** `namespace/name`, or `name` where there is no namespace: the key of stores and queues. */
export type ObjectKey = string;

export interface ObjectName {
  readonly namespace?: string;
  readonly name: string;
}

export function keyOf(object: {
  readonly metadata: { readonly name?: string | undefined; readonly namespace?: string | undefined };
}): ObjectKey {
  const { namespace, name } = object.metadata;
  return namespace === undefined || namespace === "" ? (name ?? "") : `${namespace}/${name ?? ""}`;
}

export function parseKey(key: ObjectKey): ObjectName {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

type Picked<T, K extends keyof T> = string extends K ? T : { [P in K]?: Exclude<T[P], undefined> };

/** Of these fields, those that are there. */
export function picked<T extends object, K extends keyof T>(from: T | undefined, ...keys: readonly K[]): Picked<T, K> {
  const found = keys.flatMap((key) => (from?.[key] === undefined ? [] : [[key, from[key]]]));
  return Object.fromEntries(found) as Picked<T, K>;
}
