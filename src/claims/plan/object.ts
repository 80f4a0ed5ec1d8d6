// A claim as we make it, and what is to stand on one that is there. Pure.
import {
  claimFinalizer,
  claimInstanceAnnotation,
  claimNicAnnotation,
  claimOwnerAnnotation,
  claimVmAnnotation,
  continuesAnnotation,
  managedLabelName,
  requestedAnnotation,
  vmLabelName,
} from "../../api/claim-marks.ts";
import { hashedInterfaceName } from "../../api/kubevirt.ts";
import type { OwnerReference } from "../../kube/meta.ts";
import type { StoredClaim } from "../../ledger/resources.ts";
import type { Family } from "./family.ts";
import type { Life } from "./lives.ts";
import { macMark } from "./mac.ts";
import { requestedOf } from "./requested.ts";
import type { WantedNic } from "./wanted.ts";

export interface DraftOptions {
  readonly name: string;
  /** UID of the claim that it continues. */
  readonly continues: string | undefined;
}

export function draftOf(life: Life, wanted: WantedNic, family: Family, { name, continues }: DraftOptions): StoredClaim {
  const { nic, network = "", definition } = wanted;
  const { facts } = family;
  return {
    apiVersion: "k8s.cni.cncf.io/v1alpha1",
    kind: "IPAMClaim",
    metadata: {
      name,
      namespace: facts.namespace,
      labels: { ...labelsOf(facts.name), ...macMark(life, nic) },
      annotations: {
        ...annotationsOf(life, nic, facts.name),
        ...(continues !== undefined && { [continuesAnnotation]: continues }),
        ...requestedMarks(life, nic),
      },
      finalizers: [claimFinalizer],
      ownerReferences: [referenceOf(life, facts.name)],
    },
    // The pod network's interface is the runtime's to name.
    spec: { network, interface: definition === undefined ? "" : hashedInterfaceName(nic) },
  };
}

/** Labels that every claim of ours has. A VM's name that does not fit into a label stands in an annotation alone. */
export function labelsOf(vm: string): Record<string, string> {
  return { [managedLabelName]: "true", ...(vm.length <= longestLabel && { [vmLabelName]: vm }) };
}

const longestLabel = 63;

export function annotationsOf(life: Life, nic: string, vm: string): Record<string, string> {
  const instance = life.vmi?.metadata.uid;
  return {
    [claimOwnerAnnotation]: life.uid,
    [claimNicAnnotation]: nic,
    [claimVmAnnotation]: vm,
    ...(instance !== undefined && { [claimInstanceAnnotation]: instance }),
  };
}

/** Empty where no addresses are asked for by number. */
export function requestedMarks(life: Life, nic: string): Record<string, string> {
  const { addresses } = requestedOf(life, nic);
  return addresses.length === 0 ? {} : { [requestedAnnotation]: addresses.join(",") };
}

/** As the standard has it: garbage collection takes the claim with its owner, and a deletion in the foreground waits for it. */
export function referenceOf({ uid, kind }: Life, name: string): OwnerReference {
  return { apiVersion: "kubevirt.io/v1", kind, name, uid, controller: true, blockOwnerDeletion: true };
}
