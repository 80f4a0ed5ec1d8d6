// KubeVirt's objects as values: VM, VMI, launcher pod, migration; without fields that no reader of addresses looks at.
import { createHash } from "node:crypto";

import type { KubeObject, OwnerReference } from "../../../src/kube/meta.ts";
import { defineResource } from "../../../src/kube/resource.ts";
import { interfaceNameOf, type Scheme } from "./names.ts";

/** A network of a VM with its interface. */
export interface Nic {
  /** In the VM's spec: letters, digits, `-` and `_`. */
  readonly name: string;
  /** networkName: NAME, or NAMESPACE/NAME. */
  readonly definition: string;
  readonly mac?: string;
  readonly absent?: boolean;
}

export interface DomainSpec {
  networks: { name: string; multus?: { networkName: string }; pod?: object }[];
  domain: { devices: { interfaces: { name: string; bridge: object; macAddress?: string; state?: string }[] } };
  terminationGracePeriodSeconds?: number;
}

export interface Vm extends KubeObject {
  spec: {
    runStrategy: string;
    template: { metadata: { labels?: Record<string, string>; annotations?: Record<string, string> }; spec: DomainSpec };
  };
  status?: { printableStatus?: string };
}

export interface Vmi extends KubeObject {
  spec: DomainSpec;
  status?: {
    phase?: string;
    nodeName?: string;
    virtualMachineRevisionName?: string;
    evacuationNodeName?: string;
    interfaces?: { name: string; podInterfaceName: string; infoSource: string; mac?: string }[];
    activePods?: Record<string, string>;
    migrationState?: Record<string, unknown>;
  };
}

export interface Vmim extends KubeObject {
  spec: { vmiName: string };
  status?: { phase?: string };
}

export interface Pod extends KubeObject {
  spec?: Record<string, unknown> & { nodeName?: string };
  status?: { phase?: string; conditions?: { type: string; status: string }[] };
}

const kubevirt = { group: "kubevirt.io", version: "v1", namespaced: true };
export const vms = defineResource<Vm>({ ...kubevirt, plural: "virtualmachines", kind: "VirtualMachine" });
export const vmis = defineResource<Vmi>({
  ...kubevirt,
  plural: "virtualmachineinstances",
  kind: "VirtualMachineInstance",
});
export const vmims = defineResource<Vmim>({
  ...kubevirt,
  plural: "virtualmachineinstancemigrations",
  kind: "VirtualMachineInstanceMigration",
});
const core = { group: "", version: "v1", namespaced: true };
export const pods = defineResource<Pod>({ ...core, plural: "pods", kind: "Pod" });
export const bindings = defineResource<KubeObject & { target: object }>({ ...core, plural: "pods", kind: "Binding" });

/** observed: section 1. */
export const controllerFinalizer = "kubevirt.io/virtualMachineControllerFinalize";
export const foregroundFinalizer = "kubevirt.io/foregroundDeleteVirtualMachine";
export const migrationFinalizer = "kubevirt.io/migrationJobFinalize";
export const networksAnnotation = "k8s.v1.cni.cncf.io/networks";
export const statusAnnotation = "k8s.v1.cni.cncf.io/network-status";
export const nodeNameLabel = "kubevirt.io/nodeName";
export const targetNodeLabel = "kubevirt.io/migrationTargetNodeName";

/** The pod network first, as most VMs have it: it must not shift anybody's counting. */
export function domainSpec(nics: readonly Nic[]): DomainSpec {
  return {
    terminationGracePeriodSeconds: 30,
    networks: [{ name: "default", pod: {} }, ...nics.map(networkOf)],
    domain: { devices: { interfaces: [{ name: "default", bridge: {} }, ...nics.map(interfaceOf)] } },
  };
}

export function networkOf({ name, definition }: Nic): DomainSpec["networks"][number] {
  return { name, multus: { networkName: definition } };
}

export function interfaceOf({ name, mac, absent }: Nic): DomainSpec["domain"]["devices"]["interfaces"][number] {
  return {
    name,
    bridge: {},
    ...(mac !== undefined && { macAddress: mac }),
    ...(absent === true && { state: "absent" }),
  };
}

/** An element of a launcher pod's network selection. */
export interface Element {
  readonly name: string;
  readonly namespace: string;
  readonly interface: string;
  readonly mac?: string;
  readonly "ipam-claim-reference"?: string;
}

/**
 * observed: section 1 (only secondary networks, in the spec's order, with its MAC), section 6 (without absent ones).
 */
export function elementsOf(spec: DomainSpec, namespace: string, scheme: Scheme): Element[] {
  const secondary = spec.networks.filter(({ multus }) => multus !== undefined);
  return secondary.flatMap(({ name, multus }, position) => {
    const port = spec.domain.devices.interfaces.find((each) => each.name === name);
    if (port?.state === "absent") return [];
    const [first = "", second] = (multus?.networkName ?? "").split("/");
    return [
      {
        name: second ?? first,
        namespace: second === undefined ? namespace : first,
        ...(port?.macAddress !== undefined && { mac: port.macAddress }),
        interface: interfaceNameOf(name, position, scheme),
      },
    ];
  });
}

/** observed: section 1, the column of owner references: one only, of the controller, which blocks. */
export function ownedBy(kind: string, { metadata }: KubeObject): OwnerReference {
  const { name = "", uid = "" } = metadata;
  return { apiVersion: "kubevirt.io/v1", kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** observed: section 1. The name, or what fits of it, with 8 hexadecimal digits. */
function labelOf(name: string): string {
  if (name.length <= 63) return name;
  return `${name.slice(0, 54)}-${createHash("sha256").update(name, "utf8").digest("hex").slice(0, 8)}`;
}

export interface LauncherOptions {
  readonly scheme: Scheme;
  /** Of the migration whose target it is. */
  readonly migration?: { readonly name: string; readonly uid: string; readonly sourceNode: string };
}

/** observed: section 1 (the launcher pod, trimmed), section 4 (what a target adds, labelled with the SOURCE's node). */
export function launcherPod(vmi: Vmi, { scheme, migration }: LauncherOptions): Pod {
  const { name = "", namespace = "", uid = "", labels = {}, annotations = {} } = vmi.metadata;
  return {
    metadata: {
      generateName: `virt-launcher-${name}-`,
      namespace,
      labels: {
        ...labels,
        "kubevirt.io": "virt-launcher",
        "kubevirt.io/created-by": uid,
        // The hostname, not the VM's name: of VM `a.b` it is `a`.
        "vm.kubevirt.io/name": name.split(".")[0]!.slice(0, 63).replace(/-+$/, ""),
        "vmi.kubevirt.io/id": labelOf(name),
        ...(migration !== undefined && {
          "kubevirt.io/migrationJobUID": migration.uid,
          [nodeNameLabel]: migration.sourceNode,
        }),
      },
      annotations: {
        ...annotations,
        "kubevirt.io/domain": name,
        [networksAnnotation]: JSON.stringify(elementsOf(vmi.spec, namespace, scheme)),
        ...(migration !== undefined && { "kubevirt.io/migrationJobName": migration.name }),
      },
      ownerReferences: [ownedBy("VirtualMachineInstance", vmi)],
    },
    spec: {
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 60,
      automountServiceAccountToken: false,
      readinessGates: [{ conditionType: "kubevirt.io/virtual-machine-unpaused" }],
      containers: [{ name: "compute", image: "none" }],
    },
  };
}
