// What the stories of `holdfast claims` and `holdfast adopt` stand on: a server with every kind, and VMs, claims, holds
// and pods as KubeVirt, daemons, ipam-extensions and backups leave them. No leader runs, unless a story starts one.
import { claimDefinition } from "../../src/claims/crd.ts";
import * as kinds from "../../src/cluster/resources.ts";
import type { HoldNote, HoldUser } from "../../src/ipam/ledger.ts";
import type { Owner } from "../../src/ipam/owner.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { AnyObject, KubeObject } from "../../src/kube/meta.ts";
import { defineResource, type Resource } from "../../src/kube/resource.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { listHolds, type ListedHold } from "../../src/ledger/reservation/list-holds.ts";
import { parseAddress } from "../../src/net/address.ts";
import { until } from "../lab/wait.ts";
import { tellState } from "../ledger/told-state.ts";
import { command } from "../pools/command.ts";
import { type PoolsServer, Fixture, system } from "../pools/fixture.ts";
import { install } from "./kubevirt/crds.ts";

const crds = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});
const webhooks = defineResource<AnyObject>({
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "mutatingwebhookconfigurations",
  kind: "MutatingWebhookConfiguration",
  namespaced: false,
});

export const theirFinalizer = "kubevirt.io/persistent-ipam";
const theirHook = "kubevirt-ipam-controller-mutating-webhook-configuration";

export class CliFixture {
  readonly fixture: Fixture;

  private constructor(fixture: Fixture) {
    this.fixture = fixture;
  }

  static async open(start: () => Promise<PoolsServer>): Promise<CliFixture> {
    const fixture = await Fixture.open(start);
    await install(fixture.client);
    try {
      await fixture.client.create(crds, structuredClone(claimDefinition()) as unknown as AnyObject);
    } catch (error) {
      if (!isApiError(error, "already-exists")) throw error;
    }
    await until(async () => fixture.client.list(kinds.ipamClaims).then(() => true), { what: "claims to be served" });
    return new CliFixture(fixture);
  }

  get client(): KubeClient {
    return this.fixture.client;
  }

  /** A cluster with two networks and one node, where whereabouts is not. */
  async clear(): Promise<void> {
    for (const resource of [kinds.virtualMachineInstances, kinds.virtualMachines, kinds.ipamClaims] as Resource[]) {
      for (const each of (await this.client.list(resource)).items) await this.remove(resource, each);
    }
    await this.client.delete(webhooks, { name: theirHook }).catch(ignoreGone);
    await this.fixture.clear();
    await this.fixture.node("n1");
    await tellState(this.client);
    await this.define("blue", { range: "10.0.0.0/24" });
    await this.define("dual", { ipRanges: [{ range: "10.1.0.0/24" }, { range: "fd00::/64" }] });
  }

  async define(name: string, ipam: object): Promise<void> {
    const config = { cniVersion: "1.0.0", name: `${name}-net`, type: "bridge", allowPersistentIPs: true };
    await this.client.create(kinds.networkAttachmentDefinitions, {
      metadata: { namespace: "shop", name },
      spec: { config: JSON.stringify({ ...config, ipam: { type: "holdfast", ...ipam } }) },
    });
  }

  /** The UID. Each network is on the definition of its name. */
  async vm(name = "db", nics: readonly string[] = ["blue"]): Promise<string> {
    const spec = {
      networks: nics.map((nic) => ({ name: nic, multus: { networkName: nic } })),
      domain: { devices: { interfaces: nics.map((nic) => ({ name: nic })) } },
    };
    const made = await this.client.create(kinds.virtualMachines, {
      metadata: { namespace: "shop", name },
      spec: { runStrategy: "Halted", template: { spec } },
    });
    return made.metadata.uid ?? "";
  }

  /** Its VMI and a pod that runs it. */
  async start(name = "db"): Promise<HoldUser> {
    const vm = await this.client.get(kinds.virtualMachines, { namespace: "shop", name });
    const reference = (kind: string, { metadata }: KubeObject) => ({
      apiVersion: "kubevirt.io/v1",
      kind,
      name,
      uid: metadata.uid ?? "",
      controller: true,
    });
    const spec = vm.spec?.template?.spec ?? {};
    const vmi = await this.client.create(kinds.virtualMachineInstances, {
      metadata: { namespace: "shop", name, ownerReferences: [reference("VirtualMachine", vm)] },
      spec,
      status: { phase: "Running", nodeName: "n1" },
    });
    const elements = (spec.networks ?? []).map(({ name: nic }, index) => ({ name: nic, interface: `net${index + 1}` }));
    const pod = await this.client.create(kinds.pods, {
      metadata: {
        namespace: "shop",
        name: `virt-launcher-${name}`,
        labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": vmi.metadata.uid ?? "" },
        annotations: { "kubevirt.io/domain": name, "k8s.v1.cni.cncf.io/networks": JSON.stringify(elements) },
        ownerReferences: [reference("VirtualMachineInstance", vmi)],
      },
      spec: { nodeName: "n1", containers: [{ name: "compute", image: "i" }], terminationGracePeriodSeconds: 0 },
    } as kinds.Pod);
    await this.fixture.phase("shop", pod.metadata.name ?? "", "Running");
    return { uid: pod.metadata.uid ?? "", name: pod.metadata.name ?? "", node: "n1" };
  }

