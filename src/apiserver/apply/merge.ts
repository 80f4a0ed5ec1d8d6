// The two steps of an apply on the object itself: lay the configuration over it, take away what its manager no longer states.
// After sigs.k8s.io/structured-merge-diff (typed/merge.go, typed/remove.go, merge/update.go).
import type { JsonObject, JsonValue } from "../json.ts";
import { assign, isObject, own } from "../json.ts";
import { childOf } from "../schema/schema.ts";
import type { Schema } from "../schema/schema.ts";
import type { FieldSet } from "./field-set.ts";
import { asList, asMap, elementOf, fieldsOf, itemsOf, shapeOf, withHolders } from "./typed.ts";

export function mergeApplied(live: JsonValue | undefined, config: JsonValue, schema: Schema | undefined): JsonValue {
  const shape = shapeOf(config, schema);
  if (shape === "list" && Array.isArray(config)) return mergeLists(asList(live), config, schema!);
  if (shape !== "map" || !isObject(config)) return config === null && shape !== "leaf" ? (live ?? null) : config;
  const result: JsonObject = { ...asMap(live) };
  for (const [key, value] of Object.entries(config)) {
    if (value !== undefined) assign(result, key, mergeApplied(own(result, key), value, childOf(schema, key)));
  }
  return result;
}

/**
 * The configuration's items in the configuration's order; each item that only the object has stays before the shared item
 * that it preceded, as far as both orders allow. The configuration has no element twice; the object may.
 */
function mergeLists(live: JsonValue[], config: JsonValue[], schema: Schema): JsonValue[] {
  const [had, given] = [itemsOf(live, schema), itemsOf(config, schema)];
  const [old, wanted] = [live.map((item) => elementOf(item, schema)), [...given.keys()]];
  const shared = wanted.filter((element) => had.has(element));
  const result: JsonValue[] = [];
  const taken = new Set<string>();
  const take = (element: string) => {
    taken.add(element);
    if (shared[0] === element) shared.shift();
    const before = had.get(element) ?? [];
    // An item that the object has twice is replaced: nobody knows which of them is meant.
    result.push(mergeApplied(before.length === 1 ? before[0] : undefined, given.get(element)![0]!, schema.items));
  };
  let [at, next] = [0, 0];
  while (at < old.length || next < wanted.length) {
    const [element, want] = [old[at], wanted[next]];
    if (element !== undefined && !given.has(element)) {
      result.push(live[at++]!);
    } else if (want === undefined || (element !== undefined && element !== want && isLater(element, shared))) {
      at++;
    } else {
      // What was taken already is passed over, together with the next one.
      if (element === want || (element !== undefined && taken.has(element))) at++;
      take(want);
      next++;
    }
  }
  return result;
}

/** A shared item whose turn has not come: the configuration has another one before it. */
const isLater = (element: string, shared: readonly string[]) => shared.length > 0 && shared[0] !== element;

/** `merged` without what the manager stated before (`last`), unless somebody states it now (`managed`, this manager included). */
export function prune(merged: JsonValue, schema: Schema | undefined, last: FieldSet, managed: FieldSet): JsonValue {
  if (last.empty) return merged;
  const fields = (value: JsonValue) => withHolders(fieldsOf(value, schema), schema);
  const [all, stated] = [fields(merged), withHolders(last, schema)];
  const bare = fields(removed(merged, schema, stated));
  const owned = removed(merged, schema, all.minus(bare.union(withHolders(managed, schema))));
  // What nobody owns and this manager has never stated stays.
  return removed(merged, schema, all.minus(fields(owned)).intersect(stated));
}

/** A list or map of which nothing is left is null, which is less than absent: those who own it go on owning it. */
function removed(value: JsonValue, schema: Schema | undefined, gone: FieldSet): JsonValue {
  const shape = shapeOf(value, schema);
  if (shape === "list") return removeItems(asList(value), schema!, gone);
  if (shape === "map") return removeEntries(asMap(value), schema, gone);
  return Array.isArray(value) || isObject(value) ? null : value;
}

function removeItems(list: JsonValue[], schema: Schema, gone: FieldSet): JsonValue {
  const kept = list.flatMap((item) => {
    const below = gone.children.get(elementOf(item, schema));
    if (below?.member === true) return [];
    return [below === undefined ? item : removed(item, schema.items, below)];
  });
  return kept.length === 0 ? null : kept;
}

function removeEntries(map: JsonObject, schema: Schema | undefined, gone: FieldSet): JsonValue {
  const kept: JsonObject = {};
  let isEmpty = true;
  for (const [key, item] of Object.entries(map)) {
    const below = gone.children.get(`f:${key}`);
    if (item === undefined || below?.member === true) continue;
    assign(kept, key, below === undefined ? item : removed(item, childOf(schema, key), below));
    isEmpty = false;
  }
  return isEmpty ? null : kept;
}
