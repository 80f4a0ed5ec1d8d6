// What `holdfast leases`, and `who` and `check` on networks with managed DHCP read, once: plain lists without a watch.
// Not promised: one moment. Holds are read before network configs: a config that came in between has its hold later.
// A cluster without managed DHCP has none of it.
import { type Cooling, coolingOf } from "../../api/holds/hold-marks.ts";
import { hashLabel } from "../../api/holds/owner-record.ts";
import { parseDomain } from "../../api/pools/domain.ts";
import { agentLabelName, agentLabelValue, quarantineAnnotation, vmNetworkLabelName } from "../../api/vmnet/marks.ts";
import * as kinds from "../../cluster/resources.ts";
import type { Hold } from "../../ipam/ledger.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../kube/meta.ts";
import type { Resource } from "../../kube/resource.ts";
import type { KubeClient, Scope } from "../../kube/rest.ts";
import { readHeld } from "../../ledger/reservation/list-holds.ts";
import { type AgentDeployment, agentDeployments, type AgentPod, agentPods } from "../../vmnet/agents/objects.ts";
import { type NetworkConfigReading, readNetworkConfig } from "../../vmnet/rules/read-network-config.ts";
import { type PoolReading, readPool } from "../../vmnet/rules/read-pool.ts";

export interface VmNetworksOptions {
  readonly client: KubeClient;
  readonly systemNamespace: string;
  readonly now: () => number;
  readonly signal?: AbortSignal;
}

/** A hold of a VM network. */
export interface VmHold {
  readonly hold: Hold;
  /** namespace/name of the network. */
  readonly network: string;
  /** For a sentence: `Hold kube-system/...`. */
  readonly object: string;
  readonly cooling?: Cooling;
  /** As an agent wrote it: until when, and who found it in use. */
  readonly quarantine: string;
}

export interface VmPool {
  readonly object: kinds.StoredManagedPool;
  readonly key: ObjectKey;
  readonly reading: PoolReading;
}

export interface VmNetworksSnapshot {
  readonly systemNamespace: string;
  readonly nowMs: number;
  /** By namespace/name. */
  readonly pools: readonly VmPool[];
  readonly configs: readonly NetworkConfigReading[];
  readonly holds: readonly VmHold[];
  readonly unreadable: readonly { readonly object: string; readonly why: string }[];
  /** namespace/name -> spec.config. Undefined: the cluster has no such kind. */
  readonly definitions: ReadonlyMap<ObjectKey, string> | undefined;
}

/** With what runs for them. */
export interface VmNetworksCheck extends VmNetworksSnapshot {
  readonly deployments: readonly AgentDeployment[];
  readonly pods: readonly AgentPod[];
}

export async function readVmNetworks(options: VmNetworksOptions): Promise<VmNetworksSnapshot> {
  const { systemNamespace, now } = options;
  const holds: VmHold[] = [];
  const unreadable: { object: string; why: string }[] = [];
  // The label is set on every hold of a VM network; which network it is, its domain says.
  const scope = { namespace: systemNamespace, labelSelector: vmNetworkLabelName };
  for (const object of await list(options, kinds.holds, scope)) {
    for (const each of readHeld(object)) {
      if (each.unreadable !== undefined) unreadable.push({ object: `Hold ${keyOf(object)}`, why: each.unreadable });
      else holds.push(vmHoldOf(each.hold, object, unreadable));
    }
  }
  const pools = await list(options, kinds.managedPools);
  const configs = await list(options, kinds.networkConfigs);
  const { client, signal } = options;
  const definitions = await client.listServed(kinds.networkAttachmentDefinitions, { signal });
  return {
    systemNamespace,
    nowMs: now(),
    pools: pools
      .map((object) => ({ object, key: keyOf(object), reading: readPool(object) }))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    configs: configs.map(readNetworkConfig),
    holds,
    unreadable,
    definitions: definitions && new Map(definitions.map((each) => [keyOf(each), each.spec?.config ?? ""])),
  };
}

export async function readVmNetworksCheck(options: VmNetworksOptions): Promise<VmNetworksCheck> {
  const snapshot = await readVmNetworks(options);
  const scope = { namespace: options.systemNamespace, labelSelector: `${agentLabelName}=${agentLabelValue}` };
  const isUsed = snapshot.pools.length > 0;
  return {
    ...snapshot,
    deployments: isUsed ? await list(options, agentDeployments, scope) : [],
    pods: isUsed ? await list(options, agentPods, scope) : [],
  };
}

function vmHoldOf(hold: Hold, object: kinds.StoredHold, unreadable: { object: string; why: string }[]): VmHold {
  const { metadata } = object;
  const name = `Hold ${keyOf(object)}`;
  const domain = parseDomain(hold.domain);
  if (metadata.labels?.[vmNetworkLabelName] !== hashLabel(hold.domain)) {
    const why = `${name} has the label ${vmNetworkLabelName}=${metadata.labels?.[vmNetworkLabelName]}, which is not that of ${hold.domain}: no agent serves it.`;
    unreadable.push({ object: name, why });
  }
  const cooling = coolingOf(metadata);
  return {
    hold,
    network: domain.scope === "network" ? domain.network : `${domain.namespace}/${domain.name}`,
    object: name,
    ...(cooling && { cooling }),
    quarantine: metadata.annotations?.[quarantineAnnotation] ?? "",
  };
}

/** A kind that the cluster does not have has no objects. */
async function list<T extends KubeObject>(
  { client, signal }: VmNetworksOptions,
  resource: Resource<T>,
  scope: Scope = {},
): Promise<T[]> {
  return (await client.listServed(resource, { ...scope, signal })) ?? [];
}
