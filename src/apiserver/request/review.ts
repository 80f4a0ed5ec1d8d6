// Reviews: may somebody do something, who am I. Whoever holds the token may do everything; so the answer is always yes.
import { dig, digObject, type JsonObject } from "../json.ts";
import { fieldError, invalid } from "../status.ts";
import type { User } from "./context.ts";

export function review(kind: string, apiVersion: string, body: JsonObject, user: User): JsonObject {
  const isAccess = kind.endsWith("AccessReview");
  if (
    isAccess &&
    (dig(body, "spec", "resourceAttributes") === undefined) ===
      (dig(body, "spec", "nonResourceAttributes") === undefined)
  ) {
    const rule = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    const subject = { group: "authorization.k8s.io", kind, plural: `${kind.toLowerCase()}s` };
    throw invalid(subject, "", [
      fieldError.invalid("spec.resourceAttributes", dig(body, "spec", "resourceAttributes"), rule),
    ]);
  }
  const metadata = digObject(body, "metadata");
  const head = { kind, apiVersion, metadata: { ...metadata, creationTimestamp: null } };
  const userInfo = { username: user.username, groups: [...user.groups] };
  switch (kind) {
    case "SelfSubjectReview":
      return { ...head, status: { userInfo } };
    case "TokenReview":
      return {
        ...head,
        spec: digObject(body, "spec"),
        status: { authenticated: false, error: "tokens are not reviewed by this server" },
      };
    case "SelfSubjectRulesReview":
      return {
        ...head,
        spec: digObject(body, "spec"),
        status: {
          resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
          nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
          incomplete: false,
        },
      };
    default:
      return {
        ...head,
        spec: digObject(body, "spec"),
        status: { allowed: true, reason: "the holder of the token may do everything" },
      };
  }
}
