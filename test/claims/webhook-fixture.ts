// The webhooks on a server: a controller's real TLS server, the configurations that lead to it, and people who ask.
import { definitionOf } from "../../src/api/definition.ts";
import { kinds } from "../../src/api/kinds.ts";
import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import { installClaimDefinition } from "../../src/claims/crd.ts";
import { claimsKey, writeClaimsState } from "../../src/cluster/claims-state.ts";
import {
  configMaps,
  holds,
  ipamClaims,
  namespaces,
  networkAttachmentDefinitions,
  reservations,
  type StoredClaim,
} from "../../src/cluster/resources.ts";
import { stateName } from "../../src/cluster/state.ts";
import { webhookServiceName } from "../../src/cluster/webhooks.ts";
import { assembleController, type AssembledController } from "../../src/controller/controller.ts";
import { webhookConfigurations } from "../../src/kube/admission/webhook-configuration.ts";
import { realClock } from "../../src/kube/clock.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { AnyObject, KubeObject } from "../../src/kube/meta.ts";
import { defineResource, type Resource } from "../../src/kube/resource.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { silent } from "../../src/log/log.ts";
import { claimsConfigurations } from "../../tools/generate/deploy/webhook-configurations.ts";
import { freePort } from "../lab/port.ts";
import { until } from "../lab/wait.ts";
import { install } from "./kubevirt/crds.ts";
import { Kubevirt } from "./kubevirt/kubevirt.ts";

/** A server, and clients of it: the administrator's, the controller's, and one of somebody who may edit claims. */
export interface WebhookServer {
  readonly admin: KubeClient;
  readonly controller: KubeClient;
  readonly tenant: KubeClient;
  /** Rights count: the embedded API has none. */
  readonly hasRights: boolean;
  stop(): Promise<void>;
}

const systemNamespace = "kube-system";
const definitions = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});
const secrets = defineResource({ group: "", version: "v1", plural: "secrets", kind: "Secret", namespaced: true });

export class Fixture {
  readonly server: WebhookServer;
  readonly kubevirt: Kubevirt;
  readonly #port: number;
  readonly errors: Error[] = [];
  #running: { readonly stop: AbortController; readonly ended: Promise<unknown> } | undefined;
  #number = 0;
  #definitions: AssembledController["definitions"] | undefined;

  private constructor(server: WebhookServer, port: number) {
    this.server = server;
    this.#port = port;
    const cni = { add: async () => ["10.0.0.7/24"], del: async () => {} };
    this.kubevirt = new Kubevirt({ client: server.admin, cni, place: () => "n1", pace: async () => {} });
  }

