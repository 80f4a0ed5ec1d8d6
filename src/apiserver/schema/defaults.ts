// Fills in the defaults of a structural schema, in place. A null where the schema allows none, and has a default, counts as absent.
import type { JsonValue } from "../json.ts";
import { clone, isObject } from "../json.ts";
import { childOf } from "./schema.ts";
import type { Schema } from "./schema.ts";

export function applyDefaults(value: JsonValue, schema: Schema): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return;
    for (const item of value) applyDefaults(item, items);
    return;
  }
  if (!isObject(value)) return;
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (property.default === undefined) continue;
    const given = value[key];
    if (given === undefined || (given === null && property.nullable !== true)) value[key] = clone(property.default);
  }
  for (const [key, item] of Object.entries(value)) {
    const child = childOf(schema, key);
    if (child !== undefined && item !== undefined) applyDefaults(item, child);
  }
}
