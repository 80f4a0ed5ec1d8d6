// Whether an object in the cluster is the one that was meant. A server whose definition lacks one of our fields prunes
// it, and a server adds metadata: the object must agree with what was meant, and may lack what cannot be stored.
import { isDeepStrictEqual } from "node:util";

import { isObject } from "../../cni/json.ts";
import type { KubeObject } from "../../kube/meta.ts";

/** `there` is `wanted` as a server may have stored it: names, labels, annotations and spec. Status is nobody's word. */
export function isStored(wanted: KubeObject, there: KubeObject): boolean {
  const marks = (object: KubeObject) => [object.metadata.labels ?? {}, object.metadata.annotations ?? {}];
  return isDeepStrictEqual(marks(wanted), marks(there)) && hasSameContent(wanted, there);
}

/** The same content, whatever a status or a mark says: who has which address. */
export function hasSameContent(wanted: KubeObject, there: KubeObject): boolean {
  const specOf = (object: KubeObject) => (object as { spec?: unknown }).spec;
  return isPruned(specOf(wanted), specOf(there), true);
}

/** Fields without which the object says something else; an allocation's number is its address. */
const essential = /^(range|allocations|podref|ifname|id|domain|address|owner|\+?\d+)$/;

function isPruned(wanted: unknown, there: unknown, isTop: boolean): boolean {
  if (!isObject(wanted) || !isObject(there)) return isDeepStrictEqual(wanted, there);
  if (Object.keys(there).some((key) => !Object.hasOwn(wanted, key))) return false;
  return Object.entries(wanted).every(([key, value]) => {
    if (Object.hasOwn(there, key)) return isPruned(value, there[key], false);
    return value === undefined || !essential.test(key) || (isTop && value === "");
  });
}
