// VMs and VMIs as they are kept: cut down to what is read. A VM of 5 to 20 KB keeps about 600 bytes; 10,000 of each are 12 MB.
import { addressesAnnotation, persistenceLabelName } from "../../api/claims/claim-marks.ts";
import type { KubevirtMetadata, VirtualMachine, VirtualMachineInstance, VmiSpec } from "../../api/claims/kubevirt.ts";
import { type KubeObject, picked } from "../../kube/meta.ts";

export type Machine = VirtualMachine & KubeObject;
export type Instance = VirtualMachineInstance & KubeObject;

export function trimMachine({ metadata, spec }: Machine): Machine {
  const { template } = spec ?? {};
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachine",
    metadata: trimMetadata(metadata),
    spec: {
      ...picked(spec, "runStrategy", "running"),
      template: {
        ...(template?.metadata !== undefined && { metadata: marksOf(template.metadata) }),
        spec: trimSpec(template?.spec),
      },
    },
  };
}

export function trimInstance({ metadata, spec, status }: Instance): Instance {
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstance",
    metadata: trimMetadata(metadata),
    spec: trimSpec(spec),
    status: {
      ...picked(status, "phase", "nodeName", "activePods", "virtualMachineRevisionName"),
      interfaces: named(status?.interfaces).map(({ name, mac }) => ({
        ...(name !== undefined && { name }),
        ...(typeof mac === "string" && { mac }),
      })),
    },
  };
}

const keptFields = [
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "ownerReferences",
  "finalizers",
] as const;

function trimMetadata(metadata: KubeObject["metadata"]): KubeObject["metadata"] {
  return { ...picked(metadata, ...keptFields), ...marksOf(metadata) };
}

function marksOf({ labels, annotations }: Pick<KubevirtMetadata, "labels" | "annotations">) {
  return { labels: picked(labels, persistenceLabelName), annotations: picked(annotations, addressesAnnotation) };
}

/** Others write these, and one odd object must not stop the list of all: what is no network or interface with a name is left out. */
function trimSpec(spec: VmiSpec | undefined): VmiSpec {
  const networks = named(spec?.networks).map(({ name, multus, pod }) => ({
    name,
    ...(isObject(multus) && { multus }),
    ...(isObject(pod) && { pod: {} }),
  }));
  const interfaces = named(spec?.domain?.devices?.interfaces).map(({ name, macAddress, state }) => ({
    name,
    ...(typeof macAddress === "string" && { macAddress }),
    ...(typeof state === "string" && { state }),
  }));
  return {
    ...(networks.length > 0 && { networks }),
    ...(interfaces.length > 0 && { domain: { devices: { interfaces } } }),
  };
}

function named<T extends { name?: string }>(listed: readonly T[] | undefined): T[] {
  const all: unknown = listed;
  if (!Array.isArray(all)) return [];
  return all.filter((each): each is T => isObject(each) && typeof (each as T).name === "string");
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
