// The webhooks of managed DHCP on a server: a controller's real TLS server, the configurations that lead to it, and
// people who ask.
import { definitionOf } from "../../src/api/definition.ts";
import { kinds, managedDhcpKinds } from "../../src/api/kinds.ts";
import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import * as resources from "../../src/cluster/resources.ts";
import { webhookServiceName } from "../../src/cluster/webhooks.ts";
import { assembleController, type ControllerOptions } from "../../src/controller/controller.ts";
import type { Owner } from "../../src/ipam/owner.ts";
import { webhookConfigurations } from "../../src/kube/admission/webhook-configuration.ts";
import { realClock } from "../../src/kube/clock.ts";
import { type ApiError, isApiError } from "../../src/kube/errors.ts";
import type { AnyObject, KubeObject } from "../../src/kube/meta.ts";
import { defineResource, type Resource } from "../../src/kube/resource.ts";
import type { KubeClient, WriteOptions } from "../../src/kube/rest.ts";
import { unless } from "../../src/kube/unless.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { silent } from "../../src/log/log.ts";
import { parseAddress } from "../../src/net/address.ts";
import { parseCidr, Prefix } from "../../src/net/prefix.ts";
import { networkRef } from "../../src/vmnet/rules/network-ref.ts";
import { vmnetConfigurations } from "../../tools/generate/deploy/webhook-configurations.ts";
import type { WebhookServer } from "../claims/webhook-fixture.ts";
import { freePort } from "../lab/port.ts";
import { until } from "../lab/wait.ts";

const systemNamespace = "kube-system";
const crds = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});
interface ServiceCidr extends KubeObject {
  spec?: { cidrs?: string[] };
}

