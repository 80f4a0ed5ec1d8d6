// What the webhooks of managed DHCP read of the cluster: from the server, each time. A network config is looked at
// beside what the controller follows, where it does: thousands that come at once list nothing. A refusal by what is
// followed is judged again by the server's word. What may not be read, or is not served, is nothing.
import { heldSelector } from "../../api/holds/hold-marks.ts";
import { holdName } from "../../api/holds/hold-object.ts";
import { hashLabel } from "../../api/holds/owner-record.ts";
import { vmNetworkLabelName } from "../../api/vmnet/marks.ts";
import * as kinds from "../../cluster/resources.ts";
import { trustedNamespaces } from "../../cluster/trusted-namespaces.ts";
import type { Domain } from "../../ipam/ledger.ts";
import type { DeepReadonly, KubeObject } from "../../kube/meta.ts";
import { defineResource, type Resource } from "../../kube/resource.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { unless } from "../../kube/unless.ts";
import { readHeld } from "../../ledger/reservation/list-holds.ts";
import type { Address } from "../../net/address.ts";
import { type ClusterRange, rangesIn } from "../rules/cluster-ranges.ts";
import type { DefinitionText } from "../rules/definition.ts";
import type { HeldAddress, Trusted } from "../rules/examine-pool.ts";
import type { NetworkRef } from "../rules/network-ref.ts";
import { type NetworkConfigReading, readNetworkConfig } from "../rules/read-network-config.ts";
import { type PoolReading, readPool } from "../rules/read-pool.ts";

/** By namespace/name of a network; undefined: not listed yet. */
export interface FollowedNetworks {
  readonly poolsOf: (network: string) => readonly DeepReadonly<kinds.StoredManagedPool>[] | undefined;
  readonly configsOf: (network: string) => readonly DeepReadonly<kinds.StoredNetworkConfig>[] | undefined;
}

/** What the controller follows is good enough, where it follows it. Default: the server is asked. */
export interface Reading {
  readonly signal: AbortSignal;
  readonly mayBeOld?: boolean;
}

export interface VmnetViewOptions {
  readonly client: KubeClient;
  readonly systemNamespace: string;
  /** Namespaces in which only administrators write. Default: the system namespace and `default`. */
  readonly trusted?: Trusted;
  /** Ranges of the cluster that no object tells: `--cluster-cidrs`. */
  readonly clusterRanges?: readonly ClusterRange[];
  /** Of the controller's caches. */
  readonly followed?: FollowedNetworks;
}

interface ServiceCidr extends KubeObject {
  spec?: { cidrs?: string[] };
}

interface NodeRanges extends KubeObject {
  spec?: { podCIDR?: string; podCIDRs?: string[] };
}

const networking = { group: "networking.k8s.io", version: "v1", namespaced: false } as const;
const serviceCidrs = defineResource<ServiceCidr>({ ...networking, plural: "servicecidrs", kind: "ServiceCIDR" });
const nodes = defineResource<NodeRanges>({
  group: "",
  version: "v1",
  plural: "nodes",
  kind: "Node",
  namespaced: false,
});

/** A pool's name and what it says. */
export interface NamedPool extends PoolReading {
  readonly key: string;
}

export class VmnetView {
  readonly #options: VmnetViewOptions;
  readonly trusted: Trusted;

  constructor(options: VmnetViewOptions) {
    this.#options = options;
    this.trusted = options.trusted ?? trustedNamespaces(options.systemNamespace);
  }

  async definition({ namespace, name }: NetworkRef, signal: AbortSignal): Promise<DefinitionText | "missing"> {
    const { client } = this.#options;
    const found = await client.lookUp(kinds.networkAttachmentDefinitions, { namespace, name }, { signal });
    return found === undefined ? "missing" : { config: found.spec?.config ?? "" };
  }

  /** Those that name the network, readable or not. */
  async poolsOf(network: NetworkRef, { signal, mayBeOld = false }: Reading): Promise<readonly NamedPool[]> {
    const followed = mayBeOld ? this.#options.followed?.poolsOf(network.key) : undefined;
    const all = followed ?? (await this.#list(kinds.managedPools, signal));
    return all
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .filter(({ spec }) => names(spec, network))
      .map((each) => ({ ...readPool(each), key: `${each.metadata.namespace ?? ""}/${each.metadata.name ?? ""}` }));
  }

  /** Those with a NIC on the network; without those that are being deleted. */
  async configsOf(
    network: NetworkRef,
    { signal, mayBeOld = false }: Reading,
  ): Promise<readonly NetworkConfigReading[]> {
    const followed = mayBeOld ? this.#options.followed?.configsOf(network.key) : undefined;
    const all = followed ?? (await this.#list(kinds.networkConfigs, signal));
    return all
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(readNetworkConfig)
      .filter(({ nics }) => nics.some((nic) => nic.plan?.network.key === network.key));
  }

  /** Of the network, without those that rest. */
  async holdsOf(domain: Domain, signal: AbortSignal): Promise<readonly HeldAddress[]> {
    const { client, systemNamespace: namespace } = this.#options;
    const labelSelector = `${vmNetworkLabelName}=${hashLabel(domain)},${heldSelector}`;
    const found = await client.listServed(kinds.holds, { namespace, labelSelector, signal });
    return (found ?? []).flatMap((object) => heldIn(object, domain));
  }

  /** Who has the address now; one that rests is nobody's. */
  async holderOf(domain: Domain, address: Address, signal: AbortSignal): Promise<HeldAddress | undefined> {
    const { client, systemNamespace: namespace } = this.#options;
    const at = { namespace, name: holdName(domain, address) };
    const found = await client.lookUp(kinds.holds, at, { signal });
    return found === undefined ? undefined : heldIn(found, domain)[0];
  }

  async clusterRanges(signal: AbortSignal): Promise<readonly ClusterRange[]> {
    const [services, all] = await Promise.all([this.#list(serviceCidrs, signal), this.#list(nodes, signal)]);
    return [
      ...(this.#options.clusterRanges ?? []),
      ...services.flatMap(({ metadata, spec }) =>
        rangesIn(spec?.cidrs, `the cluster's service range (ServiceCIDR ${metadata.name ?? ""})`),
      ),
      ...all.flatMap(({ metadata, spec }) =>
        rangesIn(
          spec?.podCIDRs ?? (spec?.podCIDR ? [spec.podCIDR] : []),
          `the pod range of node ${metadata.name ?? ""}`,
        ),
      ),
    ];
  }

  async #list<T extends KubeObject>(resource: Resource<T>, signal: AbortSignal): Promise<readonly T[]> {
    const listed = unless(["not-found", "forbidden"], this.#options.client.list(resource, { signal }));
    return (await listed)?.items ?? [];
  }
}

/** By the text, without reading the rest. A name alone is one of `default`. */
function names(spec: unknown, { key, namespace, name }: NetworkRef): boolean {
  const said = (spec as { networkName?: unknown } | undefined)?.networkName;
  return said === key || (namespace === "default" && said === name);
}

function heldIn(object: kinds.StoredHold, domain: Domain): readonly HeldAddress[] {
  return readHeld(object).flatMap((each) => {
    if (each.unreadable !== undefined || each.cooling !== undefined || each.hold.domain !== domain) return [];
    const { address, owner, note } = each.hold;
    return [{ address, owner, pool: note?.pool ?? "", mac: note?.mac ?? "" }];
  });
}
