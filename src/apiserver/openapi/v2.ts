// OpenAPI v2 as JSON. What v2 cannot say of a CRD's schema is left out, as the real server does.
import type { JsonObject, JsonValue } from "../json.ts";
import { isObject } from "../json.ts";
import type { Registry } from "../registry/registry.ts";
import { definitionsOf, pathsOf, withReferences } from "./model.ts";
import type { Path } from "./model.ts";

const beyondV2 = new Set(["nullable", "anyOf", "oneOf", "not", "allOf", "x-kubernetes-validations"]);

export function documentV2(registry: Registry): JsonObject {
  const definitions: JsonObject = {};
  for (const [name, schema] of Object.entries(definitionsOf(registry))) {
    definitions[name] = withReferences(reduced(schema), "#/definitions/");
  }
  const paths: JsonObject = {};
  for (const path of pathsOf(registry.all())) paths[path.path] = pathItem(path);
  return { swagger: "2.0", info: { title: "Holdfast embedded API", version: "v1.36.3" }, paths, definitions };
}

function pathItem({ resource, operations, path }: Path): JsonObject {
  const kind = { group: resource.group, version: resource.version, kind: resource.kind };
  const item: JsonObject = {};
  for (const { method, action, parameters } of operations) {
    item[method] = {
      operationId: `${action}_${path.replaceAll(/[^a-zA-Z]+/g, "_")}`,
      parameters: parameters.map((name) => ({ name, in: "query", type: "string", uniqueItems: true })),
      responses: { "200": { description: "OK" } },
      "x-kubernetes-action": action,
      "x-kubernetes-group-version-kind": kind,
    };
  }
  return item;
}

/** A field of two types, or of unknown content, has no type in v2: clients then accept anything there. */
function reduced(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reduced);
  if (!isObject(value)) return value;
  const copy: JsonObject = {};
  const isOpen = value["x-kubernetes-preserve-unknown-fields"] === true;
  const isMixed = value["x-kubernetes-int-or-string"] === true;
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    if (key === "properties" && isObject(item)) copy[key] = mapValues(item);
    else if (!beyondV2.has(key) && !(isMixed && key === "type"))
      copy[key] = key === "default" || key === "enum" ? item : reduced(item);
  }
  if (isOpen) {
    delete copy["properties"];
    delete copy["required"];
    delete copy["type"];
  }
  return copy;
}

function mapValues(properties: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([key, item]) => [key, item === undefined ? {} : reduced(item)]),
  );
}
