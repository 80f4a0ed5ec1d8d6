// The two steps of an apply on the object itself: lay the configuration over it, take away what its manager no longer states.
import type { JsonObject, JsonValue } from "../json.ts";
import { assign, isObject, own } from "../json.ts";
import { childOf, listTypeOf } from "../schema/schema.ts";
import type { Schema } from "../schema/schema.ts";
import type { FieldSet } from "./field-set.ts";
import { elementOf, partsOf } from "./typed.ts";

export function mergeApplied(live: JsonValue | undefined, config: JsonValue, schema: Schema | undefined): JsonValue {
  if (partsOf(config, schema) === undefined) return config;
  if (Array.isArray(config)) return mergeLists(Array.isArray(live) ? live : [], config, schema!);
  if (!isObject(config)) return config;
  const result: JsonObject = isObject(live) ? { ...live } : {};
  for (const [key, value] of Object.entries(config)) {
    if (value !== undefined) assign(result, key, mergeApplied(own(result, key), value, childOf(schema, key)));
  }
  return result;
}

function mergeLists(live: JsonValue[], config: JsonValue[], schema: Schema): JsonValue[] {
  const type = listTypeOf(schema);
  if (type === "atomic") return config;
  const result = [...live];
  /** Key: the item's element; value: its index in the result. */
  const places = new Map(result.map((item, at) => [elementOf(item, schema, type), at]));
  for (const item of config) {
    const element = elementOf(item, schema, type);
    const at = places.get(element);
    if (at === undefined) {
      places.set(element, result.length);
      result.push(item);
    } else {
      result[at] = mergeApplied(result[at], item, schema.items);
    }
  }
  return result;
}

/** `gone` are the fields to take away; `kept` those that somebody states, whose containers must stay. */
export function removeFields(
  value: JsonValue,
  schema: Schema | undefined,
  gone: FieldSet | undefined,
  kept: FieldSet | undefined,
): JsonValue | undefined {
  if (gone === undefined || gone.empty) return value;
  if (gone.member && (kept === undefined || kept.empty)) return undefined;
  if (Array.isArray(value)) return removeItems(value, schema, gone, kept);
  if (!isObject(value)) return value;
  const result: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    const element = `f:${key}`;
    const rest = removeFields(item, childOf(schema, key), gone.children.get(element), kept?.children.get(element));
    if (rest !== undefined) assign(result, key, rest);
  }
  return emptied(value, result, kept) ? undefined : result;
}

function removeItems(
  value: JsonValue[],
  schema: Schema | undefined,
  gone: FieldSet,
  kept: FieldSet | undefined,
): JsonValue | undefined {
  const type = listTypeOf(schema);
  if (type === "atomic") return value;
  const result: JsonValue[] = [];
  for (const item of value) {
    const element = elementOf(item, schema!, type);
    const rest = removeFields(item, schema!.items, gone.children.get(element), kept?.children.get(element));
    if (rest !== undefined) result.push(rest);
  }
  return result.length === 0 && value.length > 0 && (kept === undefined || kept.empty) ? undefined : result;
}

/** A map that lost its last field goes too, unless somebody states the map itself. */
function emptied(before: JsonObject, after: JsonObject, kept: FieldSet | undefined): boolean {
  return Object.keys(after).length === 0 && Object.keys(before).length > 0 && (kept === undefined || kept.empty);
}
