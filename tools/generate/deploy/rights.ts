// What daemon and controller may ask of the API server, and why; test/deploy/rights.real.test.ts asks if that is all.
//
// Kept out on purpose: Secrets (but the one of the webhooks, if installed), writes to pods and nodes, and any ConfigMap
// outside the system namespace. A daemon's token is on every node: a taken node must not become a taken cluster.
import { claimsWebhooks, vmnetWebhooks, webhookServiceName } from "../../../src/cluster/webhooks.ts";
import { controllerName, labelsOf, nodeName, systemNamespace } from "./place.ts";

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

const pools = "whereabouts.cni.cncf.io";
const ours = "holdfast.io";
const claims = "k8s.cni.cncf.io"; // the multi-network standard's, of definitions too
const kubevirt = "kubevirt.io";
const everyWrite = ["create", "update", "patch", "delete"] as const;

export const rule = (group: string, resources: readonly string[], verbs: readonly string[]): Rule => ({
  apiGroups: [group],
  resources,
  verbs,
});

/**
 * A node's Lease (docs/decisions/0013), and whereabouts' own, which says when it was last at work. RBAC knows neither
 * prefixes nor "its own": a name that differs per node cannot be written here, and a create has no name at all. So both
 * may write every Lease of the system namespace; the policy in lease-policy.ts narrows what a node may write.
 */
const leases = (verbs: readonly string[]) => rule("coordination.k8s.io", ["leases"], verbs);

/** Cluster-wide: pods and, with `pool_namespace: nad`, pools live in every namespace. */
const nodeRules: readonly Rule[] = [
  rule("", ["pods"], ["get", "list", "watch"]), // its own node's, by field selector; a pod before the watch has it
  rule("", ["namespaces"], ["get"]), // the quota in a namespace's annotation
  rule("", ["nodes"], ["list"]), // how many there are: the more, the wider it spreads its tries
  rule("", ["events"], ["create", "patch"]), // on the pod
  rule(pools, ["ippools"], ["get", "list", "create", "patch"]), // found or made at first use; adopted; coexistence
  rule(pools, ["overlappingrangeipreservations"], ["get", "list", ...everyWrite]), // the hold of an address
  rule(ours, ["holds"], ["get", "list", ...everyWrite]), // the same, where ranges may overlap
  rule(pools, ["nodeslicepools"], ["get"]), // whose a slice is whose object was deleted by a hand
  rule(claims, ["ipamclaims"], ["get", "list", "watch"]), // the claim of an interface, and when it comes; it makes none
  rule(claims, ["ipamclaims/status"], ["patch"]), // the addresses, once they are held
  rule(kubevirt, ["virtualmachines", "virtualmachineinstances"], ["get"]), // whose a launcher pod is, and which NIC
];

/** In the system namespace. */
const nodeSystemRules: readonly Rule[] = [
  // `holdfast-state` is watched by name; the names of free maps are hashes, and RBAC knows no prefixes.
  rule("", ["configmaps"], ["get"]),
  { ...rule("", ["configmaps"], ["list", "watch"]), resourceNames: ["holdfast-state"] },
  leases(["get", "list", "watch", "create", "patch"]), // its own: renewed once a minute, followed for its slices
];

const controllerRules: readonly Rule[] = [
  rule("", ["pods", "nodes"], ["get", "list", "watch"]), // who is gone; re-read before anything is freed
  rule("apps", ["statefulsets"], ["get", "list", "watch"]), // holds that outlive their pod
  rule("apps", ["daemonsets", "deployments"], ["list"]), // does whereabouts run, in --whereabouts-namespaces
  rule("", ["events"], ["create", "patch"]),
  rule("", ["namespaces"], ["get", "list", "watch"]), // the quota of claims in its annotation; is it being deleted
  rule(claims, ["network-attachment-definitions"], ["get", "list", "watch"]), // which pools are in use, and how
  rule(claims, ["ipamclaims"], ["get", "list", "watch", ...everyWrite]), // made, marked and finished for VMs
  rule(claims, ["ipamclaims/status"], ["update", "patch"]),
  rule(kubevirt, ["virtualmachines", "virtualmachineinstances"], ["get", "list", "watch"]), // claims due, or over
  // a claim's reference to its VM blocks the VM's end; clusters that check who may say so (OpenShift) ask for this
  rule(kubevirt, ["virtualmachines/finalizers", "virtualmachineinstances/finalizers"], ["update"]),
  rule("admissionregistration.k8s.io", ["mutatingwebhookconfigurations"], ["list"]), // is kubevirt/ipam-extensions here
  rule(kubevirt, ["kubevirts"], ["list", "watch"]), // the feature gate, with --persistent-ips=kubevirt
  rule(pools, ["ippools"], ["get", "list", "watch", "create", "patch", "delete"]), // the mirror; slices of nodes
  rule(pools, ["ippools/status"], ["patch"]), // totals
  rule(pools, ["nodeslicepools"], ["get", "list", "watch", "create", "update", "delete"]), // sliced ranges
  rule(pools, ["nodeslicepools/status"], ["update"]), // who has which slice, under the definition of whereabouts' fork
  rule(pools, ["overlappingrangeipreservations"], ["get", "list", "watch", ...everyWrite]), // leaks, cooldown, adoption
  rule(ours, ["holds"], ["get", "list", "watch", ...everyWrite]),
];

