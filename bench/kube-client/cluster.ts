// Prepares the server for the benchmark: the kind, the namespaces, and the objects that informers sync.
import { connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { holds } from "./ours.ts";
import { createsNamespace, group, hold, informerNamespace, kind, plural, version } from "./workload.ts";

const crds = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});
const namespaces = defineResource<AnyObject>({
  group: "",
  version: "v1",
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
});

/** As many at once as the server takes without queueing; seeding is not measured. */
const seeders = 32;

export async function prepare(objects: number, log: (line: string) => void): Promise<void> {
  await using connection = connect(await loadKubeconfig());
  const { client } = connection;
  await ensure(() => client.create(crds, definition()));
  for (const name of [createsNamespace, informerNamespace])
    await ensure(() => client.create(namespaces, { metadata: { name } }));
  await established(client);
  const { items } = await client.list(holds, { namespace: informerNamespace });
  if (items.length > objects)
    await client.deleteCollection(holds, { namespace: informerNamespace }, { timeoutMs: 600_000 });
  let next = items.length > objects ? 0 : items.length;
  log(`seeding ${objects - next} objects`);
  const seeder = async () => {
    for (let i = next++; i < objects; i = next++) {
      await ensure(() => client.create(holds, hold(informerNamespace, `o-${i}`, i)));
    }
  };
  await Promise.all(Array.from({ length: seeders }, seeder));
}

export async function clearCreates(): Promise<void> {
  await using connection = connect(await loadKubeconfig());
  await connection.client.deleteCollection(holds, { namespace: createsNamespace }, { timeoutMs: 600_000 });
}

async function ensure(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!isApiError(error, "already-exists")) throw error;
  }
}

async function established(client: KubeClient): Promise<void> {
  for (let i = 0; i < 300; i++) {
    try {
      await client.list(holds, { namespace: createsNamespace, pageSize: 1 });
      return;
    } catch (error) {
      if (!isApiError(error, "not-found")) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  throw new Error(`The server did not begin to serve ${plural}.${group} within 30 s.`);
}

function definition(): AnyObject {
  const text = { type: "string" };
  const owner = { type: "object", properties: { namespace: text, pod: text, uid: text } };
  const spec = { type: "object", properties: { address: text, pool: text, owner } };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
  return {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
}
