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
  const { phase, nodeName, interfaces, activePods } = status ?? {};
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstance",
    metadata: trimMetadata(metadata),
    spec: trimSpec(spec),
    status: {
      ...(phase !== undefined && { phase }),
      ...(nodeName !== undefined && { nodeName }),
      ...(activePods !== undefined && { activePods }),
      ...(interfaces !== undefined && {
        interfaces: interfaces.map(({ name, mac }) => ({
          ...(name !== undefined && { name }),
          ...(mac !== undefined && { mac }),
        })),
      }),
    },
  };
}

function trimMetadata(metadata: KubeObject["metadata"]): KubeObject["metadata"] {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, ownerReferences } = metadata;
  return {
    ...(name !== undefined && { name }),
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(ownerReferences !== undefined && { ownerReferences }),
    ...marksOf(metadata),
  };
}

function marksOf({ labels, annotations }: Pick<KubevirtMetadata, "labels" | "annotations">) {
  return { labels: picked(labels, keptLabels), annotations: picked(annotations, keptAnnotations) };
}

function trimSpec({ networks, domain }: VmiSpec = {}): VmiSpec {
  const interfaces = domain?.devices?.interfaces?.map(({ name, macAddress, state }) => ({
    name,
    ...(macAddress !== undefined && { macAddress }),
    ...(state !== undefined && { state }),
  }));
  return {
    ...(networks !== undefined && {
      networks: networks.map(({ name, multus, pod }) => ({
        name,
        ...(multus !== undefined && { multus }),
        ...(pod !== undefined && { pod: {} }),
      })),
    }),
    ...(interfaces !== undefined && { domain: { devices: { interfaces } } }),
  };
}

function picked(texts: Readonly<Record<string, string>> | undefined, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(keys.flatMap((key) => (texts?.[key] === undefined ? [] : [[key, texts[key]]])));
}
