// Who asks for admission, as far as it decides anything.
import type { AdmissionRequest } from "./admission-review.ts";

export type Requester = Pick<AdmissionRequest, "username" | "groups">;

/** Garbage collection and the end of namespaces, by their own service accounts or not: a refusal would stop both. */
const housekeepers: ReadonlySet<string> = new Set([
  "system:serviceaccount:kube-system:generic-garbage-collector",
  "system:serviceaccount:kube-system:namespace-controller",
  "system:kube-controller-manager",
]);

/** `self`: the name that the API server knows this controller by. */
export function isTrusted({ username }: Requester, self: string): boolean {
  return username === self || housekeepers.has(username);
}
