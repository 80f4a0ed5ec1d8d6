// Strategic merge patch: a merge patch that merges lists by the key that the kind's schema names, and with directives
// (`$patch`, `$retainKeys`, `$deleteFromPrimitiveList/<list>`, `$setElementOrder/<list>`) for what a value cannot say.
import { type JsonObject, type JsonValue, assign, canonical, isObject, own } from "../json.ts";
import { type Schema, childOf } from "../schema/schema.ts";
import { badRequest } from "../status.ts";

export function applyStrategicPatch(target: JsonObject, patch: JsonObject, schema: Schema | undefined): JsonObject {
  const how = own(patch, "$patch");
  if (how === "delete") return {};
  const retained = own(patch, "$retainKeys");
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(how === "replace" ? {} : target)) {
    if (value !== undefined && (!Array.isArray(retained) || retained.includes(key))) assign(result, key, value);
  }
  // A list that only directives name is changed as well.
  const keys = Object.keys(patch).map((key) => key.replace(/^\$(deleteFromPrimitiveList|setElementOrder)\//, ""));
  for (const key of new Set(keys.filter((each) => !each.startsWith("$")))) {
    const [before, value, inside] = [own(result, key), own(patch, key), childOf(schema, key)];
    const [order, removed] = [own(patch, `$setElementOrder/${key}`), own(patch, `$deleteFromPrimitiveList/${key}`)];
    let after: JsonValue | undefined = before;
    if (Array.isArray(value) || (value === undefined && Array.isArray(before) && isMerged(inside))) {
      after = mergeLists(before, value ?? [], inside, asList(order), asList(removed));
    } else if (value !== undefined) after = patched(before, value, inside);
    if (after === undefined || after === null) delete result[key];
    else assign(result, key, after);
  }
  return result;
}

const asList = (value: JsonValue | undefined): JsonValue[] => (Array.isArray(value) ? value : []);

/** Undefined where nothing is left: a map that says how it is to be treated, where there is none to treat. */
function patched(target: JsonValue | undefined, patch: JsonValue, schema: Schema | undefined): JsonValue | undefined {
  if (Array.isArray(patch)) return mergeLists(target, patch, schema, [], []);
  if (!isObject(patch)) return patch;
  if (isObject(target)) return applyStrategicPatch(target, patch, schema);
  return own(patch, "$patch") === undefined ? applyStrategicPatch({}, patch, schema) : undefined;
}

const isMerged = (schema: Schema | undefined): boolean =>
  schema?.["x-kubernetes-patch-strategy"]?.split(",").includes("merge") === true;

const isMarked = (item: JsonValue, how: string): item is JsonObject => isObject(item) && own(item, "$patch") === how;

function mergeLists(
  target: JsonValue | undefined,
  patch: JsonValue[],
  schema: Schema | undefined,
  order: JsonValue[],
  removed: JsonValue[],
): JsonValue[] {
  const isReplaced = patch.some((item) => isMarked(item, "replace"));
  const given = patch.filter((item) => !isMarked(item, "delete") && !isMarked(item, "replace"));
  if (!Array.isArray(target) || !isMerged(schema) || isReplaced) {
    return given.map((item) => patched(undefined, item, schema?.items)).filter((item) => item !== undefined);
  }
  const mergeKey = schema?.["x-kubernetes-patch-merge-key"];
  const keyOf = (item: JsonValue): string | undefined => {
    const value = mergeKey === undefined ? item : isObject(item) ? own(item, mergeKey) : undefined;
    return value === undefined ? undefined : canonical(value);
  };
  const keyGiven = (item: JsonValue): string => {
    const key = keyOf(item);
    if (key !== undefined) return key;
    if (!isObject(item)) throw badRequest(`a list merged by ${mergeKey} has objects as items`);
    throw badRequest(`map: ${canonical(item)} does not contain declared merge key: ${mergeKey}`);
  };
  const gone = new Set([...patch.filter((item) => isMarked(item, "delete")).map(keyGiven), ...removed.map(canonical)]);
  const result = target.filter((item) => !gone.has(keyOf(item) ?? ""));
  const places = firstPlaces(result.map(keyOf));
  const known = new Map(places);
  for (const item of given) {
    const key = keyGiven(item);
    const at = known.get(key);
    const after = patched(at === undefined ? undefined : result[at], item, schema?.items);
    if (after === undefined) continue;
    if (at === undefined && mergeKey !== undefined) known.set(key, result.length);
    result[at ?? result.length] = after;
  }
  return ordered(result, places, firstPlaces([...order, ...given].map(keyOf)), keyOf);
}

/** Key: the key of an item, or undefined for an item without; value: where it is first. */
type Places = ReadonlyMap<string | undefined, number>;

const firstPlaces = (keys: readonly (string | undefined)[]): Places =>
  new Map(keys.map((key, at) => [key, at] as const).reverse());

/**
 * Items that the patch names come in the patch's order. Each other item stays before the first of these that it
 * preceded in the object; new items of the patch come before them.
 */
function ordered(
  items: readonly JsonValue[],
  places: Places,
  named: Places,
  keyOf: (item: JsonValue) => string | undefined,
): JsonValue[] {
  const placeOf = (item: JsonValue) => places.get(keyOf(item)) ?? -1;
  const rankOf = (item: JsonValue) => named.get(keyOf(item)) ?? -1;
  const others = items.filter((item) => rankOf(item) < 0);
  const result: JsonValue[] = [];
  let at = 0;
  for (const item of items.filter((each) => rankOf(each) >= 0).sort((a, b) => rankOf(a) - rankOf(b))) {
    while (at < others.length && placeOf(others[at]!) < placeOf(item)) result.push(others[at++]!);
    result.push(item);
  }
  return [...result, ...others.slice(at)];
}

/** RFC 7386: an object is merged key by key, null deletes, everything else replaces. */
export function applyMergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    if (value === null) delete result[key];
    else assign(result, key, applyMergePatch(own(result, key), value));
  }
  return result;
}
