// What the stories of managed DHCP stand on: an API server with all kinds, VMs and VMIs as KubeVirt leaves them, and
// leaders that can be stopped and started. Wall time can be put forward: leases last for minutes.
import { Registry } from "prom-client";

import { definitionOf } from "../../src/api/definition.ts";
import { managedDhcpKinds } from "../../src/api/kinds.ts";
import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import * as kinds from "../../src/cluster/resources.ts";
import {
  assembleController,
  type AssembledController,
  type ControllerOptions,
} from "../../src/controller/controller.ts";
import { type Clock, realClock } from "../../src/kube/clock.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { KubeObject } from "../../src/kube/meta.ts";
import { defineResource, type Resource } from "../../src/kube/resource.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { listHolds, type ListedHold } from "../../src/ledger/reservation/list-holds.ts";
import { silent } from "../../src/log/log.ts";
import { install as installKubevirt } from "../claims/kubevirt/crds.ts";
import { until } from "../lab/wait.ts";
import { installDefinitions } from "../ledger/definitions.ts";
import type { Server } from "../node/fixture.ts";

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

export type Config = kinds.StoredNetworkConfig;
export type Pool = kinds.StoredManagedPool;
export interface Nic {
  readonly network: string;
  readonly mac?: string;
  readonly state?: string;
}
export interface Leased {
  readonly start?: string;
  readonly end?: string;
  readonly network?: string;
  readonly cidr?: string;
  readonly [field: string]: unknown;
}

export class Fixture {
  readonly server: Server;
  readonly client: KubeClient;
  readonly #leaders = new Set<Leader>();
  #aheadMs = 0;

  private constructor(server: Server) {
    this.server = server;
    this.client = new KubeClient({ transport: server.transport });
  }

  static async open(server: Server, { isBare = false } = {}): Promise<Fixture> {
    const fixture = new Fixture(server);
    await installDefinitions(fixture.client);
    await fixture.#make(crds, structuredClone(networkAttachmentDefinitionCrd));
    if (!isBare) await fixture.installKinds();
    await fixture.served(kinds.networkAttachmentDefinitions);
    for (const name of [system, shop, "default", "yard"]) await fixture.#make(kinds.namespaces, { metadata: { name } });
    return fixture;
  }

