// The table of built-in kinds. Most are only stored; lifecycle/ and registry/strategy.ts have what some do beyond that.
import type { KubeObject } from "../object.ts";
import { builtinSchema } from "../schema/builtin.ts";
import { apiVersion, type Resource } from "./resource.ts";

/** Columns: plural, kind, scope (N namespaced, C cluster), short names, subresources, marks. */
type Row = readonly [string, string, "N" | "C", string?, string?, string?];

/**
 * Marks: `g` generation is counted, `c` updates need a resourceVersion, `l` names are DNS labels, `p` path segments,
 * `u` PUT of an absent object creates it, `a` category all, `x` category api-extensions, `d` DELETE returns the object.
 */
const tables: Readonly<Record<string, readonly Row[]>> = {
  "/v1": [
    ["configmaps", "ConfigMap", "N", "cm"],
    ["endpoints", "Endpoints", "N", "ep", "", "u"],
    ["events", "Event", "N", "ev", "", "u"],
    ["limitranges", "LimitRange", "N", "limits", "", "u"],
    ["namespaces", "Namespace", "C", "ns", "finalize,status", "l"],
    ["nodes", "Node", "C", "no", "status"],
    ["persistentvolumeclaims", "PersistentVolumeClaim", "N", "pvc", "status", "d"],
    ["persistentvolumes", "PersistentVolume", "C", "pv", "status", "d"],
    ["pods", "Pod", "N", "po", "binding,eviction,status", "agd"],
    ["podtemplates", "PodTemplate", "N", "", "", "gd"],
    ["replicationcontrollers", "ReplicationController", "N", "rc", "status", "ag"],
    ["resourcequotas", "ResourceQuota", "N", "quota", "status", "d"],
    ["secrets", "Secret", "N"],
    ["serviceaccounts", "ServiceAccount", "N", "sa", "", "d"],
    ["services", "Service", "N", "svc", "status", "ald"],
  ],
  "apps/v1": [
    ["controllerrevisions", "ControllerRevision", "N"],
    ["daemonsets", "DaemonSet", "N", "ds", "status", "ag"],
    ["deployments", "Deployment", "N", "deploy", "status", "ag"],
    ["replicasets", "ReplicaSet", "N", "rs", "status", "ag"],
    ["statefulsets", "StatefulSet", "N", "sts", "status", "ag"],
  ],
  "batch/v1": [
    ["cronjobs", "CronJob", "N", "cj", "status", "ag"],
    ["jobs", "Job", "N", "", "status", "ag"],
  ],
  "coordination.k8s.io/v1": [["leases", "Lease", "N", "", "", "cu"]],
  "discovery.k8s.io/v1": [["endpointslices", "EndpointSlice", "N", "", "", "g"]],
  "events.k8s.io/v1": [["events", "Event", "N", "ev"]],
  "networking.k8s.io/v1": [
    ["ingressclasses", "IngressClass", "C", "", "", "g"],
    ["ingresses", "Ingress", "N", "ing", "status", "g"],
    ["networkpolicies", "NetworkPolicy", "N", "netpol", "", "g"],
  ],
  "node.k8s.io/v1": [["runtimeclasses", "RuntimeClass", "C"]],
  "policy/v1": [["poddisruptionbudgets", "PodDisruptionBudget", "N", "pdb", "status", "gc"]],
  "rbac.authorization.k8s.io/v1": [
    ["clusterrolebindings", "ClusterRoleBinding", "C", "", "", "pu"],
    ["clusterroles", "ClusterRole", "C", "", "", "pu"],
    ["rolebindings", "RoleBinding", "N", "", "", "pu"],
    ["roles", "Role", "N", "", "", "pu"],
  ],
  "scheduling.k8s.io/v1": [["priorityclasses", "PriorityClass", "C", "pc", "", "g"]],
  "storage.k8s.io/v1": [
    ["csidrivers", "CSIDriver", "C", "", "", "d"],
    ["csinodes", "CSINode", "C", "", "", "d"],
    ["storageclasses", "StorageClass", "C", "sc", "", "d"],
    ["volumeattachments", "VolumeAttachment", "C", "", "status", "d"],
  ],
  "admissionregistration.k8s.io/v1": [
    ["mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "C", "", "", "gxc"],
    ["validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "C", "", "", "gxc"],
  ],
  "apiextensions.k8s.io/v1": [
    ["customresourcedefinitions", "CustomResourceDefinition", "C", "crd,crds", "status", "gxc"],
  ],
  "flowcontrol.apiserver.k8s.io/v1": [
    ["flowschemas", "FlowSchema", "C", "", "status", "gc"],
    ["prioritylevelconfigurations", "PriorityLevelConfiguration", "C", "", "status", "gc"],
  ],
};

/** Selectors that are named as the path in the object is. */
const named = (...paths: string[]) => Object.fromEntries(paths.map((path) => [path, path]));

/** Key: storage, then the selector's name; value: the path in the object. */
const selectable: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "/pods": {
    ...named("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
    ...named("spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"),
  },
  "/events": {
    ...named("involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid"),
    ...named("involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath"),
    ...named("reason", "reportingComponent", "type"),
    source: "source.component",
  },
  "/namespaces": { ...named("status.phase"), name: "metadata.name" },
  "/nodes": named("spec.unschedulable"),
  "/secrets": named("type"),
  "/services": named("spec.clusterIP", "spec.type"),
  "/replicationcontrollers": named("status.replicas"),
  "apps/replicasets": named("status.replicas"),
  "batch/jobs": { "status.successful": "status.succeeded" },
};

/** Where the package of a group's definitions is not its first label. */
const definitionPackages: Readonly<Record<string, string>> = {
  "": "io.k8s.api.core",
  "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
  "flowcontrol.apiserver.k8s.io": "io.k8s.api.flowcontrol",
  "rbac.authorization.k8s.io": "io.k8s.api.rbac",
};

/** core/v1 and events.k8s.io/v1 are two views of the same events, kept in the core form. Core name, new name. */
const eventFields: readonly (readonly [string, string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["reportingComponent", "reportingController"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
];

function renamed(event: KubeObject, version: string, from: 0 | 1, to: 0 | 1): KubeObject {
  const result: KubeObject = { ...event, apiVersion: version };
  for (const names of eventFields) {
    const { [names[from]]: value } = result;
    if (value === undefined) continue;
    delete result[names[from]];
    result[names[to]] = value;
  }
  return result;
}

const eventConversion: NonNullable<Resource["convert"]> = {
  toStorage: (event) => renamed(event, "v1", 1, 0),
  fromStorage: (event) => renamed(event, "events.k8s.io/v1", 0, 1),
};

const split = (list: string | undefined) => (list === undefined || list === "" ? [] : list.split(","));

function resourceOf(group: string, version: string, row: Row): Resource {
  const [plural, kind, scope, shortNames, subresources, marks = ""] = row;
  const isNewEvent = group === "events.k8s.io";
  const storage = isNewEvent ? "/events" : `${group}/${plural}`;
  const definition = `${definitionPackages[group] ?? `io.k8s.api.${group.split(".")[0]}`}.${version}.${kind}`;
  return {
    group,
    version,
    plural,
    kind,
    definition,
    storage,
    singular: kind.toLowerCase(),
    listKind: `${kind}List`,
    namespaced: scope === "N",
    shortNames: split(shortNames),
    subresources: split(subresources),
    categories: [...(marks.includes("a") ? ["all"] : []), ...(marks.includes("x") ? ["api-extensions"] : [])],
    storageVersion: isNewEvent ? "v1" : apiVersion({ group, version }),
    get schema() {
      return builtinSchema(definition);
    },
    nameRule: marks.includes("l") ? "label" : marks.includes("p") ? "path" : "subdomain",
    generation: marks.includes("g"),
    unconditionalUpdate: !marks.includes("c"),
    selectableFields: selectable[storage] ?? {},
    ...(marks.includes("u") ? { createsOnUpdate: true as const } : {}),
    ...(isNewEvent ? { convert: eventConversion } : {}),
    ...(marks.includes("d") ? { returnsDeleted: true as const } : {}),
  };
}

export const builtinResources: readonly Resource[] = Object.entries(tables).flatMap(([groupVersion, rows]) => {
  const [group, version] = groupVersion.split("/") as [string, string];
  return rows.map((row) => resourceOf(group, version, row));
});

/** Kinds of which a request is the whole life: they are answered, never stored. */
export const reviewKinds = [
  { group: "authorization.k8s.io", kind: "SubjectAccessReview" },
  { group: "authorization.k8s.io", kind: "SelfSubjectAccessReview" },
  { group: "authorization.k8s.io", kind: "SelfSubjectRulesReview" },
  { group: "authorization.k8s.io", kind: "LocalSubjectAccessReview" },
  { group: "authentication.k8s.io", kind: "TokenReview" },
  { group: "authentication.k8s.io", kind: "SelfSubjectReview" },
].map(({ group, kind }) => ({
  group,
  version: "v1",
  plural: `${kind.toLowerCase()}s`,
  singular: kind.toLowerCase(),
  kind,
  namespaced: kind.startsWith("Local"),
  shortNames: [],
  categories: [],
  subresources: [],
}));
