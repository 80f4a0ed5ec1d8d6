// Reviews: may somebody do something, who am I. Whoever holds the token may do everything; so the answer is always yes.
import { digObject, type JsonObject } from "../json.ts";
import { fieldError, invalid } from "../status.ts";
import type { User } from "./context.ts";

export function review(kind: string, apiVersion: string, body: JsonObject, user: User): JsonObject {
  const isAccess = kind.endsWith("AccessReview");
  const { resourceAttributes, nonResourceAttributes } = digObject(body, "spec");
  if (isAccess && (resourceAttributes === undefined) === (nonResourceAttributes === undefined)) {
    const rule = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    const subject = { group: "authorization.k8s.io", kind, plural: `${kind.toLowerCase()}s` };
    throw invalid(subject, "", [fieldError.invalid("spec.resourceAttributes", resourceAttributes, rule)]);
  }
  const metadata = digObject(body, "metadata");
  const head = { kind, apiVersion, metadata: { ...metadata, creationTimestamp: null } };
  const userInfo = { username: user.username, groups: [...user.groups] };
  if (kind === "SelfSubjectReview") return { ...head, status: { userInfo } };
  const status = statuses[kind] ?? { allowed: true, reason: "the holder of the token may do everything" };
  return { ...head, spec: digObject(body, "spec"), status };
}

/** Key: kind. */
const statuses: Readonly<Record<string, JsonObject>> = {
  TokenReview: { authenticated: false, error: "tokens are not reviewed by this server" },
  SelfSubjectRulesReview: {
    resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    incomplete: false,
  },
};
