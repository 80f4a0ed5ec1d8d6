// The two steps of an apply on the object itself: lay the configuration over it, take away what its manager no longer states.
// What must come out is what the real server's structured-merge-diff makes of it: test/conformance/api, apply and stories.
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
 * The configuration's items in its own order. Before each of them comes what only the object has, up to the place where the
 * object has the next item of both; what is left of the object's own comes last.
 */
function mergeLists(live: JsonValue[], config: JsonValue[], schema: Schema): JsonValue[] {
  const [had, given] = [itemsOf(live, schema), itemsOf(config, schema)];
  const wanted = [...given.keys()];
  const result: JsonValue[] = [];
  let at = 0;
  const keepUpTo = (landmark: string | undefined) => {
    for (; at < live.length; at++) {
      const element = elementOf(live[at]!, schema);
      if (element === landmark) return;
      if (!given.has(element)) result.push(live[at]!);
      // Past the last landmark an item of both is one that the object has twice: the real server goes on behind it.
      else if (landmark === undefined) return void at++;
    }
  };
  for (const [index, element] of wanted.entries()) {
    const landmark = wanted.slice(index).find((each) => had.has(each));
    keepUpTo(landmark);
    if (element === landmark) at++;
    const before = had.get(element) ?? [];
    // An item that the object has twice is replaced: nobody knows which of them is meant.
    result.push(mergeApplied(before.length === 1 ? before[0] : undefined, given.get(element)![0]!, schema.items));
  }
  const rest = live.slice(at).filter((item) => !given.has(elementOf(item, schema)));
  return [...result, ...rest];
}

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
