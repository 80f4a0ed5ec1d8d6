// The facts of a family of a model cluster, now or as a cache had them: each kind may be of another moment.
import { familyKeysOf, holdFamilyOf } from "../../../api/claims/claim-family.ts";
import type { StoredClaim } from "../../../cluster/resources.ts";
import type { Hold } from "../../../ipam/ledger.ts";
import type { ClaimHold, FamilyFacts, LauncherNic, LauncherPod } from "../facts.ts";
import { type ModelCluster, namespace } from "./cluster.ts";
import type { ModelPod, ModelVm, ModelVmi, PodNic } from "./objects.ts";

export interface Snapshot {
  readonly vms: ReadonlyMap<string, ModelVm>;
  readonly vmis: ReadonlyMap<string, ModelVmi>;
  readonly claims: ReadonlyMap<string, StoredClaim>;
  readonly holds: readonly Hold[];
  readonly pods: ReadonlyMap<string, ModelPod>;
}

/** The order in which fresh facts are read. */
export const kinds = ["vms", "vmis", "claims", "holds", "pods"] as const;

export function snapshotOf(cluster: ModelCluster): Snapshot {
  const { vms, vmis, claims, pods } = cluster;
  return {
    vms: new Map(vms.objects),
    vmis: new Map(vmis.objects),
    claims: new Map(claims.objects),
    holds: [...cluster.holds()],
    pods: new Map(pods.objects),
  };
}

export function gather(cluster: ModelCluster, name: string, snapshot: Snapshot = snapshotOf(cluster)): FamilyFacts {
  const vm = snapshot.vms.get(name);
  const vmi = snapshot.vmis.get(name);
  const key = `${namespace}/${name}`;
  const pods = [...snapshot.pods.values()];
  const owners = new Set([...snapshot.vms.values(), ...snapshot.vmis.values()].map(({ metadata }) => metadata.uid));
  const ofFamily = [...snapshot.claims.values()].filter((claim) => familyKeysOf(claim).includes(key));
  const uids = new Set([vm?.metadata.uid, vmi?.metadata.uid]);
  const holds = snapshot.holds.filter(({ owner, note }) => {
    const isOfClaim = ofFamily.some(({ metadata }) => metadata.uid === owner.uid);
    return isOfClaim || holdFamilyOf(owner) === key || uids.has((note?.identity ?? "").split("/")[0]);
  });
  const named = holds.flatMap(({ owner }) => snapshot.claims.get(owner.name) ?? []);
  return {
    namespace,
    name,
    ...(vm !== undefined && { vm }),
    ...(vmi !== undefined && { vmi }),
    claims: [...new Set([...ofFamily, ...named])],
    pods: pods
      .filter((pod) => pod.metadata.annotations?.["kubevirt.io/domain"] === name || refers(pod, ofFamily))
      .map(podOf),
    holds: holds.map(holdOf),
    definitionOf: (each) => cluster.definitions.get(each) ?? "missing",
    ...(cluster.primary !== undefined && { primary: cluster.primary }),
    giverOf: (network) => giverOf(cluster, network),
    lives: (uid) => owners.has(uid),
    userOf: ({ uid }) => {
      const pod = pods.find(({ metadata }) => metadata.uid === uid);
      if (pod === undefined) return "gone";
      return pod.isOver ? "over" : "alive";
    },
    gate: cluster.gate,
    ...(cluster.claimsLeft !== undefined && { claimsLeft: cluster.claimsLeft }),
    node: (node) => cluster.nodes.get(node) ?? "fenced",
    nowMs: cluster.nowMs,
  };
}

function refers({ listed }: ModelPod, claims: readonly StoredClaim[]): boolean {
  return listed.some(({ claim }) => claims.some(({ metadata }) => metadata.name === claim));
}

function giverOf({ definitions }: ModelCluster, network: string): "holdfast" | "other" | "unknown" {
  const found = [...definitions.values()].find((each) => typeof each !== "string" && each.network === network);
  if (found === undefined || typeof found === "string") return "unknown";
  return found.isOurs ? "holdfast" : "other";
}

function holdOf(hold: Hold): ClaimHold {
  return { hold, namespace: "kube-system", networks: [hold.domain], prefixLength: 24, isOutOfRange: false };
}

function podOf({ metadata, node, vmiUid, isOver, listed, status, hasStatus = false, problem }: ModelPod): LauncherPod {
  const nics = [
    ...listed,
    ...status.filter((each) => !listed.some((one) => one.nic === each.nic && one.definition === each.definition)),
  ];
  return {
    uid: metadata.uid ?? "",
    name: metadata.name ?? "",
    node,
    vmiUid,
    isOver,
    hasStatus,
    nics: nics.map(nicOf),
    ...(problem !== undefined && { problem }),
  };
}

function nicOf({ nic, interfaceName, definition, claim }: PodNic): LauncherNic {
  return { nic, interfaceName, definition, ...(claim !== undefined && { claim }) };
}
