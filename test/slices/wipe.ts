// An API server as an administrator prepares it, as if unused since: before the stories, and between them.
import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource, type Resource } from "../../src/kube/resource.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { until } from "../lab/wait.ts";
import { installDefinitions } from "../ledger/definitions.ts";

const definitions = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

const everywhere = [
  kinds.networkAttachmentDefinitions,
  kinds.pods,
  kinds.nodes,
  kinds.nodeSlicePools,
  kinds.ipPools,
  kinds.reservations,
  kinds.holds,
] as readonly Resource[];
/** Beside what is ours there is what belongs to the server itself. */
const ours = [kinds.leases, kinds.configMaps] as readonly Resource[];

/** Every kind is there and served. */
export async function prepare(client: KubeClient): Promise<void> {
  await installDefinitions(client);
  await client.create(definitions, structuredClone(networkAttachmentDefinitionCrd));
  for (const resource of everywhere) {
    await until(async () => client.list(resource).then(() => true), { what: `${resource.plural} to be served` });
  }
}

export async function wipe(client: KubeClient): Promise<void> {
  for (const resource of [...everywhere, ...ours]) {
    const { items } = await client.list(resource);
    const doomed = items.filter(
      ({ metadata }) => everywhere.includes(resource) || metadata.name?.startsWith("holdfast-"),
    );
    await Promise.all(doomed.map((each) => remove(client, resource, each.metadata)));
  }
}

interface Doomed {
  readonly namespace?: string;
  readonly name?: string;
  readonly finalizers?: readonly string[];
}

async function remove(
  client: KubeClient,
  resource: Resource,
  { namespace, name = "", finalizers }: Doomed,
): Promise<void> {
  const at = namespace === undefined ? { name } : { namespace, name };
  try {
    if ((finalizers ?? []).length > 0) {
      await client.patch(resource, at, { type: "merge", body: { metadata: { finalizers: null } } });
    }
    await client.delete(resource, at, { gracePeriodSeconds: 0 });
  } catch (error) {
    if (!isApiError(error, "not-found")) throw error;
  }
}
