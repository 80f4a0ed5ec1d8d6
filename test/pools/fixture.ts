// What tests of shared pools need: a server with our kinds, and objects as kubelet, whereabouts and daemons write them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { parseAllDocuments } from "yaml";

import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import type { IPPool, PoolAllocation } from "../../src/api/pools/ip-pool.ts";
import { leaseNodeAnnotation, nodeLeaseName } from "../../src/api/slices/node-lease.ts";
import { noteOn, offAnnotation } from "../../src/cluster/fencing.ts";
import * as kinds from "../../src/cluster/resources.ts";
import type { PodOwner } from "../../src/ipam/owner.ts";
import { connect, type Connection } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { KubeObject } from "../../src/kube/meta.ts";
import { defineResource, type Resource } from "../../src/kube/resource.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { parseAddress } from "../../src/net/address.ts";
import { until } from "../conformance/api/until.ts";

export interface PoolsServer {
  /** Path of a kubeconfig whose user may do everything. */
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

const crds = defineResource({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});
const folder = join(import.meta.dirname, "..", "..", "deploy", "crds");
export const system = "kube-system";

export class Fixture {
  readonly connection: Connection;
  readonly server: PoolsServer;
  readonly client: KubeClient;
  /** Answers for a request instead of the server, while it is set. */
  fault: ((method: string, path: string) => boolean | "forbidden") | undefined;