  async claim(parts: {
    readonly name?: string;
    readonly nic?: string;
    readonly metadata: Partial<kinds.StoredClaim["metadata"]>;
    readonly ips?: readonly string[];
  }): Promise<kinds.StoredClaim> {
    const { nic = "blue", name = `db.${nic}`, metadata, ips } = parts;
    const spec = { network: `${nic}-net`, interface: "" };
    const made = await this.client.create(kinds.ipamClaims, {
      metadata: { namespace: "shop", name, ...metadata },
      spec,
    });
    if (ips === undefined) return made;
    const patch = { type: "merge", body: { status: { ips } } } as const;
    return this.client.patch(kinds.ipamClaims, { namespace: "shop", name }, patch, { subresource: "status" });
  }

  /** As our leader makes it. */
  ours(owner: string, more: { readonly nic?: string; readonly ips?: readonly string[] } = {}) {
    const annotations = { "holdfast.io/claim-owner": owner, "holdfast.io/claim-nic": more.nic ?? "blue" };
    const labels = { "holdfast.io/managed": "true", "kubevirt.io/vm": "db" };
    return this.claim({ ...more, metadata: { annotations, labels, finalizers: ["holdfast.io/persistent-ip"] } });
  }

  /** As ipam-extensions makes it. */
  theirs(
    owner: string,
    more: { readonly nic?: string; readonly name?: string; readonly ips?: readonly string[] } = {},
  ) {
    const reference = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "db", uid: owner };
    const ownerReferences = [{ ...reference, controller: true, blockOwnerDeletion: true }];
    return this.claim({
      ...more,
      metadata: { labels: { "kubevirt.io/vm": "db" }, finalizers: [theirFinalizer], ownerReferences },
    });
  }

  /** ipam-extensions itself, as far as it is seen. */
  async extensions(): Promise<void> {
    const clientConfig = { url: "https://127.0.0.1:1/mutate" };
    const hook = {
      name: "ipam-claims.k8s.cni.cncf.io",
      clientConfig,
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    };
    // Of a namespace that nothing is made in: it is to be seen, not to be asked.
    const rest = { failurePolicy: "Ignore", namespaceSelector: { matchLabels: { nobody: "here" } } };
    const rules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }];
    await this.client.create(webhooks, { metadata: { name: theirHook }, webhooks: [{ ...hook, ...rest, rules }] });
  }

  async withdrawExtensions(): Promise<void> {
    await this.client.delete(webhooks, { name: theirHook });
  }

  async hold(
    address: string,
    owner: Owner,
    more: { readonly note?: HoldNote; readonly users?: readonly HoldUser[] } = {},
  ) {
    const result = await this.fixture
      .ledger()
      .take({ domain: "network:", address: parseAddress(address), owner, ...more });
    if (result.outcome !== "taken") throw new Error(`${address} was ${result.outcome}`);
    return result.hold;
  }

  /** Held for a claim that is gone: all that is left is what the hold says. */
  orphan(address: string, identity: string, nic = "blue") {
    const owner = { kind: "claim", uid: `gone-${nic}`, namespace: "shop", name: `db.${nic}` } as const;
    return this.hold(address, owner, { note: { identity, pool: `${system}/10.0.0.0-24` } });
  }

  async held(): Promise<ListedHold[]> {
    const found: ListedHold[] = [];
    for await (const each of listHolds(this.client)) if (each.unreadable === undefined) found.push(each);
    return found.toSorted((a, b) => (`${a.hold.address}` < `${b.hold.address}` ? -1 : 1));
  }

  readClaim(name = "db.blue"): Promise<kinds.StoredClaim> {
    return this.client.get(kinds.ipamClaims, { namespace: "shop", name });
  }

  /** Everything that a command could have written, by version. */
  async versions(): Promise<string[]> {
    const resources = [kinds.ipamClaims, kinds.reservations, kinds.holds, kinds.ipPools] as Resource[];
    const lists = await Promise.all(resources.map(async (each) => (await this.client.list(each)).items));
    return lists.flat().map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`);
  }

  run(...argv: string[]) {
    return command(...argv, "--kubeconfig", this.fixture.server.kubeconfig);
  }

  /** The writer is killed after so many writes: no later one reaches the server. True if it was done before. */
  async killedAfter(writes: number, work: () => Promise<unknown>): Promise<boolean> {
    let sent = 0;
    let isDead = false;
    this.fixture.fault = (method) => {
      if (method !== "GET") isDead ||= ++sent > writes;
      return isDead;
    };
    try {
      await work();
    } catch (error) {
      if (!isDead) throw error;
    } finally {
      this.fixture.fault = undefined;
    }
    return !isDead;
  }

  /** Whatever keeps it. */
  async remove(resource: Resource, { metadata: { namespace, name = "" } }: KubeObject): Promise<void> {
    const at = namespace === undefined ? { name } : { namespace, name };
    await this.client
      .patch(resource, at, { type: "merge", body: { metadata: { finalizers: null } } })
      .catch(ignoreGone);
    await this.client.delete(resource, at, { gracePeriodSeconds: 0 }).catch(ignoreGone);
  }
}

function ignoreGone(error: unknown): undefined {
  if (!isApiError(error, "not-found", "conflict")) throw error;
}
