// deploy/webhooks.yaml: the optional webhooks. Rights, an empty Secret for the certificate, a Service in front of the
// controllers, and the configurations of claims and of managed DHCP. The controllers serve them with --webhook-port
// (docs/install.md).
import * as claims from "../../../src/claims/webhook/configuration.ts";
import { webhookServiceName } from "../../../src/cluster/webhooks.ts";
import * as vmnet from "../../../src/vmnet/webhook/configuration.ts";
import { controllerName, labelsOf, selectorOf, systemNamespace, webhookPort } from "./place.ts";
import { webhookRightsObjects } from "./rights.ts";

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
    ...[claims, vmnet].flatMap(({ mutatingConfiguration, validatingConfiguration }) => [
      mutatingConfiguration(clientConfig, { labels }),
      validatingConfiguration(clientConfig, { labels }),
    ]),
  ];
}