  private constructor(server: PoolsServer, connection: Connection) {
    this.server = server;
    this.connection = connection;
    this.client = new KubeClient({ transport: (request) => this.#send(request) });
  }

  static async open(start: () => Promise<PoolsServer>): Promise<Fixture> {
    const server = await start();
    const fixture = new Fixture(server, connect(await loadKubeconfig({ path: server.kubeconfig })));
    await fixture.#install();
    return fixture;
  }

  async close(): Promise<void> {
    await this.connection[Symbol.asyncDispose]();
    await this.server.stop();
  }

  /** Nothing of an earlier test is left. */
  async clear(): Promise<void> {
    this.fault = undefined;
    const all = [
      kinds.deployments,
      kinds.pods,
      kinds.reservations,
      kinds.holds,
      kinds.ipPools,
      kinds.statefulSets,
      kinds.nodes,
    ];
    for (const resource of [...all, kinds.nodeSlicePools, kinds.networkAttachmentDefinitions] as Resource[]) {
      for (const { metadata } of (await this.client.list(resource)).items) {
        const { namespace, name = "" } = metadata;
        const at = namespace === undefined ? { name } : { namespace, name };
        if ((metadata.finalizers ?? []).length > 0) {
          const body = { metadata: { finalizers: null } };
          await this.client.patch(resource, at, { type: "merge", body }).catch(ignoreGone);
        }
        await this.client.delete(resource, at, { gracePeriodSeconds: 0 }).catch(ignoreGone);
      }
    }
    const maps = (await this.client.list(kinds.configMaps, { namespace: system })).items;
    for (const { metadata } of maps.filter(({ metadata: { name } }) => name?.startsWith("holdfast-"))) {
      await this.client.delete(kinds.configMaps, { namespace: system, name: metadata.name ?? "" }).catch(ignoreGone);
    }
    const leases = (await this.client.list(kinds.leases, { namespace: system })).items;
    for (const { metadata } of leases.filter(({ metadata: { name } }) => name?.startsWith("holdfast-node-"))) {
      await this.client.delete(kinds.leases, { namespace: system, name: metadata.name ?? "" }).catch(ignoreGone);
    }
  }

  async pod(
    namespace: string,
    name: string,
    parts: { node?: string; phase?: string; networks?: object[]; mirrorOf?: string } = {},
  ) {
    const { node = "n1", phase = "Running", networks, mirrorOf } = parts;
    const annotations = {
      ...(networks && { "k8s.v1.cni.cncf.io/network-status": JSON.stringify(networks) }),
      ...(mirrorOf !== undefined && { "kubernetes.io/config.mirror": mirrorOf }),
    };
    const made = await this.client.create(kinds.pods, {
      metadata: { namespace, name, annotations },
      spec: { nodeName: node, containers: [{ name: "c", image: "i" }], terminationGracePeriodSeconds: 0 },
    } as kinds.Pod);
    await this.phase(namespace, name, phase);
    return made.metadata.uid ?? "";
  }

  async phase(namespace: string, name: string, phase: string): Promise<void> {
    const patch = { type: "merge", body: { status: { phase } } } as const;
    await this.client.patch(kinds.pods, { namespace, name }, patch, { subresource: "status" });
  }

  /** As an administrator does it with --force: the object goes at once, whatever still runs. */
  async deletePod(namespace: string, name: string): Promise<void> {
    await this.client.delete(kinds.pods, { namespace, name }, { gracePeriodSeconds: 0 });
  }

  async node(name: string, ready: "True" | "False" | "Unknown" = "True"): Promise<void> {
    await this.client.create(kinds.nodes, { metadata: { name } }).catch((error: unknown) => {
      if (!isApiError(error, "already-exists")) throw error;
    });
    const body = { status: { conditions: [{ type: "Ready", status: ready }] } };
    await this.client.patch(kinds.nodes, { name }, { type: "merge", body }, { subresource: "status" });
  }

  async taint(name: string): Promise<void> {
    const taints = [{ key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" }];
    await this.client.patch(kinds.nodes, { name }, { type: "merge", body: { spec: { taints } } });
  }

  /** As its daemon does it once a minute. */
  async renew(node: string, authoritySeconds = 43_200): Promise<void> {
    const [namespace, name] = [system, nodeLeaseName(node)];
    const spec = { leaseDurationSeconds: authoritySeconds, renewTime: new Date().toISOString().replace("Z", "000Z") };
    const metadata = { annotations: { [leaseNodeAnnotation]: node } };
    await this.client
      .patch(kinds.leases, { namespace, name }, { type: "merge", body: { metadata, spec } })
      .catch((error: unknown) => {
        if (!isApiError(error, "not-found")) throw error;
        return this.client.create(kinds.leases, { metadata: { ...metadata, namespace, name }, spec });
      });
  }

  /** As `holdfast slices release` says it. */
  async declareOff(node: string): Promise<void> {
    const at = { namespace: system, name: nodeLeaseName(node) };
    const annotations = { [offAnnotation]: noteOn(await this.client.get(kinds.leases, at), "the test at noon") };
    await this.client.patch(kinds.leases, at, { type: "merge", body: { metadata: { annotations } } });
  }

  /** A pool as whereabouts writes it: no annotations, entries without anything of ours. */
  async whereaboutsPool(name: string, range: string, allocations: Record<string, PoolAllocation> = {}): Promise<void> {
    await this.client.create(kinds.ipPools, { metadata: { namespace: system, name }, spec: { range, allocations } });
  }

  async readPool(name: string): Promise<IPPool> {
    return (await this.client.get(kinds.ipPools, { namespace: system, name })) as IPPool;
  }

  ledger(node?: string): ReservationLedger {
    return new ReservationLedger({ client: this.client, namespace: system, now: Date.now, ...(node && { node }) });
  }

  /** A hold as a daemon writes it. */
  async hold(
    address: string,
    owner: Partial<PodOwner>,
    { node = "n1", domain = "network:", ...note }: HoldOptions = {},
  ) {
    const request = { domain, address: parseAddress(address), owner: podOwner(owner), note };
    const result = await this.ledger(node).take(request);
    if (result.outcome !== "taken") throw new Error(`${address} was ${result.outcome}`);
    return result.hold;
  }

  /** What is held, in order; cooling or gone is not. */
  async held(): Promise<string[]> {
    const scope = { labelSelector: "!holdfast.io/cooling" };
    const found = [
      ...(await this.client.list(kinds.reservations, scope)).items.map(({ metadata }) => metadata.name ?? ""),
      ...(await this.client.list(kinds.holds, scope)).items.map(({ spec }) => spec.address),
    ];
    return found.toSorted();
  }

  async #send(request: Parameters<Transport>[0]): ReturnType<Transport> {
    const fault = this.fault?.(request.method, request.path) ?? false;
    if (fault === false) return this.connection.transport(request);
    const code = fault === "forbidden" ? 403 : 503;
    const reason = fault === "forbidden" ? "Forbidden" : "ServiceUnavailable";
    const status = { kind: "Status", status: "Failure", code, reason, message: "injected" };
    const body = [new TextEncoder().encode(JSON.stringify(status))];
    return {
      status: code,
      headers: { "content-type": "application/json" },
      body: (async function* () {
        yield* body;
      })(),
    };
  }

  async #install(): Promise<void> {
    const documents = readdirSync(folder).flatMap((file) =>
      parseAllDocuments(readFileSync(join(folder, file), "utf8")),
    );
    const manifests = documents.map((each) => each.toJS() as KubeObject);
    const definitions = manifests.filter(({ kind }) => kind === "CustomResourceDefinition");
    for (const each of [...definitions, networkAttachmentDefinitionCrd as unknown as KubeObject]) {
      await this.client.create(crds, structuredClone(each));
    }
    for (const namespace of [system, "default", "shop"]) {
      await this.client.create(kinds.namespaces, { metadata: { name: namespace } }).catch((error: unknown) => {
        if (!isApiError(error, "already-exists")) throw error;
      });
    }
    for (const resource of [
      kinds.ipPools,
      kinds.reservations,
      kinds.holds,
      kinds.nodeSlicePools,
      kinds.networkAttachmentDefinitions,
    ] as Resource[]) {
      await until(`${resource.plural} is served`, async () =>
        this.client.list(resource).then(
          () => true,
          () => false,
        ),
      );
    }
  }
}

interface HoldOptions {
  readonly node?: string;
  readonly domain?: string;
  readonly pool?: string;
  readonly keeper?: string;
  readonly why?: string;
}

export function podOwner(parts: Partial<PodOwner>): PodOwner {
  return { kind: "pod", uid: "", namespace: "shop", name: "web", interface: "net1", ...parts };
}

function ignoreGone(error: unknown): undefined {
  if (!isApiError(error, "not-found", "conflict")) throw error;
}
