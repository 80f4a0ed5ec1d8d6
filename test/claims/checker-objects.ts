// Objects as the checker sees them, each with no more than it reads: for lives that are told by hand.
import type { AnyObject } from "../../src/kube/meta.ts";
import type { Change, Kind } from "./checker-record.ts";
import { interfaceNameOf } from "./kubevirt/names.ts";

export const address = "10.0.0.7";

/** Changes with versions by their place in the list. */
export type Told = readonly [Change["type"], Kind, object];
export function changes(...told: readonly Told[]): Change[] {
  return told.map(([type, kind, object], at) => ({ type, kind, version: BigInt(at + 1), object: object as AnyObject }));
}

export const vm = (uid: string) => ({ metadata: { uid, namespace: "t", name: "vm" } });
export const vmi = (uid: string, owner?: string) => ({
  metadata: {
    uid,
    namespace: "t",
    name: "vm",
    ownerReferences: owner === undefined ? [] : [{ kind: "VirtualMachine", uid: owner }],
  },
});
export const claim = (uid: string, owner: string, { nic = "blue", ips = [] as string[], network = "net" } = {}) => ({
  metadata: {
    uid,
    namespace: "t",
    name: `vm.${nic}`,
    annotations: owner === "" ? {} : { "holdfast.io/claim-owner": owner, "holdfast.io/claim-nic": nic },
  },
  spec: { network },
  status: { ips },
});
export const hold = (claimUid: string, ip = address, cooling = false) => ({
  metadata: {
    uid: `hold-${ip}`,
    name: `net-${ip}`,
    labels: cooling ? { "holdfast.io/cooling": "true" } : {},
    annotations: { "holdfast.io/owner-kind": "claim", "holdfast.io/owner-uid": claimUid },
  },
  spec: { podref: "t/vm.blue" },
});
export const pod = (
  uid: string,
  vmiUid: string,
  { ips = [address], phase = "Running", node = "n1", nic = "blue" } = {},
) => ({
  metadata: {
    uid,
    namespace: "t",
    name: `virt-launcher-${uid}`,
    ownerReferences: vmiUid === "" ? [] : [{ kind: "VirtualMachineInstance", uid: vmiUid }],
    annotations: {
      "k8s.v1.cni.cncf.io/network-status": JSON.stringify([
        { interface: "eth0", default: true, ips: ["10.99.0.1"] },
        { interface: interfaceNameOf(nic, 0, "hashed"), ips },
      ]),
    },
  },
  spec: { nodeName: node },
  status: { phase },
});
export const node = (name: string, status: string, taints: object[] = []) => ({
  metadata: { uid: name, name },
  spec: { taints },
  status: { conditions: [{ type: "Ready", status }] },
});
