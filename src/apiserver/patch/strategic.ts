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
    const list = result[field];
    if (Array.isArray(list)) result[field] = ordered(list, order, mergeKeyOf(childOf(schema, field)));
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
  if (isObject(value)) {
    assign(result, key, strategy.includes("replace") ? stripDirectives(value) : mergeObject(current, value, schema));
  } else if (Array.isArray(value) && strategy.includes("merge")) {
    assign(result, key, mergeList(Array.isArray(current) ? current : [], value, schema));
  } else {
    assign(result, key, value);
  }
}

function mergeObject(current: JsonValue | undefined, patch: JsonObject, schema: Schema | undefined): JsonObject {
  return applyStrategicPatch(current, patch, schema);
}

function mergeKeyOf(schema: Schema | undefined): string | undefined {
  return schema?.["x-kubernetes-patch-merge-key"];
}

function mergeList(current: JsonValue[], patch: JsonValue[], schema: Schema | undefined): JsonValue[] {
  const key = mergeKeyOf(schema);
  const replaced = patch.find((item) => isObject(item) && item["$patch"] === "replace");
  if (replaced !== undefined) return patch.filter((item) => item !== replaced);
  if (key === undefined) return [...current, ...patch.filter((item) => !current.some((had) => equal(had, item)))];
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
  return result;
}

function deletePrimitives(result: JsonObject, field: string, values: JsonValue): void {
  const list = result[field];
  if (!Array.isArray(list) || !Array.isArray(values)) return;
  result[field] = list.filter((item) => !values.some((value) => equal(value, item)));
}

/** Items named by the order come in that order; each other item stays behind the neighbour it followed. */
function ordered(list: JsonValue[], order: JsonValue[], key: string | undefined): JsonValue[] {
  const id = (item: JsonValue) => (key !== undefined && isObject(item) ? item[key] : item);
  const rank = (item: JsonValue) => order.findIndex((wanted) => equal(id(wanted), id(item)));
  const named = list.filter((item) => rank(item) >= 0).sort((a, b) => rank(a) - rank(b));
  const result = [...named];
  list.forEach((item, at) => {
    if (rank(item) >= 0) return;
    const before = at === 0 ? undefined : list[at - 1];
    const place = before === undefined ? 0 : result.indexOf(before) + 1;
    result.splice(place, 0, item);
  });
  return result;
}

function stripDirectives(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith("$")));
}
