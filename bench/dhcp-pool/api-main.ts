// The embedded API in a process of its own, with our kinds; it writes bindings when its parent asks: by fork alone.
import { definitionOf } from "../../src/api/definition.ts";
import { kinds, managedDhcpKinds } from "../../src/api/kinds.ts";
import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import { openApi } from "../../src/apiserver/api.ts";
import { serve } from "../../src/apiserver/serve/server.ts";
import type { KubeObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { ApiMessage } from "./api.ts";
import { seed, type SeedPlan } from "./seeding.ts";

const definitions = defineResource({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

const [path = "", kubeconfigPath = ""] = process.argv.slice(2);
const api = openApi({ path });
const client = new KubeClient({ transport: api.transport });
const tell = (message: ApiMessage) => process.send?.(message);

for (const crd of [networkAttachmentDefinitionCrd, ...[...kinds, ...managedDhcpKinds].map(definitionOf)]) {
  const body = structuredClone(crd) as unknown as KubeObject;
  const patch = { type: "apply", body, force: true } as const;
  await client.patch(definitions, { name: body.metadata.name ?? "" }, patch, { fieldManager: "dhcp-pool" });
}
await api.settled();
await serve(api, { kubeconfigPath });
process.on("message", (plan: SeedPlan) => {
  seed(client, plan).then(
    () => tell({ said: "seeded" }),
    (error: unknown) => tell({ said: "failed", why: error instanceof Error ? error.message : String(error) }),
  );
});
process.once("disconnect", () => process.exit(0));
tell({ said: "ready" });