  async close(): Promise<void> {
    for (const leader of this.#leaders) await leader.stop();
    await this.server.stop();
  }

  async installKinds(): Promise<void> {
    for (const kind of managedDhcpKinds) await this.#make(crds, structuredClone(definitionOf(kind)));
    await installKubevirt(this.client);
    await this.served(kinds.managedPools);
    await this.served(kinds.networkConfigs);
  }

  /** Leases and rests pass; nothing else waits for it. */
  advance(ms: number): void {
    this.#aheadMs += ms;
  }

  get clock(): Clock {
    return { ...realClock, wallMs: () => realClock.wallMs() + this.#aheadMs };
  }

  lead(options: Partial<Omit<ControllerOptions, "client">> = {}): Leader {
    const leader = new Leader(this.server.transport, this.clock, options);
    this.#leaders.add(leader);
    return leader;
  }

  async network(name: string, namespace = shop, config: object = {}): Promise<void> {
    const spec = { config: JSON.stringify({ cniVersion: "1.0.0", name, type: "bridge", ...config }) };
    await this.client.create(kinds.networkAttachmentDefinitions, { metadata: { namespace, name }, spec });
  }

  /** 10.7.0.0/24, of which .10 to .19 are for VMs, on the network of the same name. */
  pool(
    name: string,
    { network = `${shop}/${name}`, start = "10.7.0.10", end = "10.7.0.19", cidr = "10.7.0.0/24", ...more }: Leased = {},
    namespace = shop,
  ): Promise<Pool> {
    const { paused, reservations, exclude, ipv6Config, ...ipv4 } = more;
    const ipv4Config = {
      serverIP: `${cidr.replace(/\.\d+\/.*/, "")}.2`,
      cidr,
      leaseTime: 600,
      pool: { start, end, ...(exclude !== undefined && { exclude }) },
      ...(reservations !== undefined && { reservations }),
      ...ipv4,
    };
    const spec = {
      networkName: network,
      ...(paused !== undefined && { paused }),
      ipv4Config,
      ...(ipv6Config !== undefined && { ipv6Config }),
    } as Pool["spec"];
    return this.client.create(kinds.managedPools, { metadata: { namespace, name }, spec });
  }

  async vm(
    name: string,
    nics: readonly Nic[],
    annotations: Record<string, string> = {},
    namespace = shop,
  ): Promise<string> {
    const metadata = { namespace, name, annotations };
    const made = await this.client.create(kinds.virtualMachines, { metadata, spec: specOf(nics) });
    return made.metadata.uid ?? "";
  }

  async setNics(name: string, nics: readonly Nic[]): Promise<void> {
    const at = { namespace: shop, name };
    await this.client.patch(kinds.virtualMachines, at, { type: "merge", body: { spec: specOf(nics) } });
  }

  async vmi(name: string, vmUid: string, macs: Readonly<Record<string, string>> = {}): Promise<void> {
    const owner = {
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachine",
      name,
      uid: vmUid,
      controller: true,
      blockOwnerDeletion: true,
    };
    const interfaces = Object.entries(macs).map(([nic, mac]) => ({ name: nic, mac }));
    const metadata = { namespace: shop, name, ownerReferences: [owner], finalizers: ["kubevirt.io/test"] };
    await this.client.create(kinds.virtualMachineInstances, { metadata, spec: {}, status: { interfaces } });
  }

  async endVmi(name: string): Promise<void> {
    const at = { namespace: shop, name };
    await this.client.patch(kinds.virtualMachineInstances, at, {
      type: "merge",
      body: { metadata: { finalizers: null } },
    });
    await this.client.delete(kinds.virtualMachineInstances, at).catch(ignoreMissing);
  }

  config(
    name: string,
    nics: readonly { network: string; mac: string; ip?: string; ipv6?: string }[],
    more: object = {},
    namespace = shop,
  ): Promise<Config> {
    const networkConfigs = nics.map(({ network, mac, ip, ipv6 }) => ({
      networkName: network,
      macAddress: mac,
      ...(ip && { ipAddress: ip }),
      ...(ipv6 && { ipv6Address: ipv6 }),
    }));
    const spec = { vmName: name, networkConfigs, ...more } as Config["spec"];
    return this.client.create(kinds.networkConfigs, { metadata: { namespace, name }, spec });
  }

  async edit<T extends KubeObject>(resource: Resource<T>, name: string, body: object, namespace = shop): Promise<T> {
    return this.client.patch(resource, { namespace, name }, { type: "merge", body });
  }

  async remove(
    resource: Resource,
    name: string,
    propagationPolicy: "Background" | "Foreground" = "Background",
    namespace = shop,
  ): Promise<void> {
    await this.client.delete(resource, { namespace, name }, { propagationPolicy });
  }

  async find<T extends KubeObject>(resource: Resource<T>, name: string, namespace = shop): Promise<T | undefined> {
    try {
      return await this.client.get(resource, { namespace, name });
    } catch (error) {
      if (isApiError(error, "not-found")) return undefined;
      throw error;
    }
  }

  /** `MAC ADDRESS STATE` of each NIC, in the order of the status. */
  async shown(name: string, namespace = shop): Promise<string[] | undefined> {
    const config = await this.find(kinds.networkConfigs, name, namespace);
    return config?.status?.networkConfigs?.map(
      ({ macAddress, allocatedIPAddress = "-", state }) => `${macAddress} ${allocatedIPAddress} ${state}`,
    );
  }

  /** The address of the first NIC, when there is one and `Allocated` says so. */
  async addressOf(name: string, nic = 0): Promise<string> {
    const config = await this.configIs(name, "allocated", (each) => isTrue(each, "Allocated"));
    return config.status!.networkConfigs![nic]!.allocatedIPAddress ?? "";
  }

  configIs(name: string, what: string, isSo: (config: Config) => boolean, namespace = shop): Promise<Config> {
    return this.is(kinds.networkConfigs, name, what, isSo, namespace);
  }

  poolIs(name: string, what: string, isSo: (pool: Pool) => boolean, namespace = shop): Promise<Pool> {
    return this.is(kinds.managedPools, name, what, isSo, namespace);
  }

  async is<T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    what: string,
    isSo: (object: T) => boolean,
    namespace = shop,
  ): Promise<T> {
    let last: T | undefined;
    try {
      return await until(
        async () => {
          last = await this.find(resource, name, namespace);
          return last !== undefined && isSo(last) ? last : undefined;
        },
        { what: `${resource.kind} ${name}: ${what}`, everyMs: 10, timeoutMs: 20_000 },
      );
    } catch (error) {
      throw new Error(`${resource.kind} ${name} is not ${what}: ${JSON.stringify(last, undefined, 1)}`, {
        cause: error,
      });
    }
  }

  async goes(resource: Resource, name: string, namespace = shop): Promise<void> {
    const isGone = async () => (await this.find(resource, name, namespace)) === undefined;
    await until(isGone, { what: `${resource.kind} ${name} to go`, everyMs: 10, timeoutMs: 20_000 });
  }

  async holds({ isCooling = false } = {}): Promise<ListedHold[]> {
    const found: ListedHold[] = [];
    for await (const each of listHolds(this.client, { namespace: system, includeCooling: isCooling }))
      if (each.unreadable === undefined && each.hold.domain.startsWith("vm-network:")) found.push(each);
    return found;
  }

  /** `ADDRESS CONFIG MAC` of what is held, in order; what cools is not. */
  async books(): Promise<string[]> {
    const held = await this.holds();
    return held
      .map(({ hold }) => `${hold.address} ${hold.owner.name} ${"nic" in hold.owner ? hold.owner.nic : ""}`)
      .toSorted();
  }

  async booksAre(...lines: readonly string[]): Promise<void> {
    const wanted = lines.toSorted().join("\n");
    let last = "";
    await until(async () => (last = (await this.books()).join("\n")) === wanted, {
      what: "the books",
      everyMs: 10,
      timeoutMs: 20_000,
    }).catch((error: unknown) => {
      throw new Error(`The books say ${JSON.stringify(last)}, not ${JSON.stringify(wanted)}.`, { cause: error });
    });
  }

  /** `KIND NAME REASON: MESSAGE`. */
  async told(pattern: RegExp): Promise<string> {
    return until(
      async () => {
        const { items } = await this.client.list(events);
        const lines = items.map(
          ({ involvedObject: { kind, name }, reason, message }) => `${kind} ${name} ${reason}: ${message}`,
        );
        return lines.find((line) => pattern.test(line));
      },
      { what: `the event ${pattern}`, everyMs: 20, timeoutMs: 20_000 },
    );
  }

  async served(resource: Resource): Promise<void> {
    await until(async () => this.client.list(resource).then(() => true), { what: `${resource.plural} to be served` });
  }

  async #make(resource: Resource, object: KubeObject): Promise<void> {
    await this.client.create(resource, object).catch((error: unknown) => {
      if (!isApiError(error, "already-exists")) throw error;
    });
  }
}

