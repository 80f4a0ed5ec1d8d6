// Drops what a schema does not know, in place, and tells what was dropped: `spec.foo`, `spec.list[0].bar`.
import { type JsonObject, type JsonValue, assign, clone, isObject, own } from "../json.ts";
import { objectMetaSchema } from "./builtin.ts";
import { type Schema, childOf } from "./schema.ts";

/** Custom resources: the rules of structural schemas. Metadata is the caller's to prune. */
export function prune(value: JsonValue, schema: Schema, path: string, dropped: string[]): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items !== undefined) value.forEach((item, index) => prune(item, items, `${path}[${index}]`, dropped));
  } else if (isObject(value)) {
    pruneObject(value, schema, path, dropped);
  }
}

function pruneObject(value: JsonObject, schema: Schema, path: string, dropped: string[]): void {
  const { additionalProperties } = schema;
  const embedded = schema["x-kubernetes-embedded-resource"] === true;
  for (const [key, item] of Object.entries(value)) {
    const below = path === "" ? key : `${path}.${key}`;
    if (embedded && (key === "apiVersion" || key === "kind")) continue;
    if (embedded && key === "metadata") {
      pruneMetadata(item, below, dropped);
      continue;
    }
    const child = childOf(schema, key);
    if (child !== undefined) {
      if (item !== undefined) prune(item, child, below, dropped);
    } else if (additionalProperties !== true && schema["x-kubernetes-preserve-unknown-fields"] !== true) {
      delete value[key];
      dropped.push(below);
    }
  }
}

export function pruneMetadata(value: JsonValue | undefined, path: string, dropped: string[]): void {
  const known = objectMetaSchema().properties ?? {};
  if (!isObject(value)) return;
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(known, key)) continue;
    delete value[key];
    dropped.push(`${path}.${key}`);
  }
}

/** Fills in the defaults of a structural schema, in place. A null where the schema allows none counts as absent. */
export function applyDefaults(value: JsonValue, schema: Schema): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return;
    for (const item of value) applyDefaults(item, items);
    return;
  }
  if (!isObject(value)) return;
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const given = own(value, key);
    const isVoid = given === null && property.nullable !== true;
    if (property.default !== undefined && (given === undefined || isVoid)) assign(value, key, clone(property.default));
    else if (isVoid) delete value[key];
  }
  for (const [key, item] of Object.entries(value)) {
    const child = childOf(schema, key);
    if (item === null && child !== undefined && child.nullable !== true) delete value[key];
    else if (child !== undefined && item !== undefined) applyDefaults(item, child);
  }
}
