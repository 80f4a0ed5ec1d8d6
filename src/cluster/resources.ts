// The kinds of ledgers, reconcilers and tools at the API server, typed as far as we read them. Objects of our own kinds
// come unchecked: `parseObject` (src/api) checks one where its content decides something.
import { type IpamClaim, ipamClaimKind } from "../api/claims/ipam-claim.ts";
import type { VirtualMachine, VirtualMachineInstance } from "../api/claims/kubevirt.ts";
import { holdKind, type HoldObject } from "../api/holds/hold.ts";
import { type Reservation, reservationKind } from "../api/holds/reservation.ts";
import type { Kind, KindObject } from "../api/kind.ts";
import { type IPPool, ipPoolKind } from "../api/pools/ip-pool.ts";
import { type NodeSlicePool, nodeSlicePoolKind } from "../api/slices/node-slice-pool.ts";
import { type ManagedPool, managedPoolKind } from "../api/vmnet/managed-pool.ts";
import { type NetworkConfig, networkConfigKind } from "../api/vmnet/network-config.ts";
import type { Lease } from "../kube/lease.ts";
import type { DeepReadonly, KubeObject } from "../kube/meta.ts";
import { defineResource, type Resource } from "../kube/resource.ts";

interface Stored<T extends { spec: unknown; status?: unknown }> extends KubeObject {
  spec: T["spec"];
  status?: NonNullable<T["status"]>;
}

export type StoredPool = Stored<IPPool>;
export type StoredSlicePool = Stored<NodeSlicePool>;
export type StoredClaim = Stored<IpamClaim>;
export type StoredManagedPool = Stored<ManagedPool>;
export type StoredNetworkConfig = Stored<NetworkConfig>;
export type StoredReservation = KubeObject & Pick<Reservation, "spec">;
export type StoredHold = KubeObject & Pick<HoldObject, "spec">;

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

export interface Pod extends KubeObject {
  spec?: { nodeName?: string; hostNetwork?: boolean };
  status?: {
    /** Pending, Running, Succeeded, Failed, Unknown. */
    phase?: string;
    reason?: string;
    conditions?: { type: string; status: string; reason?: string }[];
  };
}

/** Its containers have, all of them. */
export function hasEnded({ status }: DeepReadonly<Pick<Pod, "status">>): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

export interface Node extends KubeObject {
  spec?: { taints?: { key: string; value?: string; effect: string }[] };
  status?: { conditions?: { type: string; status: string }[] };
}

export interface NetworkAttachmentDefinition extends KubeObject {
  spec?: { config?: string };
}

interface Container {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  env?: { name: string; value?: string; valueFrom?: object }[];
}

interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec?: { containers?: Container[]; initContainers?: Container[]; nodeSelector?: Record<string, string> };
}

type DaemonSetCount = "observedGeneration" | "desiredNumberScheduled" | "currentNumberScheduled" | "numberReady";

export interface DaemonSet extends KubeObject {
  spec?: { template?: PodTemplate };
  status?: Partial<Record<DaemonSetCount, number>>;
}

export interface Deployment extends KubeObject {
  spec?: { replicas?: number; template?: PodTemplate };
  status?: { replicas?: number };
}

export interface StatefulSet extends KubeObject {
  spec?: { replicas?: number; ordinals?: { start?: number } };
}

export const ipPools = resourceOf<StoredPool>(ipPoolKind);
export const reservations = resourceOf<StoredReservation>(reservationKind);
export const holds = resourceOf<StoredHold>(holdKind);
export const nodeSlicePools = resourceOf<StoredSlicePool>(nodeSlicePoolKind);
export const ipamClaims = resourceOf<StoredClaim>(ipamClaimKind);

/** Of managed DHCP. They need not be there. */
export const managedPools = resourceOf<StoredManagedPool>(managedPoolKind);
export const networkConfigs = resourceOf<StoredNetworkConfig>(networkConfigKind);

export const configMaps = define<ConfigMap>("", "configmaps", "ConfigMap");
export const pods = define<Pod>("", "pods", "Pod");
export const nodes = define<Node>("", "nodes", "Node", false);
export const namespaces = define("", "namespaces", "Namespace", false);

export const networkAttachmentDefinitions = define<NetworkAttachmentDefinition>(
  "k8s.cni.cncf.io",
  "network-attachment-definitions",
  "NetworkAttachmentDefinition",
);

/** KubeVirt's, which need not be there. A VMI has no status subresource. */
export const virtualMachines = define<VirtualMachine & KubeObject>("kubevirt.io", "virtualmachines", "VirtualMachine");
export const virtualMachineInstances = define<VirtualMachineInstance & KubeObject>(
  "kubevirt.io",
  "virtualmachineinstances",
  "VirtualMachineInstance",
);

export const leases = define<Lease>("coordination.k8s.io", "leases", "Lease");

export const daemonSets = define<DaemonSet>("apps", "daemonsets", "DaemonSet");
export const deployments = define<Deployment>("apps", "deployments", "Deployment");
export const statefulSets = define<StatefulSet>("apps", "statefulsets", "StatefulSet");

/** An object of one of our kinds, as src/api made or checked it, as the client wants it. The same object. */
export function stored<T extends KindObject & { spec: unknown; status?: unknown }>(object: T): Stored<T> {
  // The two types differ in that one says `undefined` where the other says nothing; JSON says nothing for both.
  return object as unknown as Stored<T>;
}

function resourceOf<T extends KubeObject>({ group, version, plural, kind }: Kind): Resource<T> {
  return defineResource<T>({ group, version, plural, kind, namespaced: true });
}

function define<T extends KubeObject>(group: string, plural: string, kind: string, namespaced = true): Resource<T> {
  return defineResource<T>({ group, version: "v1", plural, kind, namespaced });
}
