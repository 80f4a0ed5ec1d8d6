// The schemas of the built-in kinds: types, list keys and patch strategies of every field, without prose. builtin.json
// is generated: test/apiserver/schemas.real.test.ts compares it with a real API server's, and rewrites it when asked.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { isObject, type JsonValue } from "../json.ts";
import type { Schema } from "./schema.ts";

/** Key: the definition's name, like io.k8s.api.core.v1.Pod. References are `{ "$ref": name }`. */
export type Definitions = Readonly<Record<string, JsonValue>>;

let definitions: Definitions | undefined;

export function builtinDefinitions(): Definitions {
  definitions ??= JSON.parse(readFileSync(join(import.meta.dirname, "builtin.json"), "utf8")) as Definitions;
  return definitions;
}

/** Key: the definition's name. Filled before its contents are, so that a kind may contain itself. */
const resolved = new Map<string, Schema>();

/** The schema with its references followed. */
export function builtinSchema(name: string): Schema {
  const known = resolved.get(name);
  if (known !== undefined) return known;
  const definition = builtinDefinitions()[name];
  if (!isObject(definition)) throw new Error(`builtin.json has no definition ${name}: generate it again`);
  const schema: Record<string, JsonValue> = {};
  resolved.set(name, schema);
  for (const [key, value] of Object.entries(definition)) {
    if (value !== undefined) schema[key] = follow(value);
  }
  // Published as a plain string; a client may write a number as well, which is kept as a string.
  if (name.endsWith(".resource.Quantity")) schema["format"] = "quantity";
  if (name.endsWith(".meta.v1.MicroTime")) schema["format"] = "micro-time";
  return schema;
}

function follow(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(follow);
  if (!isObject(value)) return value;
  const reference = value["$ref"];
  const copy: Record<string, JsonValue> = {};
  for (const [key, item] of Object.entries(value)) {
    if (key !== "$ref" && item !== undefined) copy[key] = follow(item);
  }
  if (typeof reference !== "string") return copy;
  const target = builtinSchema(reference) as unknown as JsonValue;
  // A reference with siblings (a list's patch strategy) keeps them; a bare one is the definition, maybe unfinished yet.
  return Object.keys(copy).length === 0 ? target : mergeInto(target, copy);
}

function mergeInto(target: JsonValue, siblings: Record<string, JsonValue>): JsonValue {
  return new Proxy(target as Record<string, JsonValue>, {
    get: (object, key) => (typeof key === "string" && key in siblings ? siblings[key] : Reflect.get(object, key)),
  });
}

export const objectMetaDefinition = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

export function objectMetaSchema(): Schema {
  return builtinSchema(objectMetaDefinition);
}
