// What stories about webhooks need: running VMs, claims as the reconciler makes them, and what became of both.
import {
  claimFinalizer,
  claimNicAnnotation,
  claimOwnerAnnotation,
  managedLabelName,
} from "../../src/api/claims/claim-marks.ts";
import { ipamClaims, pods, type StoredClaim, virtualMachines } from "../../src/cluster/resources.ts";
import type { Machine } from "./kubevirt/machine.ts";
import { networksAnnotation } from "./kubevirt/objects.ts";
import { claimOf, type Fixture } from "./webhook-fixture.ts";

/** The reference of what the VM controls. */
export const ownedBy = ({
  metadata: { name = "", uid = "" },
}: {
  readonly metadata: { name?: string; uid?: string };
}) => ({
  apiVersion: "kubevirt.io/v1",
  kind: "VirtualMachine",
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

export function scenes(open: () => Fixture) {
  /** interface's definition -> reference, of the pod that runs. */
  const referencesOf = async (machine: Machine) => {
    const { namespace, name } = machine.instance!.active;
    const pod = await open().server.admin.get(pods, { namespace, name });
    const elements = JSON.parse(pod.metadata.annotations?.[networksAnnotation] ?? "[]") as Record<string, string>[];
    return elements.map((each) => `${each["name"]} ${each["ipam-claim-reference"] ?? "-"}`);
  };
  const machineOn = async (namespace: string, nics: readonly string[], name = "vm1") => {
    const machine = await open().kubevirt.create({
      namespace,
      name,
      nics: nics.map((nic) => ({ name: nic.split("=")[0]!, definition: nic.split("=")[1]! })),
    });
    await open().kubevirt.start(machine);
    return machine;
  };
  /** As the reconciler makes it. */
  const claimFor = async (machine: Machine, nic: string): Promise<StoredClaim> => {
    const vm = await open().server.admin.get(virtualMachines, machine.at);
    const made = await open().server.controller.create(
      ipamClaims,
      claimOf(machine.namespace, `${machine.name}.${nic}`, `blue-${machine.namespace}`, {
        annotations: { [claimOwnerAnnotation]: vm.metadata.uid!, [claimNicAnnotation]: nic },
        labels: { [managedLabelName]: "true" },
        finalizers: [claimFinalizer],
        ownerReferences: [ownedBy(vm)],
      }),
    );
    return made;
  };
  const nameOf = ({ metadata: { namespace = "", name = "" } }: StoredClaim) => ({ namespace, name });
  /** What the leader does when it is over. */
  const letGo = (claim: StoredClaim) =>
    open().server.controller.patch(ipamClaims, nameOf(claim), {
      type: "merge",
      body: { metadata: { finalizers: null } },
    });
  const isGone = (claim: StoredClaim) =>
    open()
      .claim(claim.metadata.namespace!, claim.metadata.name!)
      .then(
        () => false,
        () => true,
      );
  return { referencesOf, machineOn, claimFor, nameOf, letGo, isGone };
}
