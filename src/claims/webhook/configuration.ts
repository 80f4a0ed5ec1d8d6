// Our webhooks as the API server knows them: which requests, how long to wait, and that it goes on without us. Pure.
// Both fail open. The reference helps CNIs that read nothing else; our daemon finds a claim without it. Finalizers and
// the reconciler back up what validation refuses. A cluster whose controller is away must still start and delete VMs.
import { launcherLabelName, launcherValue } from "../../api/claims/kubevirt.ts";
import { type ClientConfig, failsOpen, namespacedRule } from "../../cluster/webhooks.ts";

export const configurationName = "holdfast-claims";
export const paths = { launcher: "/launcher-pods", claim: "/ipamclaims" } as const;

/** A pod waits for it, so it is short: some reads of a few milliseconds each. The server answers a second before. */
const launcherTimeoutSeconds = 3;
/** A person waits for it; an unknown network costs a list of all definitions. */
const claimTimeoutSeconds = 5;

export function mutatingConfiguration(clientConfig: ClientConfig, metadata: object = {}): object {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: configurationName, ...metadata },
    webhooks: [
      {
        name: "launcher-pods.claims.holdfast.io",
        clientConfig: clientConfig(paths.launcher),
        rules: [namespacedRule("", "v1", "pods", ["CREATE", "UPDATE"])], // UPDATE: a NIC plugged into a running VM
        objectSelector: { matchLabels: { [launcherLabelName]: launcherValue } },
        timeoutSeconds: launcherTimeoutSeconds,
        ...failsOpen,
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
        rules: [namespacedRule("k8s.cni.cncf.io", "v1alpha1", "ipamclaims", ["CREATE", "UPDATE", "DELETE"])],
        timeoutSeconds: claimTimeoutSeconds,
        ...failsOpen,
      },
    ],
  };
}
