// Whether an object of ours is still as it was written. Pure. The server adds defaults, and others may add fields:
// what we say must be there with our value, and lists must have as many items. A hash tells what we said before and
// say no more.
import type { DeepReadonly, KubeObject } from "../../kube/meta.ts";
import { agentOfAnnotation, agentSpecAnnotation } from "./names.ts";

type Written = KubeObject & { spec: unknown };

export function hasDrifted(found: DeepReadonly<Written>, wanted: Written): boolean {
  const { labels, annotations } = found.metadata;
  const isSameSpec = annotations?.[agentSpecAnnotation] === wanted.metadata.annotations?.[agentSpecAnnotation];
  return !isSameSpec || !covers(labels, wanted.metadata.labels) || !covers(found.spec, wanted.spec);
}

/** It carries our mark for the same pool: a Deployment of somebody else under our name is left alone. */
export function isOwn(found: DeepReadonly<KubeObject>, wanted: KubeObject): boolean {
  return found.metadata.annotations?.[agentOfAnnotation] === wanted.metadata.annotations?.[agentOfAnnotation];
}

/** The object to write in place of the one that is there: our spec, and the labels and annotations of both. */
export function repaired<T extends Written>(found: DeepReadonly<T>, wanted: T): T {
  const { metadata } = found as T;
  const labels = { ...metadata.labels, ...wanted.metadata.labels };
  const annotations = { ...metadata.annotations, ...wanted.metadata.annotations };
  return { ...wanted, metadata: { ...metadata, labels, annotations } };
}

function covers(found: unknown, wanted: unknown): boolean {
  if (wanted === undefined || found === wanted) return true;
  if (typeof found !== "object" || typeof wanted !== "object" || found === null || wanted === null) return false;
  if (Array.isArray(wanted))
    return (
      Array.isArray(found) &&
      found.length === wanted.length &&
      wanted.every((each: unknown, index) => covers(found[index], each))
    );
  return Object.entries(wanted).every(([key, value]) => covers((found as Record<string, unknown>)[key], value));
}
