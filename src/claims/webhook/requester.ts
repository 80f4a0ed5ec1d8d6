// Who asks: ourselves, the cluster's own housekeeping, or somebody whose mistakes we are here to catch. Pure.
import type { AdmissionRequest } from "../../kube/admission-review.ts";

export type Requester = Pick<AdmissionRequest, "username" | "groups">;

/** Garbage collection and the end of namespaces, with service accounts of their own or without: to refuse them would stop both. */
const housekeepers: ReadonlySet<string> = new Set([
  "system:serviceaccount:kube-system:generic-garbage-collector",
  "system:serviceaccount:kube-system:namespace-controller",
  "system:kube-controller-manager",
]);

/** `self`: the name that the API server knows this controller by. */
export function isTrusted({ username }: Requester, self: string): boolean {
  return username === self || housekeepers.has(username);
}
