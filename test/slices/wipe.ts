// An API server as if nobody had ever used it, but for the definitions of kinds: between two stories on one server.
import { isApiError } from "../../src/kube/errors.ts";
import type { Resource } from "../../src/kube/resource.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import * as kinds from "../../src/ledger/resources.ts";
import { nodeSlicePools } from "./books.ts";

const everywhere = [
  kinds.networkAttachmentDefinitions,
  kinds.pods,
  kinds.nodes,
  nodeSlicePools,
  kinds.ipPools,
  kinds.reservations,
  kinds.holds,
] as readonly Resource[];
/** Beside what is ours there is what belongs to the server itself. */
const ours = [kinds.leases, kinds.configMaps] as readonly Resource[];

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
