// VMs and VMIs as they are kept: cut down to what is read. A VM of 5 to 20 KB keeps about 600 bytes; 10,000 of each are 12 MB.
import { addressesAnnotation, persistenceLabelName } from "../api/claim-marks.ts";
import type { KubevirtMetadata, VirtualMachine, VirtualMachineInstance, VmiSpec } from "../api/kubevirt.ts";
import type { KubeObject } from "../kube/meta.ts";

export type Machine = VirtualMachine & KubeObject;
export type Instance = VirtualMachineInstance & KubeObject;

const keptLabels = [persistenceLabelName];
const keptAnnotations = [addressesAnnotation];

export function trimMachine({ metadata, spec }: Machine): Machine {
  const { runStrategy, running, template } = spec ?? {};
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachine",
    metadata: trimMetadata(metadata),
    spec: {
      ...(runStrategy !== undefined && { runStrategy }),
      ...(running !== undefined && { running }),
      template: {
        ...(template?.metadata !== undefined && { metadata: marksOf(template.metadata) }),
        spec: trimSpec(template?.spec),
      },
    },
  };
}

export function trimInstance({ metadata, spec, status }: Instance): Instance {
  const { phase, nodeName, interfaces, activePods, virtualMachineRevisionName } = status ?? {};
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstance",
    metadata: trimMetadata(metadata),
    spec: trimSpec(spec),
    status: {
      ...(phase !== undefined && { phase }),
      ...(nodeName !== undefined && { nodeName }),
      ...(activePods !== undefined && { activePods }),
      ...(virtualMachineRevisionName !== undefined && { virtualMachineRevisionName }),
      interfaces: named(interfaces).map(({ name, mac }) => ({
        ...(name !== undefined && { name }),
        ...(typeof mac === "string" && { mac }),
      })),
    },
  };
}

function trimMetadata(metadata: KubeObject["metadata"]): KubeObject["metadata"] {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, ownerReferences, finalizers } =
    metadata;
  return {
    ...(name !== undefined && { name }),
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(ownerReferences !== undefined && { ownerReferences }),
    ...(finalizers !== undefined && { finalizers }),
    ...marksOf(metadata),
  };
}

function marksOf({ labels, annotations }: Pick<KubevirtMetadata, "labels" | "annotations">) {
  return { labels: picked(labels, keptLabels), annotations: picked(annotations, keptAnnotations) };
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

function picked(texts: Readonly<Record<string, string>> | undefined, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(keys.flatMap((key) => (texts?.[key] === undefined ? [] : [[key, texts[key]]])));
}
