// KubeVirt's kinds, as far as they are read here, and its names of interfaces inside launcher pods. Pure.
import { createHash } from "node:crypto";

import type { OwnerReference } from "../metadata.ts";

export interface KubevirtMetadata {
  name?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  deletionTimestamp?: string;
  creationTimestamp?: string;
}

/** A network of a VM: one of `multus` and `pod`. */
export interface VmNetwork {
  name: string;
  multus?: { networkName: string; default?: boolean };
  pod?: object;
}

export interface VmInterface {
  name: string;
  macAddress?: string;
  /** One of several bindings: the guest is on a bridge with the pod's interface, and has its MAC and address. */
  bridge?: object;
  /** "absent": to be unplugged. */
  state?: string;
}

export interface VmiSpec {
  networks?: VmNetwork[];
  domain?: { devices?: { interfaces?: VmInterface[] } };
}

export interface VirtualMachine {
  apiVersion?: string;
  kind?: string;
  metadata: KubevirtMetadata;
  spec?: { runStrategy?: string; running?: boolean; template?: { metadata?: KubevirtMetadata; spec?: VmiSpec } };
  status?: object;
}

export interface VirtualMachineInstance {
  apiVersion?: string;
  kind?: string;
  metadata: KubevirtMetadata;
  spec?: VmiSpec;
  status?: {
    phase?: string;
    nodeName?: string;
    interfaces?: { name?: string; mac?: string; podInterfaceName?: string }[];
    activePods?: Record<string, string>;
    /** revision-start-vm-UID-GENERATION: which VM started it, also when that is gone and its reference with it. */
    virtualMachineRevisionName?: string;
  };
}

/** Label of a launcher pod; its value is `launcherValue`. */
export const launcherLabelName = "kubevirt.io";
export const launcherValue = "virt-launcher";
/** Label of a launcher pod: the UID of its VMI. */
export const createdByLabelName = "kubevirt.io/created-by";
/** Annotation of a launcher pod: the name of its VMI, never cut. */
export const domainAnnotationName = "kubevirt.io/domain";

/** Any value. KubeVirt migrates a VM with bridge binding on the pod network only with it. */
export const migratableAnnotationName = "kubevirt.io/allow-pod-bridge-network-live-migration";
/** Label of a migration's target, for the pod's whole life. */
export const migrationLabelName = "kubevirt.io/migrationJobUID";

/** The reference to an owner of one of these kinds of KubeVirt. */
export function kubevirtOwner(references: readonly OwnerReference[] = [], ...kinds: readonly string[]) {
  return references.find(({ apiVersion, kind }) => apiVersion.startsWith("kubevirt.io/") && kinds.includes(kind));
}

/** `pod` and 11 hexadecimal digits of the SHA-256 of the network's name in the VM: the same after every restart. */
export function hashedInterfaceName(network: string): string {
  return `pod${createHash("sha256").update(network).digest("hex").slice(0, 11)}`;
}

/** No name by position has this form. */
const hashedForm = /^pod[0-9a-f]{11}$/;

/** namespace/name of the definition that a network of a VM means. */
export function definitionKeyOf({ multus }: VmNetwork, namespace: string): string | undefined {
  if (multus === undefined) return undefined;
  return multus.networkName.includes("/") ? multus.networkName : `${namespace}/${multus.networkName}`;
}

/** An element of a pod's network selection, as far as it tells which NIC it is of. */
export interface NicElement {
  /** Of the definition. */
  readonly namespace: string;
  readonly name: string;
  readonly interfaceName: string;
  readonly mac?: string | undefined;
}

/**
 * Which network of the VM a launcher pod's interface is of: by the hash in its name; by position among the pod's own
 * elements of the same definition where names are ordinal (net1). Never by counting the VM's: absent ones shift
 * ordinals.
 */
export function nicOf(interfaceName: string, elements: readonly NicElement[], namespace: string, spec: VmiSpec) {
  const networks = spec.networks ?? [];
  const byHash = networks.find(({ name }) => hashedInterfaceName(name) === interfaceName);
  // The hash of a network that the VM does not have any more is not another network by position.
  if (byHash !== undefined || hashedForm.test(interfaceName)) return byHash;
  const element = elements.find((each) => each.interfaceName === interfaceName);
  if (element === undefined) return undefined;
  const key = `${element.namespace}/${element.name}`;
  const interfaces = spec.domain?.devices?.interfaces ?? [];
  const absent = new Set(interfaces.filter(({ state }) => state === "absent").map(({ name }) => name));
  const same = networks.filter(
    (each) => definitionKeyOf(each, namespace) === key && each.multus?.default !== true && !absent.has(each.name),
  );
  const siblings = elements.filter(
    (each) => `${each.namespace}/${each.name}` === key && !hashedForm.test(each.interfaceName),
  );
  return same[siblings.indexOf(element)];
}

/** The MAC that the VM's spec gives a network, in lower case with colons. */
export function macOf(network: string, spec: VmiSpec): string | undefined {
  const mac = spec.domain?.devices?.interfaces?.find(({ name }) => name === network)?.macAddress;
  return mac === undefined || mac === "" ? undefined : mac.toLowerCase().replaceAll("-", ":");
}
