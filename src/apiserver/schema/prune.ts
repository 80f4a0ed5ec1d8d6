// Drops what a schema does not know, in place, and tells what was dropped: `spec.foo`, `spec.list[0].bar`.
import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import { objectMetaSchema } from "./builtin.ts";
import { childOf, type Schema } from "./schema.ts";

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
