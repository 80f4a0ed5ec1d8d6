// Tells the API server which authority a webhook's certificate is signed by.
import type { KubeObject } from "../meta.ts";
import { type JsonPatchOperation, pointer } from "../patch.ts";
import { defineResource } from "../resource.ts";
import type { CallOptions, KubeClient } from "../rest.ts";
import { anew } from "../unless.ts";

interface WebhookConfiguration extends KubeObject {
  webhooks?: { name?: string; clientConfig: { caBundle?: string } }[];
}

const place = { group: "admissionregistration.k8s.io", version: "v1", namespaced: false };

export const webhookConfigurations = {
  validating: defineResource<WebhookConfiguration>({ ...place, kind: "ValidatingWebhookConfiguration" }),
  mutating: defineResource<WebhookConfiguration>({ ...place, kind: "MutatingWebhookConfiguration" }),
} as const;

const maxRounds = 5;

/** Writes the bundle (PEM) into every webhook of the configuration that lacks it. */
export async function trustAuthority(
  client: KubeClient,
  kind: keyof typeof webhookConfigurations,
  name: string,
  bundle: string,
  options: CallOptions = {},
): Promise<void> {
  const resource = webhookConfigurations[kind];
  const value = Buffer.from(bundle).toString("base64");
  await anew(maxRounds, ["conflict"], async () => {
    const { webhooks = [], metadata } = await client.get(resource, { name }, options);
    const operations = webhooks.flatMap(({ clientConfig }, i): JsonPatchOperation[] =>
      clientConfig.caBundle === value
        ? []
        : [{ op: "add", path: pointer("webhooks", i, "clientConfig", "caBundle"), value }],
    );
    if (operations.length === 0) return;
    const guard = { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion } as const;
    await client.patch(resource, { name }, { type: "json", operations: [guard, ...operations] }, options);
  });
}
