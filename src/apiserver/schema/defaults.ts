// Fills in the defaults of a structural schema, in place. A null where the schema allows none counts as absent.
import { assign, clone, isObject, type JsonValue, own } from "../json.ts";
import { childOf, type Schema } from "./schema.ts";

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
