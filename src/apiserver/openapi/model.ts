// What the OpenAPI documents say, before it gets one of their forms: the kinds' shapes and the resources' paths.
import { clone, isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { Registry } from "../registry/registry.ts";
import { apiVersion, type Resource } from "../registry/resource.ts";
import { builtinDefinitions, objectMetaDefinition } from "../schema/builtin.ts";

interface Operation {
  readonly method: "get" | "put" | "post" | "delete" | "patch";
  readonly action: string;
  readonly parameters: readonly string[];
}

interface Path {
  readonly path: string;
  readonly resource: Resource;
  readonly operations: readonly Operation[];
}

/** How a version of OpenAPI writes a parameter's type, and what an operation answers with. */
interface Form {
  readonly parameter: JsonObject;
  answer(resource: Resource): JsonObject;
}

const writeParameters = ["dryRun", "fieldManager", "fieldValidation"];

const objectOperations: readonly Operation[] = [
  { method: "get", action: "get", parameters: [] },
  { method: "put", action: "put", parameters: writeParameters },
  { method: "patch", action: "patch", parameters: [...writeParameters, "force"] },
  { method: "delete", action: "delete", parameters: ["dryRun", "gracePeriodSeconds", "propagationPolicy"] },
];

const collectionOperations: readonly Operation[] = [
  { method: "get", action: "list", parameters: ["labelSelector", "fieldSelector", "limit", "continue", "watch"] },
  { method: "post", action: "post", parameters: writeParameters },
];

export function writtenPaths(resources: readonly Resource[], form: Form): JsonObject {
  const paths: JsonObject = {};
  for (const { resource, operations, path } of pathsOf(resources)) {
    const { group, version, kind } = resource;
    const item: JsonObject = {};
    for (const { method, action, parameters } of operations) {
      item[method] = {
        operationId: `${action}_${path.replaceAll(/[^a-zA-Z]+/g, "_")}`,
        parameters: parameters.map((name) => ({ name, in: "query", ...form.parameter })),
        responses: { "200": { description: "OK", ...form.answer(resource) } },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": { group, version, kind },
      };
    }
    paths[path] = item;
  }
  return paths;
}

/** `api/v1` or `apis/GROUP/VERSION`. */
export const rootOf = (resource: Resource) => `${resource.group === "" ? "api" : "apis"}/${apiVersion(resource)}`;

function pathsOf(resources: readonly Resource[]): Path[] {
  return resources.flatMap((resource) => {
    const collection = `/${rootOf(resource)}/${resource.namespaced ? "namespaces/{namespace}/" : ""}${resource.plural}`;
    const paths: Path[] = [
      { path: collection, resource, operations: collectionOperations },
      { path: `${collection}/{name}`, resource, operations: objectOperations },
    ];
    if (resource.subresources.includes("status")) {
      paths.push({ path: `${collection}/{name}/status`, resource, operations: objectOperations.slice(0, 3) });
    }
    return paths;
  });
}

/** Key: definition name. References are `{ "$ref": name }`. */
export function definitionsOf(
  registry: Registry,
  resources: readonly Resource[] = registry.all(),
): Record<string, JsonObject> {
  const found: Record<string, JsonObject> = {};
  const queue: string[] = [];
  for (const resource of resources) {
    const given =
      resource.custom === undefined ? builtinDefinitions()[resource.definition] : customDefinition(resource);
    const definition: JsonObject = isObject(given) ? { ...given } : { type: "object" };
    const { group, version, kind } = resource;
    definition["description"] ??= `${kind} (${group || "core"}/${version}), as served by the embedded API of Holdfast.`;
    definition["x-kubernetes-group-version-kind"] = [{ group, version, kind }];
    found[resource.definition] = definition;
    collectReferences(definition, queue);
  }
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    const definition = builtinDefinitions()[name];
    if (found[name] !== undefined || !isObject(definition)) continue;
    found[name] = definition;
    collectReferences(definition, queue);
  }
  return found;
}

function collectReferences(value: JsonValue | undefined, queue: string[]): void {
  if (Array.isArray(value)) for (const item of value) collectReferences(item, queue);
  if (!isObject(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (key === "$ref" && typeof item === "string") queue.push(item);
    else collectReferences(item, queue);
  }
}

function customDefinition(resource: Resource): JsonObject {
  const { metadata: _metadata, ...properties } = resource.schema?.properties ?? {};
  const schema = clone({ ...resource.schema, properties } as unknown as JsonObject);
  schema["properties"] = { ...(schema["properties"] as JsonObject), metadata: { $ref: objectMetaDefinition } };
  return schema;
}

/** The schema with references that start with `prefix`. */
export function withReferences(value: JsonValue, prefix: string): JsonValue {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, prefix));
  if (!isObject(value)) return value;
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    copy[key] = key === "$ref" && typeof item === "string" ? prefix + item : withReferences(item, prefix);
  }
  return copy;
}
