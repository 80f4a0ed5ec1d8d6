// deploy/webhooks.yaml: the optional webhooks. Rights, an empty Secret for the certificate, a Service in front of the
// controllers, and the configurations of claims and of managed DHCP. The controllers serve them with --webhook-port
// (docs/install.md).
import { webhookServiceName } from "../../../src/cluster/webhooks.ts";
import { controllerName, labelsOf, selectorOf, systemNamespace, webhookPort } from "./place.ts";
import { webhookRightsObjects } from "./rights.ts";
import { claimsConfigurations, vmnetConfigurations } from "./webhook-configurations.ts";

export function webhookObjects(): object[] {
  const labels = labelsOf(webhookServiceName);
  const metadata = { name: webhookServiceName, namespace: systemNamespace, labels };
  const clientConfig = (path: string) => ({
    service: { name: webhookServiceName, namespace: systemNamespace, path, port: 443 },
  });
  return [
    ...webhookRightsObjects(),
    // Filled by the controller. Made here, so that it needs no right to make Secrets.
    { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque" },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: {
        selector: selectorOf(controllerName),
        ports: [{ name: "webhooks", port: 443, targetPort: webhookPort, protocol: "TCP" }],
      },
    },
    ...Object.values(claimsConfigurations(clientConfig, { labels })),
    ...Object.values(vmnetConfigurations(clientConfig, { labels })),
  ];
}
