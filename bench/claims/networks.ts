// The networks of the benchmark: alike, but one lets VMs keep addresses, and pods on another do not look like a VM's.
import { networkAttachmentDefinitions } from "../../src/cluster/resources.ts";
import type { KubeObject } from "../../src/kube/meta.ts";
import { type BenchLab, podNamespace } from "../cni/lab.ts";

export interface VmNetwork {
  /** Also the definition's name, its configuration's and network_name. */
  readonly name: string;
  readonly range: string;
  readonly isPersistent: boolean;
  /** Its pods are launchers of VMs; false: ordinary pods, which nobody looks a VM up for. */
  readonly hasLaunchers: boolean;
}

/** /16: 65,534. Four starts of 1,000 VMs take 4,000 at most, each resting for 30 s; 10,000 claims take 10,000. */
export const persistent: VmNetwork = { name: "kept", range: "10.64.0.0/16", isPersistent: true, hasLaunchers: true };
export const plain: VmNetwork = { name: "plain", range: "10.65.0.0/16", isPersistent: false, hasLaunchers: true };
export const podsOnly: VmNetwork = { name: "pods", range: "10.66.0.0/16", isPersistent: false, hasLaunchers: false };
export const networks = [persistent, plain, podsOnly] as const;

export function configOf({ name, range, isPersistent }: VmNetwork): string {
  const ipam = { type: "holdfast", range, network_name: name };
  const config = {
    cniVersion: "1.0.0",
    name,
    type: "macvlan",
    ...(isPersistent && { allowPersistentIPs: true }),
    ipam,
  };
  return JSON.stringify(config);
}

export async function define(lab: BenchLab, network: VmNetwork): Promise<KubeObject> {
  return lab.admin.create(networkAttachmentDefinitions, {
    metadata: { namespace: podNamespace, name: network.name },
    spec: { config: configOf(network) },
  });
}
