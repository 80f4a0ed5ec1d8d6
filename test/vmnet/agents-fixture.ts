// What the tests of the reconciler of agents stand on: the embedded API server with the kinds of managed DHCP, and
// reconcilers that can be started and stopped. Nobody runs Deployments there: pods are played.
import { definitionOf } from "../../src/api/definition.ts";
import { managedDhcpKinds } from "../../src/api/kinds.ts";
import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import { serverIdentity, serverLeaseName } from "../../src/api/vmnet/marks.ts";
import { DefinitionInformer } from "../../src/cluster/definition-informer.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { Informer } from "../../src/kube/cache/informer.ts";
import { realClock } from "../../src/kube/clock.ts";
import { EventRecorder } from "../../src/kube/events/events.ts";
import type { AnyObject, KubeObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { silent } from "../../src/log/log.ts";
import { agentName } from "../../src/vmnet/agents/names.ts";
import { type AgentDeployment, agentBudgets, agentDeployments, agentPods } from "../../src/vmnet/agents/objects.ts";
import { AgentsReconciler } from "../../src/vmnet/agents/reconciler.ts";
import { until } from "../lab/wait.ts";
import type { Server } from "../node/fixture.ts";

export const system = "kube-system";
export const shop = "shop";
export const image = "localhost/holdfast:1";

const crds = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});
const events = defineResource<KubeObject & { reason: string; message: string; involvedObject: { name: string } }>({
  group: "",
  version: "v1",
  kind: "Event",
  namespaced: true,
});

export class Running {
  readonly agents: AgentsReconciler;
  /** Pools that a listener was told of. */
  readonly told: string[] = [];
  /** Of every call. */
  readonly paths: string[] = [];
  readonly #stop = new AbortController();
  readonly #ended: Promise<unknown>;

  constructor({ transport }: Server, options: { readonly image?: string } = {}) {
    const watched: Transport = (request) => {
      this.paths.push(request.path);
      return transport(request);
    };
    const client = new KubeClient({ transport: watched });
    const onError = () => {};
    const common = { client, clock: realClock, onError };
    const nodes = new Informer({ ...common, resource: kinds.nodes });
    const leases = new Informer({ ...common, resource: kinds.leases, scope: { namespace: system } });
    const definitions = new DefinitionInformer(common);
    const recorder = new EventRecorder({ client, component: "test", instance: "test", clock: realClock });
    this.agents = new AgentsReconciler({
      ...common,
      log: silent,
      systemNamespace: system,
      nodes,
      leases,
      definitions,
      retryMs: 20,
      events: recorder,
      image: options.image ?? image,
    });
    const { signal } = this.#stop;
    this.agents.follow((key) => this.told.push(key), signal);
    this.#ended = Promise.all([
      ...[nodes, leases].map((each) => each.run(signal)),
      definitions.follow.run(signal, () => {}),
      ...this.agents.follows.map((each) => each.run(signal, () => {})),
      recorder.run(signal),
      this.agents.lead.run(signal, () => {}),
    ]);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}

export class Fixture {
  readonly client: KubeClient;
  readonly #server: Server;
  readonly #running = new Set<Running>();
  #barriers = 0;

  private constructor(server: Server) {
    this.#server = server;
    this.client = new KubeClient({ transport: server.transport });
  }

  static async open(server: Server, { isBare = false } = {}): Promise<Fixture> {
    const fixture = new Fixture(server);
    await fixture.client.create(crds, networkAttachmentDefinitionCrd);
    if (!isBare) await fixture.installKinds();
    for (const name of [shop, "harvester-system"])
      await fixture.client.create(kinds.namespaces, { metadata: { name } });
    await fixture.node("worker");
    return fixture;
  }

  async installKinds(): Promise<void> {
    for (const kind of managedDhcpKinds) await this.client.create(crds, definitionOf(kind) as unknown as AnyObject);
    const isServed = async () => (await this.client.listServed(kinds.managedPools)) !== undefined;
    await until(isServed, { what: "the kind of pools", everyMs: 10 });
  }

