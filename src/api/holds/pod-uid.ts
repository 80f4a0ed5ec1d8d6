// Which pod a UID means, and whether the API server can be asked for it.

import type { ReadMetadata } from "../metadata.ts";

/** On the kubelet's copy of a pod that it started from a file: the UID under which it, and the CNI plugin, knows it. */
export const mirrorAnnotation = "kubernetes.io/config.mirror";

/** A namesake with another UID is another pod, unless it is the mirror of the one meant. No UID: the name must do. */
export function isPodOf({ uid, annotations }: Pick<ReadMetadata, "uid" | "annotations">, meant: string): boolean {
  return meant === "" || uid === meant || annotations?.[mirrorAnnotation] === meant;
}

/**
 * A kubelet names the pods that it starts from files by a hash of the file; the API server's UIDs have dashes. Such a
 * pod may run long before its mirror is in the API, or without one (admission refuses it): its absence proves nothing.
 */
export function mayLackMirror(pod: { mirrorOf?: string | undefined } | undefined, { uid }: { uid: string }): boolean {
  return /^[0-9a-f]{32}$/.test(uid) && pod?.mirrorOf === undefined;
}

/**
 * No API server can be asked for it: a container of a node's own runtime, as podman, whose namespace is `node.NAME`
 * (src/cni/invocation.ts), or a record of others without a namespace. No namespace of Kubernetes has a dot.
 */
export function isOffServer({ namespace }: { readonly namespace: string }): boolean {
  return namespace === "" || namespace.includes(".");
}