  /** Everything is installed, the webhooks answer. */
  static async open(server: WebhookServer): Promise<Fixture> {
    const fixture = new Fixture(server, await freePort());
    const { admin } = server;
    for (const crd of [networkAttachmentDefinitionCrd, ...kinds.map(definitionOf)]) {
      await unlessThere(admin, definitions, structuredClone(crd) as unknown as AnyObject);
    }
    await install(admin);
    await installClaimDefinition({ client: admin, dryRun: false, signal: new AbortController().signal });
    for (const resource of [ipamClaims, networkAttachmentDefinitions, reservations, holds] as readonly Resource[]) {
      await until(async () => (await admin.list(resource, {}), true), { what: `${resource.kind} being served` });
    }
    const metadata = { namespace: systemNamespace, name: webhookServiceName };
    await unlessThere(admin, secrets, { metadata });
    const data = { coexistence: "off", why: "a test", paused: "", [claimsKey]: writeClaimsState(fixture.#gate) };
    await admin.create(configMaps, { metadata: { namespace: systemNamespace, name: stateName }, data });
    const clientConfig = (path: string) => ({ url: `https://127.0.0.1:${fixture.#port}${path}` });
    const { mutating, validating } = claimsConfigurations(clientConfig);
    await admin.create(webhookConfigurations.mutating, mutating);
    await admin.create(webhookConfigurations.validating, validating);
    await fixture.start();
    return fixture;
  }

  get #gate() {
    return { gate: "on", needsLabel: false } as const;
  }

  /** Serves, and resolves when the API server asks us: it learns of configurations and certificates a moment late. */
  async start(): Promise<void> {
    const { controller, tenant } = this.server;
    const stop = new AbortController();
    const onError = (error: Error) => void this.errors.push(error);
    const assembled = assembleController({
      client: controller,
      clock: realClock,
      log: silent,
      systemNamespace,
      cooldownMs: 0,
      instance: "t",
      reconcilers: [],
      webhook: { host: "127.0.0.1", port: this.#port, names: ["127.0.0.1"] },
      onError,
    });
    this.#definitions = assembled.definitions;
    const ended = assembled.run(stop.signal);
    this.#running = { stop, ended };
    await until(
      async () => {
        const odd = claimOf("default", "probe", "no such network");
        return tenant.create(ipamClaims, odd, { dryRun: true }).then(
          () => false,
          (error: unknown) => isApiError(error) && error.message.includes("no such network"),
        );
      },
      { what: `the webhooks (${this.errors.map(({ message }) => message).join("; ")})` },
    );
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

  /** With the definitions blue and green, whose networks are called blue-NAMESPACE and green-NAMESPACE. */
  async namespace(annotations: Record<string, string> = {}): Promise<string> {
    this.#number += 1;
    const name = `t${this.#number}`;
    await this.server.admin.create(namespaces, { metadata: { name, annotations } });
    for (const network of ["blue", "green"]) await this.define(name, network);
    return name;
  }

  /** A namespace with pods on a user-defined primary network of OVN-Kubernetes; the controller has seen it. */
  async primaryNamespace(subnets: string): Promise<string> {
    this.#number += 1;
    const namespace = `t${this.#number}`;
    const { admin } = this.server;
    await admin.create(namespaces, { metadata: { name: namespace } });
    const plugin = { cniVersion: "1.0.0", type: "ovn-k8s-cni-overlay" };
    const tenant = { ...plugin, topology: "layer2", role: "primary", allowPersistentIPs: true, subnets };
    const definition = (name: string, config: object) => ({
      metadata: { namespace, name },
      spec: { config: JSON.stringify(config) },
    });
    await admin.create(networkAttachmentDefinitions, definition("tenant", { ...tenant, name: `tenant-${namespace}` }));
    // OVN-Kubernetes makes it, in a namespace of its own.
    await admin.create(networkAttachmentDefinitions, definition("default", { ...plugin, name: "ovn-kubernetes" }));
    await until(async () => this.#definitions?.cache.get(`${namespace}/default`) !== undefined, {
      what: "the definitions seen",
    });
    return namespace;
  }

  async define(namespace: string, name: string): Promise<void> {
    const ipam = { type: "holdfast", range: "10.0.0.0/24" };
    const config = {
      cniVersion: "1.0.0",
      name: `${name}-${namespace}`,
      type: "bridge",
      allowPersistentIPs: true,
      ipam,
    };
    await this.server.admin.create(networkAttachmentDefinitions, {
      metadata: { namespace, name },
      spec: { config: JSON.stringify(config) },
    });
  }

  claim(namespace: string, name: string): Promise<StoredClaim> {
    return this.server.admin.get(ipamClaims, { namespace, name });
  }
}

export function claimOf(
  namespace: string,
  name: string,
  network: string,
  metadata: Partial<KubeObject["metadata"]> = {},
): StoredClaim {
  return { metadata: { namespace, name, ...metadata }, spec: { network, interface: "" } };
}

async function unlessThere<T extends KubeObject>(client: KubeClient, resource: Resource<T>, object: T): Promise<void> {
  await client.create(resource, object).catch((error: unknown) => {
    if (!isApiError(error, "already-exists")) throw error;
  });
}
