// The columns of pods, with the status in the words that kubectl users know.
import type { JsonValue } from "../json.ts";
import { dig, digList, digString } from "../json.ts";
import type { KubeObject } from "../object.ts";
import { ageOf } from "./age.ts";
import type { TableColumn } from "./columns.ts";

const statuses = (pod: KubeObject) => digList(pod, "status", "containerStatuses");

function restarts(pod: KubeObject): number {
  return statuses(pod).reduce<number>((sum, status) => sum + Number(dig(status, "restartCount") ?? 0), 0);
}

function state(pod: KubeObject): string {
  if (pod.metadata.deletionTimestamp !== undefined) return "Terminating";
  for (const status of statuses(pod)) {
    const reason =
      digString(status, "state", "waiting", "reason") ?? digString(status, "state", "terminated", "reason");
    if (reason !== undefined) return reason;
  }
  return digString(pod, "status", "reason") ?? digString(pod, "status", "phase") ?? "Unknown";
}

const column = (name: string, type: string, cell: (pod: KubeObject) => JsonValue, priority = 0): TableColumn => ({
  name,
  type,
  priority,
  cell,
});

export const podColumns: readonly TableColumn[] = [
  column("Ready", "string", (pod) => {
    const ready = statuses(pod).filter((status) => dig(status, "ready") === true).length;
    return `${ready}/${digList(pod, "spec", "containers").length}`;
  }),
  column("Status", "string", state),
  column("Restarts", "string", (pod) => String(restarts(pod))),
  { name: "Age", type: "string", cell: (pod, nowMs) => ageOf(pod.metadata.creationTimestamp, nowMs) },
  column("IP", "string", (pod) => digString(pod, "status", "podIP") ?? "<none>", 1),
  column("Node", "string", (pod) => digString(pod, "spec", "nodeName") ?? "<none>", 1),
  column("Nominated Node", "string", (pod) => digString(pod, "status", "nominatedNodeName") ?? "<none>", 1),
  column("Readiness Gates", "string", () => "<none>", 1),
];
