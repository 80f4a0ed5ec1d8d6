// The checker's own reading, not the code's, of the marks promised to users (docs/decisions/0011 and 0014).
import type { AnyObject } from "../../src/kube/meta.ts";

/** An address on record. Networks of a checked cluster share no address, so the address is all the name it needs. */
export interface Held {
  readonly address: string;
  /** claim:UID or pod:UID. */
  readonly owner: string;
}

/** Undefined: it rests, or it is a second name of another one. */
export function heldOf(kind: "reservation" | "hold", { metadata, spec }: AnyObject): Held | undefined {
  const { labels = {}, annotations = {}, name = "" } = metadata;
  if (labels["holdfast.io/cooling"] === "true" || annotations["holdfast.io/alias-of"] !== undefined) return undefined;
  if (kind === "hold") {
    const { address, owner } = spec as { address: string; owner: { kind: string; uid: string } };
    return { address, owner: `${owner.kind}:${owner.uid}` };
  }
  const { poduid = "" } = spec as { poduid?: string };
  const ownerKind = annotations["holdfast.io/owner-kind"] ?? "pod";
  const uid = ownerKind === "pod" ? poduid : (annotations["holdfast.io/owner-uid"] ?? "");
  return { address: addressOf(name), owner: `${ownerKind}:${uid}` };
}

/** `net-10.0.0.7`, `net-fd00-0000-0000-0000-0000-0000-0000-0007`. */
function addressOf(name: string): string {
  const four = /(\d+\.\d+\.\d+\.\d+)$/.exec(name)?.[1];
  if (four !== undefined) return four;
  const six = /((?:[0-9a-f]{4}-){7}[0-9a-f]{4})$/.exec(name)?.[1] ?? name;
  return canonical(six.replaceAll("-", ":"));
}

/** IPv6 in the form in which the system's URL parser writes it. */
function canonical(address: string): string {
  return address.includes(":") ? new URL(`http://[${address}]/`).hostname.slice(1, -1) : address;
}

export interface Claim {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Empty: nobody's, made by hand. */
  readonly ownerUid: string;
  readonly nic: string;
  readonly network: string;
  readonly addresses: readonly string[];
}

export function claimOf({ metadata, spec, status }: AnyObject): Claim {
  const { uid = "", namespace = "", name = "", annotations = {}, ownerReferences = [] } = metadata;
  const reference = ownerReferences.find(({ apiVersion }) => apiVersion.startsWith("kubevirt.io/"));
  const { ips = [] } = (status ?? {}) as { ips?: string[] };
  return {
    uid,
    namespace,
    name,
    ownerUid: annotations["holdfast.io/claim-owner"] ?? reference?.uid ?? "",
    nic: annotations["holdfast.io/claim-nic"] ?? "",
    network: (spec as { network: string }).network,
    addresses: ips.map((ip) => canonical(ip.split("/")[0] ?? "")),
  };
}

/** An address that a pod has, as Multus' annotation says. */
export interface Attachment {
  readonly podUid: string;
  readonly pod: string;
  readonly node: string;
  /** Of the VMI; empty: no launcher. */
  readonly vmiUid: string;
  readonly interface: string;
  readonly address: string;
}

/** None where the pod has ended. */
export function attachmentsOf({ metadata, spec, status }: AnyObject): Attachment[] {
  const { phase = "" } = (status ?? {}) as { phase?: string };
  if (phase === "Succeeded" || phase === "Failed") return [];
  const { uid: podUid = "", namespace = "", name = "", annotations = {}, ownerReferences = [] } = metadata;
  const vmiUid = ownerReferences.find(({ kind }) => kind === "VirtualMachineInstance")?.uid ?? "";
  const { nodeName: node = "" } = (spec ?? {}) as { nodeName?: string };
  const text = annotations["k8s.v1.cni.cncf.io/network-status"] ?? "[]";
  const entries = JSON.parse(text) as { interface: string; ips?: string[]; default?: boolean }[];
  return entries
    .filter((entry) => entry.default !== true)
    .flatMap((entry) =>
      (entry.ips ?? []).map((ip) => ({
        podUid,
        pod: `${namespace}/${name}`,
        node,
        vmiUid,
        interface: entry.interface,
        address: canonical(ip),
      })),
    );
}

/** Whether what ran on the node may still run though its pod object is gone. */
export function isCutOff({ spec, status }: AnyObject): boolean {
  const { conditions = [] } = (status ?? {}) as { conditions?: { type: string; status: string }[] };
  const { taints = [] } = (spec ?? {}) as { taints?: { key: string }[] };
  if (conditions.find(({ type }) => type === "Ready")?.status === "True") return false;
  return !taints.some(({ key }) => key === "node.kubernetes.io/out-of-service");
}
