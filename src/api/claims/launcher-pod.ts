// Launcher pods of KubeVirt: which VMI one is of. Pure. The owner reference is sure. Labels and annotations are copied
// from the VMI or written by KubeVirt: the annotation kubevirt.io/domain is the VMI's whole name; labels are cut.
import type { OwnedObject } from "../metadata.ts";
import * as kubevirt from "./kubevirt.ts";

export interface Launched {
  /** Of the VMI, and of its VM; empty where nothing says it. */
  readonly name: string;
  /** Of the VMI; empty where nothing says it. */
  readonly uid: string;
}

/** Undefined: it is no launcher. */
export function launchedBy({ labels, annotations, ownerReferences }: OwnedObject["metadata"]): Launched | undefined {
  if (labels?.[kubevirt.launcherLabelName] !== kubevirt.launcherValue) return undefined;
  const owner = kubevirt.kubevirtOwner(ownerReferences, "VirtualMachineInstance");
  return {
    name: owner?.name ?? annotations?.[kubevirt.domainAnnotationName] ?? "",
    uid: owner?.uid ?? labels[kubevirt.createdByLabelName] ?? "",
  };
}
