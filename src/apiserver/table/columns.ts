// Table output (meta.k8s.io/v1), which kubectl asks for: the columns of each kind. Kinds not listed show name and age.
import { type JsonObject, type JsonValue, dig, digList, digObject, digString, isObject, textOf } from "../json.ts";
import type { KubeObject } from "../object.ts";
import type { Resource } from "../registry/resource.ts";
import { parsePath } from "./json-path.ts";

interface TableColumn {
  readonly name: string;
  readonly type: string;
  /** Above 0: only with `-o wide`. */
  readonly priority?: number;
  readonly format?: string;
  readonly description?: string;
  cell(object: KubeObject, nowMs: number): JsonValue;
}

const text = (name: string, cell: (object: KubeObject) => JsonValue | undefined, priority = 0): TableColumn => ({
  name,
  type: "string",
  priority,
  cell: (object) => cell(object) ?? "<none>",
});
const count = (name: string, cell: (object: KubeObject) => number): TableColumn => ({ name, type: "integer", cell });

const nameColumn: TableColumn = {
  name: "Name",
  type: "string",
  format: "name",
  cell: (object) => object.metadata.name ?? "",
};

const ageColumn: TableColumn = {
  name: "Age",
  type: "string",
  cell: (object, nowMs) => ageOf(object.metadata.creationTimestamp, nowMs),
};

const size = (value: JsonValue | undefined) => (isObject(value) ? Object.keys(value).length : 0);
const number = (value: JsonValue | undefined) => (typeof value === "number" ? value : 0);
const at =
  (...path: string[]) =>
  (object: KubeObject) =>
    digString(object, ...path);
const amount =
  (...path: string[]) =>
  (object: KubeObject) =>
    number(dig(object, ...path));

function nodeStatus(node: KubeObject): string {
  const ready = digList(node, "status", "conditions").find((condition) => dig(condition, "type") === "Ready");
  const state = ready === undefined ? "Unknown" : dig(ready, "status") === "True" ? "Ready" : "NotReady";
  return dig(node, "spec", "unschedulable") === true ? `${state},SchedulingDisabled` : state;
}

function nodeRoles(node: KubeObject): string {
  const prefix = "node-role.kubernetes.io/";
  const roles = Object.keys(node.metadata.labels ?? {}).filter((label) => label.startsWith(prefix));
  return roles.map((label) => label.slice(prefix.length)).join(",") || "<none>";
}

function servicePorts(service: KubeObject): string {
  const ports = digList(service, "spec", "ports").map(
    (port) => `${textOf(dig(port, "port"))}/${digString(port, "protocol") ?? "TCP"}`,
  );
  return ports.join(",") || "<none>";
}

function eventObject(event: KubeObject): string {
  const about = digObject(event, "involvedObject");
  return `${(digString(about, "kind") ?? "").toLowerCase()}/${digString(about, "name") ?? ""}`;
}

const replicas = (status: string) => (object: KubeObject) =>
  `${number(dig(object, "status", status))}/${number(dig(object, "spec", "replicas") ?? 1)}`;

const statuses = (pod: KubeObject) => digList(pod, "status", "containerStatuses");

function podReady(pod: KubeObject): string {
  const ready = statuses(pod).filter((status) => dig(status, "ready") === true).length;
  return `${ready}/${digList(pod, "spec", "containers").length}`;
}

function podStatus(pod: KubeObject): string {
  if (pod.metadata.deletionTimestamp !== undefined) return "Terminating";
  for (const status of statuses(pod)) {
    const waiting = digString(status, "state", "waiting", "reason");
    const reason = waiting ?? digString(status, "state", "terminated", "reason");
    if (reason !== undefined) return reason;
  }
  return digString(pod, "status", "reason") ?? digString(pod, "status", "phase") ?? "Unknown";
}

const podRestarts = (pod: KubeObject) =>
  String(statuses(pod).reduce<number>((sum, status) => sum + Number(dig(status, "restartCount") ?? 0), 0));

const webhooks = count("Webhooks", (object) => digList(object, "webhooks").length);
const boundRole = text("Role", (binding) =>
  ["kind", "name"].map((key) => digString(binding, "roleRef", key)).join("/"),
);

