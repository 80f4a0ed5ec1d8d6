// Policies of the API server, for what RBAC cannot say: which part of an object an account may change.
import { labelsOf, systemNamespace } from "./place.ts";

const accountOf = (account: string) => `system:serviceaccount:${systemNamespace}:${account}`;
export const isUser = (account: string) => `request.userInfo.username == "${accountOf(account)}"`;

/** Of a service account's token: on which node its pod is. */
export const nodeClaim = "authentication.kubernetes.io/node-name";

/** With its binding. */
export function policyObjects(policyName: string, spec: object): object[] {
  const metadata = { name: policyName, labels: labelsOf("holdfast") };
  const apiVersion = "admissionregistration.k8s.io/v1";
  return [
    { apiVersion, kind: "ValidatingAdmissionPolicy", metadata, spec },
    {
      apiVersion,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: { policyName, validationActions: ["Deny"] },
    },
  ];
}

export const same = (path: string) => `object.metadata.?${path}.orValue([]) == oldObject.metadata.?${path}.orValue([])`;
export const sameLabels = "object.metadata.?labels.orValue({}) == oldObject.metadata.?labels.orValue({})";

/** Of all annotations none but these has changed, come or gone. */
export function sameAnnotationsBut(...names: readonly string[]): string {
  const isNamed = names.map((name) => `key == "${name}"`).join(" || ");
  const kept = (from: string, to: string) =>
    `${from}.metadata.?annotations.orValue({}).all(key, ${isNamed} || ${to}.metadata.?annotations[?key].orValue("") == ${from}.metadata.annotations[key])`;
  return `${kept("object", "oldObject")} && ${kept("oldObject", "object")}`;
}
