// Whether an object in the cluster is the one that was meant to be there. A server whose definition lacks one of our fields
// prunes it, and a server adds metadata of its own: what is there must agree with what was meant, and may lack what cannot be stored.
import { isDeepStrictEqual } from "node:util";

import { isObject } from "../../cni/json.ts";
import type { KubeObject } from "../../kube/meta.ts";

/** `there` is `wanted` as a server may have stored it: names, labels, annotations and spec. Status is nobody's word. */
export function isStored(wanted: KubeObject, there: KubeObject): boolean {
  const marks = (object: KubeObject) => [object.metadata.labels ?? {}, object.metadata.annotations ?? {}];
  return isDeepStrictEqual(marks(wanted), marks(there)) && isPruned(specOf(wanted), specOf(there), true);
}

/** The same content, whatever a status or a mark says: who has which address. */
export function hasSameContent(wanted: KubeObject, there: KubeObject): boolean {
  return isPruned(specOf(wanted), specOf(there), true);
}

/** Fields without which the object says something else. */
const essential: ReadonlySet<string> = new Set([
  "range",
  "allocations",
  "podref",
  "ifname",
  "id",
  "domain",
  "address",
  "owner",
]);

function isPruned(wanted: unknown, there: unknown, isTop: boolean): boolean {
  if (!isObject(wanted) || !isObject(there)) return isDeepStrictEqual(wanted, there);
  if (Object.keys(there).some((key) => !Object.hasOwn(wanted, key))) return false;
  return Object.entries(wanted).every(([key, value]) => {
    if (Object.hasOwn(there, key)) return isPruned(value, there[key], false);
    // An allocation's number is its address: it is never pruned.
    return value === undefined || !(essential.has(key) || /^\+?\d+$/.test(key)) || (isTop && value === "");
  });
}

function specOf(object: KubeObject): unknown {
  return (object as { spec?: unknown }).spec;
}
