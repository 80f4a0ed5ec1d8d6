// A real Kubernetes for a test: `await using lab = await cluster({ nodes: 3 })`.
//
// Without nodes it is etcd, the API server and garbage collection on loopback, up in about 4 s. With nodes it is the
// whole of it, in a network namespace of its own; the API server is then reached through a relay on loopback. Several
// clusters run side by side. Promised: nothing of it is left after stop(), nor after the death of this process once the
// next cluster has started. Not promised: durability of etcd against a power cut, unless `fsync` is asked for.
import { join } from "node:path";

import type { KubeBinaries } from "../../tools/kube/build.ts";
import { type ClientPlan, type LabClient, makeClient } from "./client.ts";
import { run } from "./command.ts";
import { Component, type ComponentPlan } from "./component.ts";
import { writeKubeconfig } from "./credentials.ts";
import { compact } from "./etcd.ts";
import { apiAddressForNodes, bridgeAddress, type LabNetwork } from "./network.ts";
import type { LabNode } from "./node.ts";
import { removeCluster } from "./reaper.ts";
import { type Endpoint, relayOutOf } from "./relay.ts";
import type { Access, Rest } from "./rest.ts";
import type { SandboxRetries } from "./retries.ts";
import type { StateFile } from "./state.ts";

export interface ClusterParts {
  readonly state: StateFile;
  readonly binaries: KubeBinaries;
  readonly access: Access;
  readonly rest: Rest;
  readonly etcd: Component;
  readonly apiserver: Component;
  readonly controllerManager: Component;
  readonly scheduler?: Component;
  readonly network?: LabNetwork;
  readonly nodes: readonly LabNode[];
  readonly retries?: SandboxRetries;
}

export class Cluster {
  /** Unique on this machine; also the folder's name. */
  readonly name: string;
  /** Logs, certificates, etcd's data: gone after stop(). */
  readonly folder: string;
  /** The administrator's way in: url, CA, token. */
  readonly access: Access;
  /** The administrator's kubeconfig, a file. */
  readonly kubeconfig: string;
  readonly rest: Rest;
  readonly etcd: Component;
  readonly apiserver: Component;
  readonly controllerManager: Component;
  /** Only where there are nodes. */
  readonly scheduler: Component | undefined;
  readonly nodes: readonly LabNode[];
  readonly #parts: ClusterParts;
  #stopping: Promise<void> | undefined;

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    this.name = parts.state.state.name;
    this.folder = parts.state.folder;
    this.access = parts.access;
    this.kubeconfig = writeKubeconfig(join(this.folder, "admin.kubeconfig"), parts.access);
    this.rest = parts.rest;
    this.etcd = parts.etcd;
    this.apiserver = parts.apiserver;
    this.controllerManager = parts.controllerManager;
    this.scheduler = parts.scheduler;
    this.nodes = parts.nodes;
  }

  /** The pid whose network namespace the cluster lives in; undefined when it lives on loopback. */
  get networkPid(): number | undefined {
    return this.#parts.network?.holderPid;
  }

  get binaries(): KubeBinaries {
    return this.#parts.binaries;
  }

  /** How nodes reach the API server; where there are none, as everyone does. */
  get serverForNodes(): Omit<Access, "token"> {
    const { ca, url } = this.access;
    return { ca, url: this.#parts.network === undefined ? url : apiAddressForNodes };
  }

  /** A client with these rights and no others. */
  clientFor(plan: ClientPlan): Promise<LabClient> {
    return makeClient(this.rest, this.access, this.folder, plan);
  }

  /** Another program of this cluster: recorded, so that it ends with it. Whoever asks for it starts it. */
  component(plan: ComponentPlan): Component {
    return new Component(plan, this.#parts.state);
  }

  /** kubectl as the administrator: its standard output, or an error with its words. */
  kubectl(
    args: readonly string[],
    options: { input?: string; kubeconfig?: string; signal?: AbortSignal } = {},
  ): Promise<string> {
    const { kubeconfig = this.kubeconfig, ...rest } = options;
    return run([this.#parts.binaries.path("kubectl"), `--kubeconfig=${kubeconfig}`, ...args], rest);
  }

  /** Makes etcd forget all history up to now. The API server learns of it a moment later; after a restart at once. */
  compact(): Promise<void> {
    return compact(this.folder);
  }

  /**
   * Lets the API server and the nodes reach a port that this process serves on 127.0.0.1, a webhook say, at the address
   * returned. Without nodes they share loopback, and nothing needs to be done.
   */
  async expose(port: number): Promise<Endpoint> {
    const { network, state } = this.#parts;
    if (network === undefined) return { host: "127.0.0.1", port };
    return relayOutOf(network.place, bridgeAddress, { host: "127.0.0.1", port }, state);
  }

  /** Ends every process and removes everything; calling it again waits for the same end. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const retriesEnd = this.#parts.retries?.stop();
    this.rest.close();
    await retriesEnd;
    await removeCluster(this.#parts.state.state);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
