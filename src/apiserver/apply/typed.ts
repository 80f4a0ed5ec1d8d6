// How a value falls into fields, by its schema, and how two values differ in them.
// After sigs.k8s.io/structured-merge-diff (typed/tofieldset.go, typed/compare.go), whose sets are what managedFields hold.
import type { JsonObject, JsonValue } from "../json.ts";
import { canonical, equal, isObject, own } from "../json.ts";
import { childOf, isIntOrString, listTypeOf } from "../schema/schema.ts";
import type { Schema } from "../schema/schema.ts";
import { mapKeys } from "../schema/validate-list.ts";
import { FieldSet, inWords } from "./field-set.ts";

/** A leaf is one indivisible field: a scalar, or a list or map declared atomic. */
export type Shape = "map" | "list" | "leaf";

/** As the schema says; where it says nothing, as the value looks, and lists are atomic. */
export function shapeOf(value: JsonValue, schema: Schema | undefined): Shape {
  if (schema !== undefined && isIntOrString(schema)) return "leaf";
  switch (schema?.type) {
    case "array":
      return listTypeOf(schema) === "atomic" ? "leaf" : "list";
    case "object":
      return schema["x-kubernetes-map-type"] === "atomic" ? "leaf" : "map";
    case undefined:
      // Null takes the shape of whatever it is compared with.
      return (isObject(value) || value === null) && schema?.["x-kubernetes-map-type"] !== "atomic" ? "map" : "leaf";
    default:
      return "leaf";
  }
}

/** Whether a key is a declared field rather than an entry of a map: the fields of a struct are not owned for themselves. */
const isField = (schema: Schema | undefined, key: string): boolean =>
  schema?.properties !== undefined && Object.hasOwn(schema.properties, key);

/** The path element of an item of a list that is not atomic. */
export function elementOf(item: JsonValue, schema: Schema): string {
  return schema["x-kubernetes-list-type"] === "set" ? `v:${canonical(item)}` : `k:${canonical(mapKeys(item, schema))}`;
}

/** The items of a list by their elements; an element that occurs twice has both. */
export function itemsOf(list: readonly JsonValue[], schema: Schema): Map<string, JsonValue[]> {
  const items = new Map<string, JsonValue[]>();
  for (const item of list) {
    const element = elementOf(item, schema);
    const same = items.get(element);
    if (same === undefined) items.set(element, [item]);
    else same.push(item);
  }
  return items;
}

/** The fields of a value: its leaves, the entries of its maps, the items of its lists, and maps that are empty. */
export function fieldsOf(value: JsonValue, schema: Schema | undefined): FieldSet {
  const set = new FieldSet();
  const shape = shapeOf(value, schema);
  if (shape === "leaf") set.member = true;
  else if (shape === "list") listFields(set, value, schema!);
  else mapFields(set, value, schema);
  return set;
}

function listFields(set: FieldSet, value: JsonValue, schema: Schema): void {
  if (!Array.isArray(value)) return;
  for (const [element, items] of itemsOf(value, schema)) {
    const below = items.length === 1 ? fieldsOf(items[0]!, schema.items) : new FieldSet();
    below.member = true;
    set.children.set(element, below);
  }
}

function mapFields(set: FieldSet, value: JsonValue, schema: Schema | undefined): void {
  if (!isObject(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    const below = fieldsOf(item, childOf(schema, key));
    const isVoid = item === null || (isObject(item) && Object.keys(item).length === 0);
    if (isVoid || !isField(schema, key)) below.member = true;
    if (!below.empty) set.children.set(`f:${key}`, below);
  }
}

/** Where a value has two items of one element in a list that merges, in words; undefined where it has none. */
export function duplicateIn(value: JsonValue, schema: Schema | undefined, path = ""): string | undefined {
  const shape = shapeOf(value, schema);
  if (shape === "list" && Array.isArray(value)) {
    for (const [element, items] of itemsOf(value, schema!)) {
      if (items.length > 1) return `${path}: duplicate entries for key ${inWords(element)}`;
      const below = duplicateIn(items[0]!, schema!.items, path + inWords(element));
      if (below !== undefined) return below;
    }
  }
  if (shape !== "map" || !isObject(value)) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const below = item === undefined ? undefined : duplicateIn(item, childOf(schema, key), `${path}.${key}`);
    if (below !== undefined) return below;
  }
  return undefined;
}

