// Makes src/apiserver/schema/builtin.json from a real server's OpenAPI v2 document: the shapes of our kinds, no prose.
import type { JsonObject, JsonValue } from "../../src/apiserver/json.ts";
import { dig, digObject, isObject } from "../../src/apiserver/json.ts";

const kept = new Set([
  "type",
  "format",
  "properties",
  "additionalProperties",
  "items",
  "required",
  "default",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
  "x-kubernetes-patch-strategy",
  "x-kubernetes-patch-merge-key",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-int-or-string",
]);

const prefix = "#/definitions/";

/** The definitions that the roots reach, by name, in order. */
export function condense(document: JsonObject, roots: readonly string[]): JsonObject {
  const definitions = digObject(document, "definitions");
  const found: JsonObject = {};
  const queue = [...roots];
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (found[name] !== undefined) continue;
    const definition = definitions[name];
    if (!isObject(definition)) throw new Error(`the real server has no definition ${name}`);
    found[name] = strip(definition, queue);
  }
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function strip(schema: JsonObject, queue: string[]): JsonObject {
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "$ref" && typeof value === "string") {
      const name = value.slice(prefix.length);
      queue.push(name);
      result["$ref"] = name;
    } else if (kept.has(key) && value !== undefined) {
      result[key] = key === "properties" ? properties(value, queue) : nested(value, queue);
    }
  }
  return result;
}

function properties(value: JsonValue, queue: string[]): JsonValue {
  const result: JsonObject = {};
  for (const [name, schema] of Object.entries(digObject(value))) {
    if (isObject(schema)) result[name] = strip(schema, queue);
  }
  return result;
}

function nested(value: JsonValue, queue: string[]): JsonValue {
  return isObject(value) && (dig(value, "type") !== undefined || dig(value, "$ref") !== undefined)
    ? strip(value, queue)
    : value;
}
