// Our webhooks as the API server knows them: which requests, how long to wait, and that it goes on without us. Pure.
// Both fail open. The reference helps CNIs that read nothing else; our daemon finds a claim without it. Finalizers and
// the reconciler back up what validation refuses. A cluster whose controller is away must still start and delete VMs.
import { launcherLabelName, launcherValue } from "../../api/claims/kubevirt.ts";

export const configurationName = "holdfast-claims";
/** Of the Service in front of the controllers, and of the Secret with the certificate. */
export const webhookServiceName = "holdfast-webhook";

export const paths = { launcher: "/launcher-pods", claim: "/ipamclaims" } as const;

/** A pod waits for it, so it is short: some reads of a few milliseconds each. The server answers a second before. */
const launcherTimeoutSeconds = 3;
/** A person waits for it; an unknown network costs a list of all definitions. */
const claimTimeoutSeconds = 5;

/** By `service`, or by `url` for a controller outside of the cluster; the controller writes the authority. */
export type ClientConfig = (path: string) => object;

export function mutatingConfiguration(clientConfig: ClientConfig, metadata: object = {}): object {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: configurationName, ...metadata },
    webhooks: [
      {
        name: "launcher-pods.claims.holdfast.io",
        clientConfig: clientConfig(paths.launcher),
        rules: [rule("", "v1", "pods", ["CREATE", "UPDATE"])], // UPDATE: a NIC that is plugged into a running VM
        objectSelector: { matchLabels: { [launcherLabelName]: launcherValue } },
        timeoutSeconds: launcherTimeoutSeconds,
        ...common,
        reinvocationPolicy: "IfNeeded", // another webhook may write the networks after us
      },
    ],
  };
}

export function validatingConfiguration(clientConfig: ClientConfig, metadata: object = {}): object {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: configurationName, ...metadata },
    webhooks: [
      {
        name: "ipamclaims.claims.holdfast.io",
        clientConfig: clientConfig(paths.claim),
        rules: [rule("k8s.cni.cncf.io", "v1alpha1", "ipamclaims", ["CREATE", "UPDATE", "DELETE"])],
        timeoutSeconds: claimTimeoutSeconds,
        ...common,
      },
    ],
  };
}

const common = { failurePolicy: "Ignore", sideEffects: "None", admissionReviewVersions: ["v1"] } as const;

const rule = (group: string, version: string, resource: string, operations: readonly string[]) => ({
  apiGroups: [group],
  apiVersions: [version],
  resources: [resource],
  operations,
  scope: "Namespaced",
});
