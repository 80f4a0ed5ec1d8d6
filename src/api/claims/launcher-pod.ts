// Launcher pods of KubeVirt: which VMI one is of. Pure.
//
// The owner reference is sure. Labels and annotations are copied from the VMI or written by KubeVirt: the annotation kubevirt.io/domain is
// the VMI's whole name, while labels with names are cut.
import { createdByLabelName, domainAnnotationName, launcherLabelName, launcherValue } from "./kubevirt.ts";

interface LauncherMetadata {
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly ownerReferences?:
    | readonly { readonly apiVersion: string; readonly kind: string; readonly name: string; readonly uid: string }[]
    | undefined;
}

export interface Launched {
  /** Of the VMI, and of its VM; empty where nothing says it. */
  readonly name: string;
  /** Of the VMI; empty where nothing says it. */
  readonly uid: string;
}

/** Undefined: it is no launcher. */
export function launchedBy({ labels, annotations, ownerReferences = [] }: LauncherMetadata): Launched | undefined {
  if (labels?.[launcherLabelName] !== launcherValue) return undefined;
  const owner = ownerReferences.find(
    ({ apiVersion, kind }) => apiVersion.startsWith("kubevirt.io/") && kind === "VirtualMachineInstance",
  );
  return {
    name: owner?.name ?? annotations?.[domainAnnotationName] ?? "",
    uid: owner?.uid ?? labels[createdByLabelName] ?? "",
  };
}
