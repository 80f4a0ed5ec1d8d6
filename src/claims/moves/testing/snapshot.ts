// A cluster as a value, for tests: VMs, claims, holds and pods on two networks, in a few words each.
import {
  claimFinalizer,
  claimNicAnnotation,
  claimOwnerAnnotation,
  managedLabelName,
} from "../../../api/claims/claim-marks.ts";
import { hashedInterfaceName } from "../../../api/claims/kubevirt.ts";
import type { NetworkAttachmentDefinition, Pod, StoredClaim } from "../../../cluster/resources.ts";
import { noSlicedRanges } from "../../../cluster/sliced-ranges.ts";
import type { HoldNote, HoldUser } from "../../../ipam/ledger.ts";
import { type Owner, ownerKey } from "../../../ipam/owner.ts";
import { keyOf } from "../../../kube/meta.ts";
import type { ListedHold } from "../../../ledger/reservation/list-holds.ts";
import { parseAddress } from "../../../net/address.ts";
import type { Instance, Machine } from "../../leader/caches.ts";
import { type ClaimsSnapshot, snapshotIndex, type SnapshotIndex } from "../snapshot.ts";

export const nowMs = Date.parse("2026-11-15T12:00:00Z");

/** `blue` is ours; `ovn` is given by another IPAM. */
export const blue = definition("blue", { ipam: { type: "holdfast", range: "10.0.0.0/24" }, allowPersistentIPs: true });
export const dual = definition("dual", {
  ipam: { type: "holdfast", ipRanges: [{ range: "10.1.0.0/24" }, { range: "fd00::/64" }] },
  allowPersistentIPs: true,
});
export const ovn = definition("ovn", {
  type: "kube-ovn",
  topology: "layer2",
  subnets: "10.9.0.0/24",
  allowPersistentIPs: true,
});

export function definition(name: string, config: object): NetworkAttachmentDefinition {
  const text = { cniVersion: "1.0.0", name: `${name}-net`, type: "bridge", ...config };
  return { metadata: { namespace: "shop", name }, spec: { config: JSON.stringify(text) } };
}

/** Each of its networks is on the definition of the same name. */
export function machine(uid: string, nics: readonly string[] = ["blue"], name = "db"): Machine {
  const networks = nics.map((nic) => ({ name: nic, multus: { networkName: nic } }));
  const interfaces = nics.map((nic) => ({ name: nic }));
  return {
    kind: "VirtualMachine",
    metadata: { namespace: "shop", name, uid },
    spec: { template: { spec: { networks, domain: { devices: { interfaces } } } } },
  };
}

/** The VMI of a VM. */
export function instance(uid: string, vm: Machine): Instance {
  const { namespace = "", name = "", uid: owner = "" } = vm.metadata;
  const reference = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name, uid: owner, controller: true };
  return {
    kind: "VirtualMachineInstance",
    metadata: { namespace, name, uid, ownerReferences: [reference] },
    spec: vm.spec?.template?.spec ?? {},
  };
}

export function launcher(uid: string, vmi: Instance, nics: readonly string[], phase = "Running"): Pod {
  const { namespace = "", name = "", uid: owner = "" } = vmi.metadata;
  const elements = nics.map((nic) => ({ name: nic, namespace, interface: hashedInterfaceName(nic) }));
  const reference = {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstance",
    name,
    uid: owner,
    controller: true,
  };
  return {
    metadata: {
      namespace,
      name: `virt-launcher-${name}-${uid}`,
      uid,
      labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": owner },
      annotations: { "k8s.v1.cni.cncf.io/networks": JSON.stringify(elements) },
      ownerReferences: [reference],
    },
    spec: { nodeName: "n1" },
    status: { phase },
  };
}

export function user({ metadata, spec }: Pod): HoldUser {
  return { uid: metadata.uid ?? "", name: metadata.name ?? "", node: spec?.nodeName ?? "" };
}

export interface ClaimParts {
  readonly uid: string;
  /** Empty: made by hand. */
  readonly owner?: string;
  readonly nic?: string;
  readonly name?: string;
  readonly ips?: readonly string[];
  readonly network?: string;
  readonly metadata?: Partial<StoredClaim["metadata"]>;
}

export function claim(parts: ClaimParts): StoredClaim {
  const { uid, owner = "vm-1", nic = "blue", name = `db.${nic}`, ips, network = `${nic}-net` } = parts;
  const annotations = { [claimOwnerAnnotation]: owner, [claimNicAnnotation]: nic };
  const ours = { annotations, labels: { [managedLabelName]: "true" }, finalizers: [claimFinalizer] };
  return {
    metadata: { namespace: "shop", name, uid, resourceVersion: "1", ...(owner !== "" && ours), ...parts.metadata },
    spec: { network, interface: "" },
    ...(ips && { status: { ips: [...ips] } }),
  };
}

export interface HoldParts {
  readonly note?: HoldNote;
  readonly users?: readonly HoldUser[];
  readonly coolsUntilMs?: number;
}

export function held(address: string, owner: Owner, { note, users, coolsUntilMs }: HoldParts = {}): ListedHold {
  const hold = { domain: "network:", address: parseAddress(address), owner, version: `${address}@1` };
  const cooling = coolsUntilMs === undefined ? {} : { cooling: { untilMs: coolsUntilMs, lastOwner: ownerKey(owner) } };
  const metadata = { namespace: "kube-system", name: address };
  const object = { kind: "OverlappingRangeIPReservation", metadata, spec: { podref: "" } };
  return {
    hold: { ...hold, ...(note && { note }), ...(users && { users }) },
    namespace: "kube-system",
    object,
    ...cooling,
  };
}

/** For a claim by its UID. */
export function heldFor(address: string, uid: string, parts: HoldParts & { readonly name?: string } = {}): ListedHold {
  return held(address, { kind: "claim", uid, namespace: "shop", name: parts.name ?? "db.blue" }, parts);
}

export interface SceneParts extends Partial<
  Omit<ClaimsSnapshot, "machines" | "instances" | "pods" | "nodes" | "pools">
> {
  readonly machines?: readonly Machine[];
  readonly instances?: readonly Instance[];
  readonly pods?: readonly Pod[];
}

function snapshot({ machines = [], instances = [], pods = [], ...rest }: SceneParts = {}): ClaimsSnapshot {
  return {
    systemNamespace: "kube-system",
    nowMs,
    hasClaims: true,
    claims: [],
    held: [],
    machines: new Map(machines.map((each) => [keyOf(each), each])),
    instances: new Map(instances.map((each) => [keyOf(each), each])),
    pods: new Map(pods.map((each) => [keyOf(each), each])),
    nodes: new Map([["n1", { metadata: { name: "n1" }, status: { conditions: [{ type: "Ready", status: "True" }] } }]]),
    definitions: [blue, dual, ovn],
    pools: new Map(),
    sliced: noSlicedRanges,
    gate: { gate: "on", needsLabel: false },
    state: { coexistence: false, why: "", paused: "" },
    extensions: { isRunning: false, objects: [], why: [] },
    ...rest,
  };
}

export function scene(parts: SceneParts = {}): SnapshotIndex {
  return snapshotIndex(snapshot(parts));
}
