// OpenAPI v2 as JSON. What v2 cannot say of a CRD's schema is left out, as the real server does.
import type { JsonObject, JsonValue } from "../json.ts";
import { isObject } from "../json.ts";
import type { Registry } from "../registry/registry.ts";
import { definitionsOf, withReferences, writtenPaths } from "./model.ts";

const beyondV2 = new Set(["nullable", "anyOf", "oneOf", "not", "allOf", "x-kubernetes-validations"]);

export function documentV2(registry: Registry): JsonObject {
  const definitions: JsonObject = {};
  for (const [name, schema] of Object.entries(definitionsOf(registry))) {
    definitions[name] = withReferences(reduced(schema), "#/definitions/");
  }
  const paths = writtenPaths(registry.all(), {
    parameter: { type: "string", uniqueItems: true },
    answer: () => ({}),
  });
  return { swagger: "2.0", info: { title: "Holdfast embedded API", version: "v1.36.3" }, paths, definitions };
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
