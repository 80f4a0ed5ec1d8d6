// Which pod a UID means.

/** The kubelet's word on its copy of a pod that it started from a file: the UID under which it, and so the CNI plugin, knows that pod. */
export const mirrorAnnotation = "kubernetes.io/config.mirror";

interface Identified {
  readonly uid?: string | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** A namesake with another UID is another pod, unless it is the mirror of the one that is meant. No UID: the name must do. */
export function isPodOf({ uid, annotations }: Identified, meant: string): boolean {
  return meant === "" || uid === meant || annotations?.[mirrorAnnotation] === meant;
}
