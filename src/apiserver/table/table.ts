// Table output (meta.k8s.io/v1): what kubectl asks for, so that the server decides which columns to show.
import type { JsonObject } from "../json.ts";
import type { KubeObject } from "../object.ts";
import type { Resource } from "../registry/resource.ts";
import { columnsOf } from "./columns.ts";

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
