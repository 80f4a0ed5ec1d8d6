// Where the CNI benchmarks run: the real kube-apiserver and etcd of test/lab with everything of deploy/ that a cluster
// needs, and nobody but the service accounts of deploy/ on the measured path.
import { join } from "node:path";

import { holds, ipPools, reservations } from "../../src/cluster/resources.ts";
import { connect, type Connection } from "../../src/kube/config/connect.ts";
import { bearer, fixedCredentials } from "../../src/kube/config/credentials.ts";
import type { KubeObject } from "../../src/kube/meta.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import type { Cluster } from "../../test/lab/cluster.ts";
import { applyManifests } from "../../test/lab/holdfast/manifests.ts";
import type { Access } from "../../test/lab/rest.ts";
import { cluster } from "../../test/lab/start.ts";
import { until } from "../../test/lab/wait.ts";
import { tellState } from "../../test/ledger/told-state.ts";
import { type RequestCount, readRequestCounts } from "./request-counts.ts";

export const root = join(import.meta.dirname, "..", "..");
export const systemNamespace = "kube-system";
/** Where the pods that ask are. */
export const podNamespace = "bench";

export interface LabOptions {
  /** etcd waits for the disk at every write, as in production. */
  readonly fsync: boolean;
  readonly log: (line: string) => void;
}

export class BenchLab implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly log: (line: string) => void;
  readonly #connection: Connection;

  private constructor(started: Cluster, log: (line: string) => void) {
    this.cluster = started;
    this.log = log;
    this.#connection = connectAs(started.access, "bench-admin");
  }

  static async start({ fsync, log }: LabOptions): Promise<BenchLab> {
    const started = await cluster({ fsync, log });
    const lab = new BenchLab(started, log);
    try {
      await applyManifests(started);
      await started.kubectl(["create", "namespace", podNamespace]);
      await lab.#served();
      // Also for daemons that no leader tells anything.
      await tellState(lab.admin);
      return lab;
    } catch (error) {
      await lab[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The administrator: for what is prepared and verified, never for what is measured. */
  get admin(): KubeClient {
    return this.#connection.client;
  }

  async requestCounts(): Promise<RequestCount[]> {
    return readRequestCounts(await this.cluster.kubectl(["get", "--raw", "/metrics"]));
  }

  /** For a moment after they are established, new kinds are answered "storage is (re)initializing". */
  async #served(): Promise<void> {
    for (const kind of [ipPools, reservations, holds]) {
      await until(async () => (await this.admin.list<KubeObject>(kind, { pageSize: 1 })).items.length === 0, {
        what: `the API server to serve ${kind.plural}`,
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection[Symbol.asyncDispose]();
    await this.cluster.stop();
  }
}

export function connectAs({ url, ca, token }: Access, userAgent: string): Connection {
  const credentials = fixedCredentials(bearer(token));
  return connect({ server: url, ca, credentials, namespace: systemNamespace }, { userAgent });
}