const controllerSystemRules: readonly Rule[] = [
  rule("", ["configmaps"], ["get", "list", "create", "update", "delete"]), // holdfast-state and the free maps
  leases(["get", "list", "watch", "create", "patch", "delete"]), // of nodes: which slices each has; whereabouts' own
  { ...leases(["update"]), resourceNames: [controllerName] }, // who leads
];

/** What the webhooks need beside (deploy/webhooks.yaml): the one Secret, shipped empty, and the two configurations. */
const webhookSystemRules: readonly Rule[] = [
  { ...rule("", ["secrets"], ["get", "update"]), resourceNames: [webhookServiceName] }, // the replicas' certificate
];

const webhookRules: readonly Rule[] = [
  {
    ...rule(
      "admissionregistration.k8s.io",
      ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
      ["get", "patch"],
    ),
    resourceNames: [claimsWebhooks.configuration, vmnetWebhooks.configuration],
  }, // whom the API server trusts
  rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]), // may somebody `override` what protects a claim
  rule("network.harvesterhci.io", ["ippools", "virtualmachinenetworkconfigs"], ["list"]), // who else is on a VM network
  rule("networking.k8s.io", ["servicecidrs"], ["list"]), // no pool of VMs overlaps them
];

/** For pools outside the system namespace (`nad`, a whereabouts elsewhere): bound by hand there (docs/install.md). */
const poolNamespaceRules: readonly Rule[] = [
  rule("", ["configmaps"], ["get", "list", "create", "update", "delete"]),
  { ...leases(["get"]), resourceNames: ["whereabouts"] }, // has it handed out lately
];

const rbac = "rbac.authorization.k8s.io";

export function rightsObjects(): object[] {
  return [
    ...grants(nodeName, nodeRules, nodeSystemRules),
    ...grants(controllerName, controllerRules, controllerSystemRules),
    role("ClusterRole", "holdfast-pool-namespace", poolNamespaceRules),
  ];
}

/** For the controller's account. */
export function webhookRightsObjects(): object[] {
  return [
    role("ClusterRole", webhookServiceName, webhookRules),
    binding("ClusterRole", webhookServiceName, controllerName),
    role("Role", webhookServiceName, webhookSystemRules),
    binding("Role", webhookServiceName, controllerName),
  ];
}

export function grants(name: string, everywhere: readonly Rule[], inSystem: readonly Rule[]): object[] {
  const account = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name, namespace: systemNamespace, labels: labelsOf(name) },
  };
  return [
    account,
    role("ClusterRole", name, everywhere),
    binding("ClusterRole", name),
    role("Role", name, inSystem),
    binding("Role", name),
  ];
}

type Scope = "ClusterRole" | "Role";

const metadataOf = (scope: Scope, name: string) => ({
  name,
  ...(scope === "Role" && { namespace: systemNamespace }),
  labels: labelsOf(name),
});

export function role(scope: Scope, name: string, rules: readonly Rule[]): object {
  return { apiVersion: `${rbac}/v1`, kind: scope, metadata: metadataOf(scope, name), rules };
}

export function binding(scope: Scope, name: string, account = name): object {
  return {
    apiVersion: `${rbac}/v1`,
    kind: `${scope}Binding`,
    metadata: metadataOf(scope, name),
    roleRef: { apiGroup: rbac, kind: scope, name },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: systemNamespace }],
  };
}
