// The peer: @kubernetes/client-node, used as its documentation shows.
import { CustomObjectsApi, KubeConfig, type KubernetesObject, makeInformer } from "@kubernetes/client-node";

import { type Contestant, group, plural, version } from "./workload.ts";

export async function peer(): Promise<Contestant> {
  const config = new KubeConfig();
  config.loadFromDefault();
  const api = config.makeApiClient(CustomObjectsApi);
  let stop: (() => Promise<void>) | undefined;
  return {
    create: (body) =>
      api.createNamespacedCustomObject({ group, version, plural, namespace: body.metadata.namespace, body }),
    async sync(namespace, objects) {
      const list = () =>
        api.listNamespacedCustomObject({ group, version, plural, namespace }) as Promise<{ items: KubernetesObject[] }>;
      const path = `/apis/${group}/${version}/namespaces/${namespace}/${plural}`;
      const informer = makeInformer(config, path, list as never);
      const failed = new Promise<never>((_resolve, reject) => informer.on("error", reject));
      stop = () => informer.stop();
      await Promise.race([informer.start(), failed]);
      // It says nothing when it is synced: its cache is asked until it is whole.
      while (informer.list().length < objects)
        await Promise.race([new Promise((resolve) => setTimeout(resolve, 5)), failed]);
      return informer;
    },
    close: async () => stop?.(),
  };
}