const serviceCidrs = defineResource<ServiceCidr>({
  group: "networking.k8s.io",
  version: "v1",
  plural: "servicecidrs",
  kind: "ServiceCIDR",
  namespaced: false,
});
const serviceCidrCrd: AnyObject = {
  metadata: {
    name: "servicecidrs.networking.k8s.io",
    annotations: { "api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/1880" },
  },
  spec: {
    group: "networking.k8s.io",
    scope: "Cluster",
    names: { plural: "servicecidrs", singular: "servicecidr", kind: "ServiceCIDR" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};
const secrets = defineResource({ group: "", version: "v1", plural: "secrets", kind: "Secret", namespaced: true });

/** What the API server says: nothing, or the status, the reason and the sentence. */
export interface Verdict {
  readonly refused?: string;
  readonly object?: AnyObject;
}

type Reconcilers = NonNullable<ControllerOptions["reconcilers"]>;

export class Fixture {
  readonly server: WebhookServer;
  readonly #port: number;
  readonly errors: Error[] = [];
  #running: { readonly stop: AbortController; readonly ended: Promise<unknown> } | undefined;
  #number = 0;

  readonly #reconcilers: Reconcilers;

  private constructor(server: WebhookServer, port: number, reconcilers: Reconcilers) {
    this.server = server;
    this.#port = port;
    this.#reconcilers = reconcilers;
  }

  /** Everything is installed, the webhooks answer. */
  static async open(server: WebhookServer, reconcilers: Reconcilers = []): Promise<Fixture> {
    const fixture = new Fixture(server, await freePort(), reconcilers);
    const { admin } = server;
    for (const crd of [networkAttachmentDefinitionCrd, ...[...kinds, ...managedDhcpKinds].map(definitionOf)]) {
      await unlessThere(admin, crds, structuredClone(crd) as unknown as AnyObject);
    }
    const served = [
      resources.managedPools,
      resources.networkConfigs,
      resources.networkAttachmentDefinitions,
      resources.holds,
    ] as readonly Resource[];
    for (const resource of served) {
      await until(async () => (await admin.list(resource, {}), true), { what: `${resource.kind} being served` });
    }
    await unlessThere(admin, secrets, { metadata: { namespace: systemNamespace, name: webhookServiceName } });
    const clientConfig = (path: string) => ({ url: `https://127.0.0.1:${fixture.#port}${path}` });
    const { mutating, validating } = vmnetConfigurations(clientConfig);
    await admin.create(webhookConfigurations.mutating, mutating);
    await admin.create(webhookConfigurations.validating, validating);
    await fixture.start();
    return fixture;
  }

  /** Serves, and resolves when the API server asks us: it learns of configurations and certificates a moment late. */
  async start(): Promise<void> {
    const stop = new AbortController();
    const assembled = assembleController({
      client: this.server.controller,
      clock: realClock,
      log: silent,
      systemNamespace,
      cooldownMs: 0,
      instance: "t",
      reconcilers: this.#reconcilers,
      webhook: { host: "127.0.0.1", port: this.#port, names: ["127.0.0.1"] },
      onError: (error) => void this.errors.push(error),
    });
    this.#running = { stop, ended: assembled.run(stop.signal) };
    const isAsked = async () => {
      const odd = poolOf("default", "probe", { cidr: "no such subnet" });
      const { refused } = await this.create(resources.managedPools, odd, { dryRun: true });
      return refused?.includes("no such subnet") === true;
    };
    await until(isAsked, { what: `the webhooks (${this.errors.map(({ message }) => message).join("; ")})` });
  }

  /** The controller is away. */
  async halt(): Promise<void> {
    this.#running?.stop.abort();
    await this.#running?.ended;
    this.#running = undefined;
  }

  async close(): Promise<void> {
    await this.halt();
    await this.server.stop();
  }

  /** With the networks net-48 and net-49. */
  async namespace(): Promise<string> {
    this.#number += 1;
    const name = `t${this.#number}`;
    await this.server.admin.create(resources.namespaces, { metadata: { name } });
    for (const network of ["net-48", "net-49"]) await this.define(name, network);
    return name;
  }

  async define(namespace: string, name: string, more: object = {}): Promise<Verdict> {
    const config = JSON.stringify({ cniVersion: "1.0.0", name, type: "bridge", ...more });
    return this.create(resources.networkAttachmentDefinitions, { metadata: { namespace, name }, spec: { config } });
  }

  /** A VM's NIC has the address. */
  async hold(network: string, address: string, more: { readonly pool?: string; readonly owner?: Partial<Owner> } = {}) {
    const [namespace = "", name = ""] = network.split("/");
    const mac = "02:00:00:00:00:77";
    const owner = { kind: "nic", uid: "other", namespace, name: "vm-other", nic: mac, ...more.owner } as Owner;
    const ledger = new ReservationLedger({ client: this.server.admin, namespace: systemNamespace, now: Date.now });
    const { domain } = networkRef(namespace, name);
    const note = { mac, ...(more.pool !== undefined && { pool: more.pool }) };
    await ledger.take({ domain, address: parseAddress(address), owner, note });
    const release = { domain, address: parseAddress(address), owner: `nic:${owner.uid}:${mac}` as never };
    return () => ledger.release({ ...release, cooldownMs: 60_000 });
  }

  create<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<Verdict> {
    return verdict(this.server.tenant.create(resource, object, options));
  }

  /** As our own controller. */
  asController<T extends KubeObject>(resource: Resource<T>, object: T): Promise<T> {
    return this.server.controller.create(resource, object);
  }

  /** A subnet of the cluster's service range. The embedded API has no Services: the test says what the range is. */
  async serviceCidr(): Promise<string> {
    const { admin } = this.server;
    const found = await unless(["not-found"], admin.list(serviceCidrs, {}));
    const [range] = found?.items.flatMap(({ spec }) => spec?.cidrs ?? []) ?? [];
    if (range !== undefined) return Prefix.around(parseCidr(range).address, 24).toString();
    const cidrs = ["10.53.0.0/16"];
    await unlessThere(admin, crds, serviceCidrCrd);
    await until(async () => (await admin.list(serviceCidrs, {}), true), { what: "ServiceCIDR being served" });
    await admin.create(serviceCidrs, { metadata: { name: "kubernetes" }, spec: { cidrs } });
    return "10.53.1.0/24";
  }

  /** A merge patch of the object. */
  change(resource: Resource, at: { namespace: string; name: string }, body: object): Promise<Verdict> {
    return verdict(this.server.tenant.patch(resource, at, { type: "merge", body }, {}));
  }

  remove(resource: Resource, at: { namespace: string; name: string }): Promise<Verdict> {
    return verdict(this.server.tenant.delete(resource, at, {}));
  }
}

async function verdict(call: Promise<unknown>): Promise<Verdict> {
  try {
    return { object: (await call) as AnyObject };
  } catch (error) {
    if (!isApiError(error)) throw error;
    return { refused: wordsOf(error) };
  }
}

function wordsOf({ status, reason, message }: ApiError): string {
  return `${status} ${reason ?? ""} ${message}`;
}

/** On net-48 of its own namespace, unless `more` says otherwise. */
export function poolOf(namespace: string, name: string, ipv4Config: object, more: object = {}) {
  const spec = { networkName: `${namespace}/net-48`, ...more, ipv4Config };
  return { metadata: { namespace, name }, spec } as unknown as resources.StoredManagedPool;
}

export function configOf(namespace: string, name: string, networkConfigs: readonly object[], more: object = {}) {
  const spec = { vmName: name, networkConfigs, ...more };
  return { metadata: { namespace, name }, spec } as unknown as resources.StoredNetworkConfig;
}

async function unlessThere<T extends KubeObject>(client: KubeClient, resource: Resource<T>, object: T): Promise<void> {
  await client.create(resource, object).catch((error: unknown) => {
    if (!isApiError(error, "already-exists")) throw error;
  });
}