  run(options: { readonly image?: string } = {}): Running {
    const running = new Running(this.#server, options);
    this.#running.add(running);
    return running;
  }

  async close(): Promise<void> {
    for (const each of this.#running) await each.stop();
    await this.#server.stop();
  }

  async node(name: string, ...taints: readonly string[]): Promise<void> {
    const labels = { "network.harvesterhci.io/provider": "true" };
    const spec = { taints: taints.map((key) => ({ key, effect: "NoSchedule" })) };
    await this.client.create(kinds.nodes, { metadata: { name, labels }, spec });
  }

  async network(name: string, config: object = { cniVersion: "1.0.0", name: "n", type: "bridge" }): Promise<void> {
    const labels = { "network.harvesterhci.io/clusternetwork": "provider" };
    const metadata = { namespace: shop, name, labels };
    await this.client.create(kinds.networkAttachmentDefinitions, {
      metadata,
      spec: { config: JSON.stringify(config) },
    });
  }

  /** In a subnet of its own, unless another is given. */
  async pool(name: string, network: string, more: { cidr?: string; annotations?: Record<string, string> } = {}) {
    const { cidr = "10.48.0.0/24", annotations } = more;
    const metadata = { namespace: shop, name, ...(annotations && { annotations }) };
    await this.client.create(kinds.managedPools, {
      metadata,
      spec: { networkName: `${shop}/${network}`, ipv4Config: { cidr } },
    });
  }

  deployment(pool: string): Promise<AgentDeployment | undefined> {
    return this.client.lookUp(agentDeployments, {
      namespace: system,
      name: agentName({ namespace: shop, name: pool }),
    });
  }

  budget(pool: string) {
    return this.client.lookUp(agentBudgets, { namespace: system, name: agentName({ namespace: shop, name: pool }) });
  }

  deployed(pool: string): Promise<AgentDeployment> {
    return until(() => this.deployment(pool), { what: `the agents of ${pool}`, everyMs: 10 });
  }

  async gone(pool: string): Promise<void> {
    const isGone = async () => (await this.deployment(pool)) === undefined && (await this.budget(pool)) === undefined;
    await until(isGone, { what: `the agents of ${pool} to go`, everyMs: 10 });
  }

  /** `namespace/name` of the pool that the network names; empty: none. */
  async labelOf(network: string): Promise<string> {
    const { metadata } = await this.client.get(kinds.networkAttachmentDefinitions, { namespace: shop, name: network });
    const { ["network.harvesterhci.io/ippool-namespace"]: namespace, ["network.harvesterhci.io/ippool-name"]: name } =
      metadata.labels ?? {};
    return namespace === undefined && name === undefined ? "" : `${namespace}/${name}`;
  }

  /** All that was written before has been looked at: a pool of its own, on a network of its own, has its agents. */
  async settled(): Promise<void> {
    this.#barriers += 1;
    const name = `barrier${this.#barriers}`;
    await this.network(name);
    await this.pool(name, name);
    await this.deployed(name);
    await until(async () => (await this.labelOf(name)) === `${shop}/${name}`, { what: "the labels", everyMs: 10 });
  }

  /** A pod as the ReplicaSet of this pool's Deployment makes it. */
  async agent(pool: string, name: string, isReady: boolean, ...finalizers: string[]): Promise<void> {
    const { spec, metadata: owner } = await this.deployed(pool);
    // Of the Deployment itself: there is no ReplicaSet here, and the garbage collector asks for the owner.
    const of = { apiVersion: "apps/v1", kind: "Deployment", name: owner.name!, uid: owner.uid! };
    const reference = { ...of, controller: true };
    const { metadata, spec: podSpec } = structuredClone(spec.template);
    const place = { namespace: system, name };
    const more = { ownerReferences: [reference], finalizers };
    await this.client.create(agentPods, { metadata: { ...place, ...metadata, ...more }, spec: podSpec });
    await this.readiness(place, isReady);
  }

  async readiness(pod: { namespace: string; name: string }, isReady: boolean): Promise<void> {
    const conditions = [{ type: "Ready", status: isReady ? "True" : "False" }];
    const body = { status: { phase: "Running", conditions } };
    await this.client.patch(agentPods, pod, { type: "merge", body }, { subresource: "status" });
  }

  /** As Harvester's controller makes it: bare, in its own namespace. */
  async harvesterAgent(pool: string): Promise<void> {
    const labels = {
      "network.harvesterhci.io/vm-dhcp-controller": "agent",
      "network.harvesterhci.io/ippool-namespace": shop,
      "network.harvesterhci.io/ippool-name": pool,
    };
    const metadata = { namespace: "harvester-system", name: `${shop}-${pool}-agent`, labels };
    const container = { name: "agent", image: "rancher/harvester-vm-dhcp-agent:v1", args: [] };
    await this.client.create(agentPods, { metadata, spec: { containers: [container] } });
  }

  async holder(pool: string, agent: string): Promise<void> {
    const name = serverLeaseName({ namespace: shop, name: pool });
    const spec = { holderIdentity: serverIdentity(agent, "02:00:00:00:00:01") };
    await this.client.create(kinds.leases, { metadata: { namespace: system, name }, spec });
  }

  /** Reasons of events about this pool. */
  async reasons(pool: string): Promise<string[]> {
    const { items } = await this.client.list(events, { namespace: shop });
    return items.filter(({ involvedObject }) => involvedObject.name === pool).map(({ reason }) => reason);
  }
}
