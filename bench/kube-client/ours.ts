// Ours: src/kube.
import { Informer } from "../../src/kube/cache/informer.ts";
import { connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { type Contestant, group, kind, plural, version } from "./workload.ts";

export const holds = defineResource<AnyObject>({ group, version, plural, kind, namespaced: true });

export async function ours(): Promise<Contestant> {
  const connection = connect(await loadKubeconfig());
  const stop = new AbortController();
  return {
    create: (object) => connection.client.create(holds, object),
    async sync(namespace, objects) {
      const informer = new Informer({ client: connection.client, resource: holds, scope: { namespace } });
      void informer.run(stop.signal);
      await informer.synced(AbortSignal.timeout(600_000));
      if (informer.cache.size < objects) throw new Error(`Synced ${informer.cache.size} of ${objects} objects.`);
      return informer;
    },
    async close() {
      stop.abort();
      await connection[Symbol.asyncDispose]();
    },
  };
}
