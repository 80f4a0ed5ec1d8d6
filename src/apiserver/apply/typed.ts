// How a value falls into fields, by its schema: the elements below it, or none where it is one indivisible field.
import type { JsonValue } from "../json.ts";
import { canonical, isObject } from "../json.ts";
import { childOf, listTypeOf } from "../schema/schema.ts";
import type { Schema } from "../schema/schema.ts";
import { mapKeys } from "../schema/validate-list.ts";
import { FieldSet } from "./field-set.ts";

export interface Part {
  readonly value: JsonValue;
  readonly schema: Schema | undefined;
}

/** Key: the path element. Undefined for leaves, and for lists and maps declared atomic. */
export function partsOf(value: JsonValue | undefined, schema: Schema | undefined): Map<string, Part> | undefined {
  if (Array.isArray(value)) return listParts(value, schema);
  if (!isObject(value) || schema?.["x-kubernetes-map-type"] === "atomic") return undefined;
  const parts = new Map<string, Part>();
  for (const key in value) {
    const item = value[key];
    if (item !== undefined) parts.set(`f:${key}`, { value: item, schema: childOf(schema, key) });
  }
  return parts;
}

function listParts(value: JsonValue[], schema: Schema | undefined): Map<string, Part> | undefined {
  const type = listTypeOf(schema);
  if (type === "atomic") return undefined;
  const parts = new Map<string, Part>();
  for (const item of value) parts.set(elementOf(item, schema!, type), { value: item, schema: schema!.items });
  return parts;
}

export function elementOf(item: JsonValue, schema: Schema, type: "set" | "map"): string {
  return type === "set" ? `v:${canonical(item)}` : `k:${canonical(mapKeys(item, schema))}`;
}

/** The fields that a configuration states: its leaves, its list items, and what is empty. */
export function statedFields(value: JsonValue, schema: Schema | undefined, isItem = false): FieldSet {
  const set = new FieldSet();
  const parts = partsOf(value, schema);
  set.member = isItem || parts === undefined || parts.size === 0;
  for (const [element, part] of parts ?? []) {
    set.children.set(element, statedFields(part.value, part.schema, !element.startsWith("f:")));
  }
  return set;
}

export interface Difference {
  /** Added, or with another value. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

export function differenceOf(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  schema: Schema | undefined,
): Difference {
  const difference = { changed: new FieldSet(), removed: new FieldSet() };
  compare(before, after, schema, difference.changed, difference.removed);
  return difference;
}

function compare(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  schema: Schema | undefined,
  changed: FieldSet,
  removed: FieldSet,
): void {
  if (before === after) return;
  const old = before === undefined ? undefined : partsOf(before, schema);
  const now = after === undefined ? undefined : partsOf(after, schema);
  if (old === undefined && now === undefined) {
    if (before !== undefined && after !== undefined && canonical(before) === canonical(after)) return;
    if (after === undefined) removed.member = true;
    else changed.member = true;
    return;
  }
  if (before === undefined || (old === undefined && after !== undefined)) changed.member = true;
  if (after === undefined || (now === undefined && before !== undefined)) removed.member = true;
  for (const element of new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])) {
    const was = old?.get(element);
    const is = now?.get(element);
    const down = { changed: new FieldSet(), removed: new FieldSet() };
    compare(was?.value, is?.value, (was ?? is)!.schema, down.changed, down.removed);
    if (!down.changed.empty) changed.children.set(element, down.changed);
    if (!down.removed.empty) removed.children.set(element, down.removed);
  }
}
