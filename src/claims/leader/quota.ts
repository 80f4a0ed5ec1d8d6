// How many claims a namespace may have: holdfast.io/max-claims, kept by the reconciler and by the webhook, if
// installed. Promised: the limit takes no existing claim away. Not promised: an exact limit for parallel creates by
// hand: the webhook counts before each create, and two that are counted at the same moment both pass.
import { maxClaimsAnnotation } from "../../api/claims/claim-marks.ts";
import { namespaces } from "../../cluster/resources.ts";
import type { KubeObject } from "../../kube/meta.ts";
import type { KubeClient } from "../../kube/rest.ts";

/** Undefined: no limit. One that cannot be read is none: refusing every VM of the namespace would be worse. */
export function claimLimit(annotations: Readonly<Record<string, string>> | undefined): number | undefined {
  return countIn(annotations, maxClaimsAnnotation);
}

/** Undefined: it is not there, or no number. */
export function countIn(annotations: Readonly<Record<string, string>> = {}, name: string): number | undefined {
  const text = annotations[name] ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** How many more; undefined: any number. A claim that is being deleted still holds its addresses, and counts. */
export function claimsLeft(limit: number | undefined, count: number): number | undefined {
  return limit === undefined ? undefined : Math.max(0, limit - count);
}

export function describeQuota(namespace: string, limit: number, count: number): string {
  return (
    `namespace ${namespace} may have ${limit} claims (annotation ${maxClaimsAnnotation}) and has ${count}: ` +
    "delete VMs or claims there, or raise the limit."
  );
}

export interface NamespaceFacts {
  /** Of claims; undefined: any number. */
  readonly limit: number | undefined;
  /** It is being deleted, or gone: nothing can be made in it. */
  readonly isTerminating: boolean;
}

interface StoredNamespace extends KubeObject {
  status?: { phase?: string };
}

export async function readNamespace(client: KubeClient, name: string, signal: AbortSignal): Promise<NamespaceFacts> {
  const found: StoredNamespace | undefined = await client.lookUp(namespaces, { name }, { signal });
  if (found === undefined) return { limit: undefined, isTerminating: true };
  const { metadata, status } = found;
  const isTerminating = metadata.deletionTimestamp !== undefined || status?.phase === "Terminating";
  return { limit: claimLimit(metadata.annotations), isTerminating };
}
