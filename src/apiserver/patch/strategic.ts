// Strategic merge patch: like a merge patch, but lists that have a merge key are merged item by item, and directives delete and order.
// Directives: `$patch: delete | replace | merge` in an object, `$deleteFromPrimitiveList/field`, `$setElementOrder/field`, `$retainKeys`.
import type { JsonObject, JsonValue } from "../json.ts";
import { assign, equal, isObject, own } from "../json.ts";
import { childOf } from "../schema/schema.ts";
import type { Schema } from "../schema/schema.ts";
import { badRequest } from "../status.ts";

const deletePrefix = "$deleteFromPrimitiveList/";
const orderPrefix = "$setElementOrder/";

export function applyStrategicPatch(
  target: JsonValue | undefined,
  patch: JsonObject,
  schema: Schema | undefined,
): JsonObject {
  if (patch["$patch"] === "replace") return stripDirectives(patch);
  const result: JsonObject = isObject(target) ? { ...target } : {};
  if (patch["$patch"] === "delete") return {};
  retainKeys(result, patch);
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined || key === "$patch" || key === "$retainKeys") continue;
    if (key.startsWith(deletePrefix)) deletePrimitives(result, key.slice(deletePrefix.length), value);
    else if (!key.startsWith("$")) mergeKey(result, key, value, childOf(schema, key));
  }
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith(orderPrefix) || !Array.isArray(order)) continue;
    const field = key.slice(orderPrefix.length);
    const list = own(result, field);
    const had = isObject(target) ? own(target, field) : undefined;
    const by = mergeKeyOf(childOf(schema, field));
    if (Array.isArray(list)) assign(result, field, ordered(list, order, Array.isArray(had) ? had : [], by));
  }
  return result;
}

function retainKeys(result: JsonObject, patch: JsonObject): void {
  const retained = patch["$retainKeys"];
  if (!Array.isArray(retained)) return;
  for (const key of Object.keys(result)) if (!retained.includes(key)) delete result[key];
}

function mergeKey(result: JsonObject, key: string, value: JsonValue, schema: Schema | undefined): void {
  if (value === null) {
    delete result[key];
    return;
  }
  const current = own(result, key);
  const strategy = schema?.["x-kubernetes-patch-strategy"]?.split(",") ?? [];
  if (isObject(value) && isObject(current)) {
    const isReplaced = strategy.includes("replace");
    assign(result, key, isReplaced ? stripDirectives(value) : applyStrategicPatch(current, value, schema));
  } else if (Array.isArray(value) && Array.isArray(current) && strategy.includes("merge")) {
    assign(result, key, mergeList(current, value, schema));
  } else {
    // There is nothing to merge with: the value is taken as it is, and a map that has a directive is not taken at all.
    const plain = withoutDirectives(value);
    if (plain !== undefined) assign(result, key, plain);
  }
}

function withoutDirectives(value: JsonValue): JsonValue | undefined {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  if (own(value, "$patch") !== undefined) return undefined;
  const result: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    const plain = item === null || item === undefined || key.startsWith("$") ? undefined : withoutDirectives(item);
    if (plain !== undefined) assign(result, key, plain);
  }
  return result;
}

function mergeKeyOf(schema: Schema | undefined): string | undefined {
  return schema?.["x-kubernetes-patch-merge-key"];
}

function mergeList(current: JsonValue[], patch: JsonValue[], schema: Schema | undefined): JsonValue[] {
  const key = mergeKeyOf(schema);
  const replaced = patch.find((item) => isObject(item) && item["$patch"] === "replace");
  if (replaced !== undefined) return patch.filter((item) => item !== replaced);
  if (key === undefined) {
    return ordered(
      [...current, ...patch.filter((item) => !current.some((had) => equal(had, item)))],
      patch,
      current,
      key,
    );
  }
  let result = [...current];
  for (const item of patch) {
    if (!isObject(item)) throw badRequest(`a list merged by ${key} has objects as items`);
    const id = item[key];
    if (id === undefined) throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    if (item["$patch"] === "delete") {
      result = result.filter((had) => !(isObject(had) && equal(had[key], id)));
      continue;
    }
    const at = result.findIndex((had) => isObject(had) && equal(had[key], id));
    if (at < 0) result.push(applyStrategicPatch(undefined, item, schema?.items));
    else result[at] = applyStrategicPatch(result[at], item, schema?.items);
  }
  return ordered(result, patch, current, key);
}

function deletePrimitives(result: JsonObject, field: string, values: JsonValue): void {
  const list = result[field];
  if (!Array.isArray(list) || !Array.isArray(values)) return;
  result[field] = list.filter((item) => !values.some((value) => equal(value, item)));
}

/**
 * Items that `order` names come in its order. Each other item comes before the first of them that followed it in `before`;
 * an item that is new followed nothing.
 */
function ordered(list: JsonValue[], order: JsonValue[], before: JsonValue[], key: string | undefined): JsonValue[] {
  const id = (item: JsonValue) => (key !== undefined && isObject(item) ? item[key] : item);
  const rankIn = (all: JsonValue[], item: JsonValue) => all.findIndex((one) => equal(id(one), id(item)));
  const named = list.filter((item) => rankIn(order, item) >= 0);
  named.sort((a, b) => rankIn(order, a) - rankIn(order, b));
  const others = list.filter((item) => rankIn(order, item) < 0);
  const result: JsonValue[] = [];
  for (const item of named) {
    const place = rankIn(before, item);
    while (others.length > 0 && rankIn(before, others[0]!) < place && rankIn(before, others[0]!) >= 0)
      result.push(others.shift()!);
    result.push(item);
  }
  return [...result, ...others];
}

function stripDirectives(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith("$")));
}
