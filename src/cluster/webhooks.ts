// The controller's webhooks, as its features share them: the Service in front of them, and how the API server asks.
// All fail open: a cluster whose controller is away must still start and delete VMs, and the reconcilers check by the
// same rules again.

/** Of the Service in front of the controllers, and of the Secret with the certificate. */
export const webhookServiceName = "holdfast-webhook";

/** By `service`, or by `url` for a controller outside of the cluster; the controller writes the authority. */
export type ClientConfig = (path: string) => object;

export const failsOpen = { failurePolicy: "Ignore", sideEffects: "None", admissionReviewVersions: ["v1"] } as const;

export const namespacedRule = (group: string, version: string, resource: string, operations: readonly string[]) => ({
  apiGroups: [group],
  apiVersions: [version],
  resources: [resource],
  operations,
  scope: "Namespaced",
});