/** Writes as METHOD path, of everything but events. */
export class Leader {
  readonly registry = new Registry();
  readonly writes: string[] = [];
  readonly caches: AssembledController["caches"];
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;
  error: unknown;

  constructor(transport: Transport, clock: Clock, options: Partial<Omit<ControllerOptions, "client">>) {
    const counting: Transport = (request) => {
      if (request.method !== "GET" && !request.path.includes("/events"))
        this.writes.push(`${request.method} ${request.path}`);
      return transport(request);
    };
    const controller = assembleController({
      client: new KubeClient({ transport: counting, timeoutMs: 10_000 }),
      clock,
      log: silent,
      systemNamespace: system,
      cooldownMs: 0,
      instance: "t",
      registry: this.registry,
      retryMs: 50,
      reconcilers: ["vmnet"],
      ...options,
      pace: { mirrorMs: 20, networkGoneMs: 100, straysMs: 50, strayAfterMs: 200, sweepMs: 30, ...options.pace },
    });
    this.caches = controller.caches;
    this.#running = controller.run(this.#stop.signal).catch((error: unknown) => void (this.error = error));
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    await this.#running;
  }

  /** Until so long nothing was written. */
  async quiet(ms = 300): Promise<void> {
    let count = -1;
    await until(
      async () => {
        const isSame = count === this.writes.length;
        count = this.writes.length;
        return isSame;
      },
      { what: "the leader to be quiet", everyMs: ms, timeoutMs: 20_000 },
    );
  }

  async series(name: string): Promise<Record<string, unknown>[]> {
    const { values } = await this.registry.getSingleMetric(name)!.get();
    return values.map(({ labels, value }) => ({ ...labels, value }));
  }
}

export function isTrue(
  object: { status?: { conditions?: { type: string; status: string }[] | undefined } },
  type: string,
): boolean {
  return object.status?.conditions?.some((each) => each.type === type && each.status === "True") === true;
}

export function messageOf(
  object: { status?: { conditions?: { type: string; message?: string | undefined }[] | undefined } },
  type: string,
): string {
  return object.status?.conditions?.find((each) => each.type === type)?.message ?? "";
}

function specOf(nics: readonly Nic[]) {
  const names = nics.map((_, index) => `nic${index}`);
  const networks = nics.map(({ network }, index) => ({ name: names[index]!, multus: { networkName: network } }));
  const interfaces = nics.map(({ mac, state }, index) => ({
    name: names[index]!,
    ...(mac !== undefined && { macAddress: mac }),
    ...(state !== undefined && { state }),
  }));
  return { template: { spec: { networks, domain: { devices: { interfaces } } } } };
}

function ignoreMissing(error: unknown): void {
  if (!isApiError(error, "not-found")) throw error;
}