/** The set with the structs above its fields: who owns a field keeps what holds it. */
export function withHolders(set: FieldSet, schema: Schema | undefined): FieldSet {
  const result = new FieldSet();
  result.member = set.member;
  for (const [element, below] of set.children) {
    const key = element.slice(2);
    const isName = element.startsWith("f:");
    const held = withHolders(below, isName ? childOf(schema, key) : schema?.items);
    if (isName && below.children.size > 0 && isField(schema, key)) held.member = true;
    result.children.set(element, held);
  }
  return result;
}

export interface Difference {
  /** Added, or with another value. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

type Side = JsonValue | undefined;

export function differenceOf(before: Side, after: Side, schema: Schema | undefined): Difference {
  const difference = { changed: new FieldSet(), removed: new FieldSet() };
  if (before === after) return difference;
  const { changed, removed } = difference;
  const shapes = new Set([before, after].flatMap((side) => (side === undefined ? [] : shapeOf(side, schema))));
  let isLeaf = false;
  // A value whose schema is open may have been of one shape and be of another.
  for (const shape of shapes) isLeaf = !descend(shape, before, after, schema, difference) || isLeaf;
  if (before === undefined) changed.member = true;
  else if (after === undefined) removed.member = true;
  else if (isLeaf && !equal(before, after)) changed.member = true;
  return difference;
}

/** False where there is nothing to descend into: the value is compared as a whole. */
function descend(shape: Shape, before: Side, after: Side, schema: Schema | undefined, into: Difference): boolean {
  if (shape === "map") return compareMaps(asMap(before), asMap(after), schema, into);
  return shape === "list" && compareLists(asList(before), asList(after), schema!, into);
}

export const asMap = (value: Side): JsonObject => (isObject(value) ? value : {});
export const asList = (value: Side): JsonValue[] => (Array.isArray(value) ? value : []);

function compareMaps(before: JsonObject, after: JsonObject, schema: Schema | undefined, into: Difference): boolean {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  for (const key of keys) {
    note(into, `f:${key}`, differenceOf(own(before, key), own(after, key), childOf(schema, key)));
  }
  return keys.size > 0;
}

function compareLists(before: JsonValue[], after: JsonValue[], schema: Schema, into: Difference): boolean {
  const [old, now] = [itemsOf(before, schema), itemsOf(after, schema)];
  for (const element of new Set([...old.keys(), ...now.keys()])) {
    note(into, element, compareItems(old.get(element) ?? [], now.get(element) ?? [], schema));
  }
  return old.size + now.size > 0;
}

/** Items that share an element are compared as a whole. */
function compareItems(old: JsonValue[], now: JsonValue[], schema: Schema): Difference {
  if (old.length <= 1 && now.length <= 1) return differenceOf(old[0], now[0], schema.items);
  const isTwice = old.length > 1 && now.length > 1;
  const difference = isTwice
    ? differenceOf(undefined, undefined, schema.items)
    : differenceOf(old.length > 1 ? undefined : old[0], now.length > 1 ? undefined : now[0], schema.items);
  if (isTwice) difference.changed.member = !equal(old, now);
  else if (old.length > 1) difference.removed.member = true;
  else difference.changed.member = true;
  return difference;
}

function note(into: Difference, element: string, { changed, removed }: Difference): void {
  if (!changed.empty) into.changed.children.set(element, changed);
  if (!removed.empty) into.removed.children.set(element, removed);
}
