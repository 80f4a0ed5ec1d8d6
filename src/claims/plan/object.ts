// A claim as we make it, and what is to stand on one that is there. Pure.
import * as marks from "../../api/claims/claim-marks.ts";
import { hashedInterfaceName, macOf, type VmiSpec } from "../../api/claims/kubevirt.ts";
import { readRequested, type Requested } from "../../api/claims/requested-addresses.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { OwnerReference } from "../../kube/meta.ts";
import type { Family } from "./family.ts";
import type { Life } from "./owners.ts";
import type { WantedNic } from "./wanted.ts";

/** `continues`: UID of a claim. */
export function draftOf(
  life: Life,
  { nic, network = "", definition }: WantedNic,
  { facts }: Family,
  { name, continues }: { readonly name: string; readonly continues: string | undefined },
): StoredClaim {
  return {
    apiVersion: "k8s.cni.cncf.io/v1alpha1",
    kind: "IPAMClaim",
    metadata: {
      name,
      namespace: facts.namespace,
      labels: { ...labelsOf(facts.name), ...macMark(life, nic) },
      annotations: {
        ...annotationsOf(life, nic, facts.name),
        ...(continues !== undefined && { [marks.continuesAnnotation]: continues }),
        ...requestedMarks(life, nic),
      },
      finalizers: [marks.claimFinalizer],
      ownerReferences: [referenceOf(life, facts.name)],
    },
    // The pod network's interface is the runtime's to name.
    spec: { network, interface: definition === undefined ? "" : hashedInterfaceName(nic) },
  };
}

/** Labels that every claim of ours has. A VM's name that does not fit into a label stands in an annotation alone. */
export function labelsOf(vm: string): Record<string, string> {
  return { [marks.managedLabelName]: "true", ...(vm.length <= longestLabel && { [marks.vmLabelName]: vm }) };
}

const longestLabel = 63;

export function annotationsOf(life: Life, nic: string, vm: string): Record<string, string> {
  const instance = life.vmi?.metadata.uid;
  return {
    [marks.claimOwnerAnnotation]: life.uid,
    [marks.claimNicAnnotation]: nic,
    [marks.claimVmAnnotation]: vm,
    ...(instance !== undefined && { [marks.claimInstanceAnnotation]: instance }),
  };
}

/** The running VMI's word comes first: that is what its pods carry. */
export function requestedOf({ vm, vmi }: Life, nic: string): Requested {
  const own = vmi?.metadata.annotations?.[marks.addressesAnnotation];
  return readRequested(own ?? vm?.spec?.template?.metadata?.annotations?.[marks.addressesAnnotation], nic);
}

/** Empty where no addresses are asked for by number. */
export function requestedMarks(life: Life, nic: string): Record<string, string> {
  const { addresses } = requestedOf(life, nic);
  return addresses.length === 0 ? {} : { [marks.requestedAnnotation]: addresses.join(",") };
}

/** As the standard has it: garbage collection takes the claim with its owner, and a deletion in the foreground waits for it. */
export function referenceOf({ uid, kind }: Life, name: string): OwnerReference {
  return { apiVersion: "kubevirt.io/v1", kind, name, uid, controller: true, blockOwnerDeletion: true };
}

const sixBytes = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/;

/** The MAC as a label, for people (holds decide): of the VM's spec, the VMI's, its status. Empty: not known, it stays. */
export function macMark({ vm, vmi }: Life, nic: string): Record<string, string> {
  const reported = vmi?.status?.interfaces?.find(({ name }) => name === nic)?.mac;
  const mac = specified(vm?.spec?.template?.spec, nic) ?? specified(vmi?.spec, nic) ?? reported?.toLowerCase();
  return mac !== undefined && sixBytes.test(mac) ? { [marks.macLabelName]: mac.replaceAll(":", "-") } : {};
}

function specified(spec: VmiSpec | undefined, nic: string): string | undefined {
  return spec === undefined ? undefined : macOf(nic, spec);
}
