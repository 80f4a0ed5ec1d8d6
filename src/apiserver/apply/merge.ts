// The two steps of an apply on the object itself: lay the configuration over it, take away what its manager no longer
// states. test/conformance/api (apply, apply-lists and the stories) says what must come out.
import { assign, isObject, type JsonObject, type JsonValue, own } from "../json.ts";
import { childOf, type Schema } from "../schema/schema.ts";
import { allIn, elementOf, type Fields, partsOf, shapeOf, withHolders } from "./fields.ts";

export function mergeApplied(live: JsonValue | undefined, config: JsonValue, schema: Schema | undefined): JsonValue {
  const shape = shapeOf(config, schema);
  if (config === null && shape !== "leaf") return live ?? null;
  if (shape === "list") return mergeLists(Array.isArray(live) ? live : [], config as JsonValue[], schema!);
  if (shape === "leaf" || !isObject(config)) return config;
  const result: JsonObject = isObject(live) ? { ...live } : {};
  for (const [key, value] of Object.entries(config)) {
    if (value !== undefined) assign(result, key, mergeApplied(own(result, key), value, childOf(schema, key)));
  }
  return result;
}

/**
 * The configuration's items in its own order. Before each come the items that only the object has, up to the place
 * where the object has the next item of both; the rest of the object's own comes last.
 */
function mergeLists(live: JsonValue[], config: JsonValue[], schema: Schema): JsonValue[] {
  const [had, given] = [partsOf(live, schema), partsOf(config, schema)];
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
    const before = had.get(element)?.values ?? [];
    // An item that the object has twice is replaced: nobody knows which of them is meant.
    result.push(
      mergeApplied(before.length === 1 ? before[0] : undefined, given.get(element)!.values[0]!, schema.items),
    );
  }
  const rest = live.slice(at).filter((item) => !given.has(elementOf(item, schema)));
  return [...result, ...rest];
}

/**
 * Takes away what the applier stated before and nobody states now: a part of a map when nothing in it is stated, an
 * item of a list when the item itself or its key is not. `lost`: what others may have owned in such an item.
 */
export function withoutDropped(
  merged: JsonObject,
  schema: Schema | undefined,
  before: Fields,
  now: Fields,
): { readonly result: JsonValue; readonly lost: Fields } {
  const [wasStated, isStated] = [withHolders(before), withHolders(now)];
  const lost = new Set<string>();
  const walk = (value: JsonValue, within: Schema | undefined, path: string): JsonValue => {
    const parts = partsOf(value, within, path);
    if (parts.size === 0 || (path !== "" && !wasStated.has(path))) return value;
    const map: JsonObject = {};
    for (const [element, part] of Array.isArray(value) ? [] : parts) {
      if (wasStated.has(part.path) && !isStated.has(part.path)) continue;
      assign(map, element.slice(2), walk(part.values[0]!, part.schema, part.path));
    }
    const list = (Array.isArray(value) ? value : []).flatMap((item) => {
      const element = elementOf(item, within!);
      const { path: at, schema: inside } = parts.get(element)!;
      const left = before.has(at) && !now.has(at) ? null : walk(item, inside, at);
      if (elementOf(left, within!) === element) return [left];
      allIn(item, inside, at, lost);
      return [];
    });
    // What is emptied is null, which is less than absent: its owner goes on owning it.
    if (Object.keys(map).length + list.length === 0) return null;
    return Array.isArray(value) ? list : map;
  };
  return { result: walk(merged, schema, ""), lost };
}
