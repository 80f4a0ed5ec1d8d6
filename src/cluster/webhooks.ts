// The controller's webhooks, as its features and the manifests share them: the Service in front of them, and which
// configuration leads to which path. tools/generate/deploy/webhook-configurations.ts has the configurations.

/** Of the Service in front of the controllers, and of the Secret with the certificate. */
export const webhookServiceName = "holdfast-webhook";

export const claimsWebhooks = {
  configuration: "holdfast-claims",
  launcher: "/launcher-pods",
  claim: "/ipamclaims",
} as const;

export const vmnetWebhooks = {
  configuration: "holdfast-vmnet",
  poolDefaults: "/managed-pool-defaults",
  pool: "/managed-pools",
  networkConfig: "/network-configs",
  definition: "/vm-networks",
} as const;
