// What the tests of the leader of claims stand on: an API server with all kinds, KubeVirt played, nodes that take
// addresses for claims, and leaders that can be killed at any write.
import { Registry } from "prom-client";

import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import { claimDefinition } from "../../src/claims/crd.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { stateName } from "../../src/cluster/state.ts";
import { assembleController, type ControllerOptions } from "../../src/controller/controller.ts";
import { realClock } from "../../src/kube/clock.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { KubeObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { NotSentError, type Transport } from "../../src/kube/transport/transport.ts";
import { listHolds, type ListedHold } from "../../src/ledger/reservation/list-holds.ts";
import { silent } from "../../src/log/log.ts";
import { until } from "../lab/wait.ts";
import { installDefinitions } from "../ledger/definitions.ts";
import { tellState } from "../ledger/told-state.ts";
import type { Server } from "../node/fixture.ts";
import { beat } from "../slices/beat.ts";
import { install } from "./kubevirt/crds.ts";
import { Kubevirt } from "./kubevirt/kubevirt.ts";
import type { Machine, MachineSpec } from "./kubevirt/machine.ts";
import { addNode } from "./kubevirt/nodes.ts";
import { PlayedNode } from "./leader-node.ts";

export const system = "kube-system";
export const shop = "shop";

const crds = defineResource({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});
const events = defineResource<
  KubeObject & { reason: string; message: string; involvedObject: { kind: string; name: string } }
>({
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
});

export interface FixtureOptions {
  /** KubeVirt's kinds and claims are installed later. Default: no. */
  readonly isBare?: boolean;
}

export class Fixture {
  readonly server: Server;
  readonly client: KubeClient;
  readonly node: PlayedNode;
  readonly kubevirt: Kubevirt;
  readonly #leaders = new Set<Leader>();

  private constructor(server: Server) {
    this.server = server;
    this.client = new KubeClient({ transport: server.transport });
    this.node = new PlayedNode(this.client, system);
    const place = (_: Machine, without: readonly string[]) => (without.includes("n1") ? "n2" : "n1");
    this.kubevirt = new Kubevirt({ client: this.client, cni: this.node, place, pace: async () => {} });
  }

  static async open(server: Server, { isBare = false }: FixtureOptions = {}): Promise<Fixture> {
    const fixture = new Fixture(server);
    await installDefinitions(fixture.client);
    await fixture.#install(networkAttachmentDefinitionCrd);
    if (!isBare) await fixture.installKinds();
    await fixture.#served(kinds.networkAttachmentDefinitions);
    for (const name of [system, shop])
      await fixture.#make(() => fixture.client.create(kinds.namespaces, { metadata: { name } }));
    await tellState(fixture.client);
    for (const name of ["n1", "n2"]) await addNode(fixture.client, name);
    return fixture;
  }

  async close(): Promise<void> {
    for (const leader of this.#leaders) await leader.stop();
    await this.server.stop();
  }

  async installKinds(): Promise<void> {
    await install(this.client);
    await this.#install(claimDefinition());
    await this.#served(kinds.ipamClaims);
  }

  lead(options: LeaderSettings = {}): Leader {
    const leader = new Leader(this.server.transport, options);
    this.#leaders.add(leader);
    return leader;
  }

  /** `isAsked`: it consents to requests by number. */
  async define(name: string, more: object = {}, namespace = shop, isAsked = false): Promise<void> {
    const ipam = { type: "holdfast", range: "10.9.0.0/24", network_name: name, allowPersistentIPs: true };
    const plugin = { cniVersion: "1.0.0", name, type: "bridge", capabilities: { ips: isAsked } };
    const config = JSON.stringify({ ...plugin, ipam: { ...ipam, ...more } });
    await this.client.create(kinds.networkAttachmentDefinitions, { metadata: { namespace, name }, spec: { config } });
  }

  machine(name: string, more: Partial<MachineSpec> = {}): Promise<Machine> {
    return this.kubevirt.create({ namespace: shop, name, nics: [{ name: "blue", definition: "blue" }], ...more });
  }

  async started(name: string, more: Partial<MachineSpec> = {}): Promise<Machine> {
    const machine = await this.machine(name, more);
    if (!(await this.kubevirt.start(machine))) throw new Error(`${name} did not start`);
    return machine;
  }

  /** A claim made by hand, with a status that somebody wrote. */
  async stake(name: string, network: string, ips: readonly string[]): Promise<void> {
    const spec = { network, interface: "" };
    await this.client.create(kinds.ipamClaims, { metadata: { namespace: shop, name }, spec });
    await this.shows(name, ips);
  }

  async shows(name: string, ips: readonly string[]): Promise<void> {
    const at = { namespace: shop, name };
    await this.client.patch(
      kinds.ipamClaims,
      at,
      { type: "merge", body: { status: { ips } } },
      { subresource: "status" },
    );
  }

  /** Undefined: there is none. */
  async claim(name: string): Promise<kinds.StoredClaim | undefined> {
    try {
      return await this.client.get(kinds.ipamClaims, { namespace: shop, name });
    } catch (error) {
      if (isApiError(error, "not-found")) return undefined;
      throw error;
    }
  }

  async held(): Promise<readonly ListedHold[]> {
    const found: ListedHold[] = [];
    for await (const each of listHolds(this.client)) if (each.unreadable === undefined) found.push(each);
    return found;
  }

  /** `ADDRESS CLAIM users`, in order. */
  async books(): Promise<string[]> {
    const held = await this.held();
    return held.map(({ hold }) => `${hold.address} ${hold.owner.name} ${(hold.users ?? []).length}`).toSorted();
  }

  async booksAre(...lines: readonly string[]): Promise<void> {
    const wanted = lines.toSorted().join("\n");
    let last = "";
    await until(async () => (last = (await this.books()).join("\n")) === wanted, {
      what: `the books to say ${JSON.stringify(wanted)}`,
      everyMs: 10,
    }).catch((error: unknown) => {
      throw new Error(`The books say ${JSON.stringify(last)}, not ${JSON.stringify(wanted)}.`, { cause: error });
    });
  }

  async claimIs(name: string, what: string, isSo: (claim: kinds.StoredClaim) => boolean): Promise<kinds.StoredClaim> {
    return until(
      async () => {
        const claim = await this.claim(name);
        return claim !== undefined && isSo(claim) ? claim : undefined;
      },
      { what: `claim ${name}: ${what}`, everyMs: 10 },
    );
  }

  async claimGoes(name: string, uid?: string): Promise<void> {
    const isGone = async () => {
      const claim = await this.claim(name);
      return claim === undefined || (uid !== undefined && claim.metadata.uid !== uid);
    };
    await until(isGone, { what: `claim ${name} to go`, everyMs: 10 });
  }

  /** `KIND NAME REASON`. */
  async events(): Promise<string[]> {
    const { items } = await this.client.list(events);
    return items.map(({ involvedObject: { kind, name }, reason }) => `${kind} ${name} ${reason}`);
  }

  async told(line: string): Promise<void> {
    await until(async () => (await this.events()).includes(line), {
      what: `the event ${line}`,
      everyMs: 20,
    });
  }

  async state(): Promise<Record<string, string>> {
    return (await this.client.get(kinds.configMaps, { namespace: system, name: stateName })).data ?? {};
  }

  async #install(object: KubeObject): Promise<void> {
    await this.#make(() => this.client.create(crds, structuredClone(object)));
  }