/** Key: storage. Name comes before these, age after them, unless the list has it. */
const columns: Readonly<Record<string, readonly TableColumn[]>> = {
  "/pods": [
    text("Ready", podReady),
    text("Status", podStatus),
    text("Restarts", podRestarts),
    ageColumn,
    text("IP", at("status", "podIP"), 1),
    text("Node", at("spec", "nodeName"), 1),
    text("Nominated Node", at("status", "nominatedNodeName"), 1),
    text("Readiness Gates", () => undefined, 1),
  ],
  "/namespaces": [text("Status", at("status", "phase"))],
  "/nodes": [
    text("Status", nodeStatus),
    text("Roles", nodeRoles),
    ageColumn,
    text("Version", (node) => digString(node, "status", "nodeInfo", "kubeletVersion") ?? ""),
  ],
  "/configmaps": [count("Data", (object) => size(object["data"]) + size(object["binaryData"]))],
  "/secrets": [text("Type", at("type")), count("Data", (object) => size(object["data"]))],
  "/serviceaccounts": [count("Secrets", (object) => digList(object, "secrets").length)],
  "/services": [
    text("Type", at("spec", "type")),
    text("Cluster-IP", at("spec", "clusterIP")),
    text("External-IP", (service) => digList(service, "spec", "externalIPs").map(textOf).join(",") || "<none>"),
    text("Port(s)", servicePorts),
  ],
  "/events": [
    {
      name: "Last Seen",
      type: "string",
      cell: (event, nowMs) =>
        ageOf(
          digString(event, "lastTimestamp") ?? digString(event, "eventTime") ?? event.metadata.creationTimestamp,
          nowMs,
        ),
    },
    text("Type", at("type")),
    text("Reason", at("reason")),
    text("Object", eventObject),
    text("Message", (event) => digString(event, "message")?.trim()),
  ],
  "apps/deployments": [
    text("Ready", replicas("readyReplicas")),
    count("Up-to-date", amount("status", "updatedReplicas")),
    count("Available", amount("status", "availableReplicas")),
  ],
  "apps/daemonsets": [
    count("Desired", amount("status", "desiredNumberScheduled")),
    count("Current", amount("status", "currentNumberScheduled")),
    count("Ready", amount("status", "numberReady")),
    count("Up-to-date", amount("status", "updatedNumberScheduled")),
    count("Available", amount("status", "numberAvailable")),
  ],
  "apps/statefulsets": [text("Ready", replicas("readyReplicas"))],
  "coordination.k8s.io/leases": [text("Holder", (lease) => digString(lease, "spec", "holderIdentity") ?? "")],
  "apiextensions.k8s.io/customresourcedefinitions": [text("Created At", (crd) => crd.metadata.creationTimestamp ?? "")],
  "admissionregistration.k8s.io/mutatingwebhookconfigurations": [webhooks],
  "admissionregistration.k8s.io/validatingwebhookconfigurations": [webhooks],
  "rbac.authorization.k8s.io/rolebindings": [boundRole],
  "rbac.authorization.k8s.io/clusterrolebindings": [boundRole],
};

/** Events and CRDs show other times than their age. */
const ageless = new Set(["/events", "apiextensions.k8s.io/customresourcedefinitions"]);

function columnsOf(resource: Resource): readonly TableColumn[] {
  if (resource.custom !== undefined) return [nameColumn, ...resource.custom.columns.map(customColumn)];
  const own = columns[resource.storage] ?? [];
  const withAge =
    own.some((column) => column.name === "Age") || ageless.has(resource.storage) ? own : [...own, ageColumn];
  return resource.storage === "/events" ? withAge : [nameColumn, ...withAge];
}

type PrinterColumn = NonNullable<Resource["custom"]>["columns"][number];

function customColumn(column: PrinterColumn): TableColumn {
  const read = parsePath(column.jsonPath);
  return {
    ...column,
    cell: (object, nowMs) => {
      const values = read?.(object) ?? [];
      const [value] = values;
      if (value === undefined || value === null) return null;
      if (column.type === "date") return ageOf(textOf(value), nowMs);
      if (column.type !== "string") return value;
      return values.map(textOf).join(",");
    },
  };
}

export type IncludeObject = "None" | "Metadata" | "Object";

export function columnDefinitions(resource: Resource): JsonObject[] {
  return columnsOf(resource).map(({ name, type, format, description, priority }) => ({
    name,
    type,
    format: format ?? "",
    description: description ?? "",
    priority: priority ?? 0,
  }));
}

export function rowOf(resource: Resource, object: KubeObject, include: IncludeObject, nowMs: number): JsonObject {
  const cells = columnsOf(resource).map((column) => column.cell(object, nowMs));
  if (include === "None") return { cells };
  return { cells, object: include === "Object" ? object : partialOf(object) };
}

export function partialOf(object: KubeObject): JsonObject {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata };
}

/** How long ago, in as few characters as kubectl itself uses: 45s, 3m20s, 5h, 12d. */
function ageOf(timestamp: string | null | undefined, nowMs: number): string {
  if (timestamp === undefined || timestamp === null || timestamp === "") return "<unknown>";
  return duration(Math.max(0, Math.floor((nowMs - Date.parse(timestamp)) / 1000)));
}

/** [upper bound in seconds, unit, unit below where it is still shown]. */
const scale: readonly (readonly [number, number, string, number, string])[] = [
  [120, 1, "s", 0, ""],
  [600, 60, "m", 1, "s"],
  [3 * 3600, 60, "m", 0, ""],
  [8 * 3600, 3600, "h", 60, "m"],
  [48 * 3600, 3600, "h", 0, ""],
  [8 * 86_400, 86_400, "d", 3600, "h"],
  [2 * 365 * 86_400, 86_400, "d", 0, ""],
  [8 * 365 * 86_400, 365 * 86_400, "y", 86_400, "d"],
];

function duration(seconds: number): string {
  for (const [bound, unit, name, below, belowName] of scale) {
    if (seconds >= bound) continue;
    const rest = below === 0 ? 0 : Math.floor((seconds % unit) / below);
    return `${Math.floor(seconds / unit)}${name}${rest === 0 ? "" : `${rest}${belowName}`}`;
  }
  return `${Math.floor(seconds / (365 * 86_400))}y`;
}
