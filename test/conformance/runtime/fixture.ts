// What the tests of the suite share: the server, a client of it, and a namespace for each.
import { connect, type Connection } from "../../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../../src/kube/config/kubeconfig.ts";
import type { KubeObject } from "../../../src/kube/meta.ts";
import { defineResource } from "../../../src/kube/resource.ts";
import type { KubeClient } from "../../../src/kube/rest.ts";

export interface RuntimeServer {
  /** Path of a kubeconfig whose user may do everything. */
  readonly kubeconfig: string;
  /** Stops the API server and starts it again on the same data; resolves when it answers. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  /** Makes the server forget old versions, so that a watch from one is answered 410. If left out, a restart does. */
  compact?(): Promise<void>;
  /** Where the server reaches this process. */
  readonly webhookHost?: string;
}

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

export const configMaps = defineResource<ConfigMap>({
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
});
export const namespaces = defineResource({
  group: "",
  version: "v1",
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
});

/** A server that starts, on a busy machine. */
export const patient = { timeout: 60_000, interval: 50 };

export function map(namespace: string, name: string, value = "1"): ConfigMap {
  return { metadata: { namespace, name }, data: { value } };
}

/** Opened before the tests and closed after them; the getters are for inside of tests. */
export class Fixture {
  #open: { readonly server: RuntimeServer; readonly connection: Connection } | undefined;
  #spaces = 0;

  async open(start: () => Promise<RuntimeServer>): Promise<void> {
    const server = await start();
    this.#open = { server, connection: connect(await loadKubeconfig({ path: server.kubeconfig })) };
  }

  async close(): Promise<void> {
    await this.#open?.connection[Symbol.asyncDispose]();
    await this.#open?.server.stop();
  }

  get server(): RuntimeServer {
    return this.#opened().server;
  }

  get connection(): Connection {
    return this.#opened().connection;
  }

  get client(): KubeClient {
    return this.connection.client;
  }

  /** A namespace of the test's own. */
  async space(labels: Record<string, string> = {}): Promise<string> {
    const name = `runtime-${process.pid}-${Date.now()}-${this.#spaces++}`;
    await this.client.create(namespaces, { metadata: { name, labels } });
    return name;
  }

  #opened() {
    if (this.#open === undefined) throw new Error("The server is not started yet: use the world inside of tests only.");
    return this.#open;
  }
}