  async #make(create: () => Promise<unknown>): Promise<void> {
    await create().catch((error: unknown) => {
      if (!isApiError(error, "already-exists")) throw error;
    });
  }

  async #served(resource: Parameters<KubeClient["list"]>[0]): Promise<void> {
    await until(async () => this.client.list(resource).then(() => true), { what: `${resource.plural} to be served` });
  }
}

export interface LeaderSettings extends Partial<Omit<ControllerOptions, "client">> {
  /** This write is carried out and never answered; from then on nothing is heard or sent. Events do not count. */
  readonly killAtWrite?: number;
  /** Between the leader and the server. */
  readonly through?: (transport: Transport) => Transport;
}

export class Leader {
  readonly registry = new Registry();
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;
  readonly #died = Promise.withResolvers<void>();
  readonly #killAtWrite: number;
  /** METHOD path of every request that is not a watch. */
  readonly requests: string[] = [];
  writes = 0;
  isDead = false;

  constructor(transport: Transport, { killAtWrite, through, ...options }: LeaderSettings) {
    this.#killAtWrite = killAtWrite ?? Number.POSITIVE_INFINITY;
    const client = new KubeClient({ transport: this.#mortal(through?.(transport) ?? transport), timeoutMs: 10_000 });
    const controller = assembleController({
      client,
      clock: realClock,
      log: silent,
      systemNamespace: system,
      cooldownMs: 0,
      instance: "t",
      registry: this.registry,
      retryMs: 50,
      reconcilers: ["claims"],
      ...options,
    });
    const beating = { name: "beat", run: (stop: AbortSignal) => beat(client, system, stop) };
    const runnables = options.fencing === undefined ? [] : [beating];
    this.#running = controller.run(this.#stop.signal, { runnables }).catch(() => {}); // killed
  }

  /** Nothing of it reaches the server any more. */
  async kill(): Promise<void> {
    this.isDead = true;
    await this.stop();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    await this.#running;
  }

  get died(): Promise<void> {
    return this.#died.promise;
  }

  async metric(name: string, labels: Record<string, string> = {}): Promise<number> {
    const metric = await this.registry.getSingleMetric(name)!.get();
    const found = metric.values.find((each) =>
      Object.entries(labels).every(([key, value]) => (each.labels as Record<string, unknown>)[key] === value),
    );
    return found?.value ?? 0;
  }

  /** How often a histogram was told of something. */
  async counted(name: string): Promise<number> {
    const { values } = await this.registry.getSingleMetric(name)!.get();
    return values.find((each) => (each as { metricName?: string }).metricName === `${name}_count`)?.value ?? 0;
  }

  #mortal(transport: Transport): Transport {
    return async (request) => {
      if (this.isDead) throw new NotSentError("killed");
      if (!request.path.includes("watch=true")) this.requests.push(`${request.method} ${request.path}`);
      if (request.method === "GET" || request.path.includes("/events")) return transport(request);
      this.writes += 1;
      if (this.writes < this.#killAtWrite) return transport(request);
      this.isDead = true;
      await transport(request).catch(() => {});
      this.#died.resolve();
      throw new Error("killed");
    };
  }
}
