// deploy/webhooks.yaml in the lab, where the controller is a program on the machine and no kube-proxy leads from a
// Service to it: the Service names the place where the API server reaches it; everything else is as shipped.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { parseAllDocuments } from "yaml";

import type { Cluster } from "../lab/cluster.ts";
import { freePort } from "../lab/port.ts";

const file = join(import.meta.dirname, "..", "..", "deploy", "webhooks.yaml");

interface Manifest {
  readonly kind: string;
  readonly webhooks?: readonly { readonly clientConfig: { readonly service: object } }[];
}

/** What the controller is to be started with. */
export async function applyWebhooks(lab: Cluster): Promise<readonly string[]> {
  const local = await freePort();
  const { host, port } = await lab.expose(local);
  const items = parseAllDocuments(readFileSync(file, "utf8")).map((document) => {
    const manifest = document.toJS() as Manifest;
    if (manifest.kind === "Service") return { ...manifest, spec: { type: "ExternalName", externalName: host } };
    const webhooks = manifest.webhooks?.map((each) => {
      const service = { ...each.clientConfig.service, port };
      return { ...each, clientConfig: { ...each.clientConfig, service } };
    });
    return { ...manifest, ...(webhooks && { webhooks }) };
  });
  await lab.kubectl(["apply", "-f", "-"], { input: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
  return [`--webhook-port=${local}`];
}
