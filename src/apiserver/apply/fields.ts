// Sets of fields: a field is its path, in the elements by which managedFields (FieldsV1) name the parts of an object.
import { canonical, equal, isObject, type JsonObject, type JsonValue } from "../json.ts";
import { childOf, listTypeOf, mapKeys, type Schema } from "../schema/schema.ts";

/** Paths: elements like `f:spec`, `k:{"name":"a"}` and `v:"a"`, joined by the separator. */
export type Fields = ReadonlySet<string>;

const separator = "\0";

const below = (path: string, element: string): string => (path === "" ? element : `${path}${separator}${element}`);

export function readFields(tree: JsonObject, path = "", into = new Set<string>()): Set<string> {
  for (const [element, child] of Object.entries(tree)) {
    if (element === "." && path !== "") into.add(path);
    if (element[1] !== ":") continue;
    const at = below(path, element);
    if (isObject(child) && Object.keys(child).length > 0) readFields(child, at, into);
    else into.add(at);
  }
  return into;
}

export function writeFields(fields: Fields): JsonObject {
  const tree: JsonObject = {};
  for (const path of [...fields].sort()) {
    let [node, at] = [tree, ""];
    for (const element of path.split(separator)) {
      if (fields.has(at)) node["."] = {};
      at = below(at, element);
      node = (node[element] ??= {}) as JsonObject;
    }
  }
  return tree;
}

/** The fields, and everything that holds one of them. */
export function withHolders(fields: Fields): Set<string> {
  const all = new Set(fields);
  for (const path of fields) {
    for (let end = path.lastIndexOf(separator); end > 0; end = path.lastIndexOf(separator, end - 1)) {
      all.add(path.slice(0, end));
    }
  }
  return all;
}

/** As the real server names a field to a person: `.spec.ports[name="http"].port`. */
export function inWords(path: string): string {
  const words = path.split(separator).map((element) => {
    const [kind, name] = [element[0], element.slice(2)];
    if (kind === "f") return `.${name}`;
    if (kind !== "k") return `[${kind === "v" ? "=" : ""}${name}]`;
    const keys = Object.entries(JSON.parse(name) as JsonObject);
    return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(",")}]`;
  });
  return words.join("");
}

/** A part of a map or list: all values that one element names, since a list may have an element twice. */
export interface Part {
  readonly path: string;
  readonly values: JsonValue[];
  readonly schema: Schema | undefined;
}

export type Shape = "map" | "list" | "leaf";

/** Whether a value's parts have their own owners. An atomic value has one owner; null is an empty map or list. */
export function shapeOf(value: JsonValue | undefined, schema: Schema | undefined): Shape {
  const type = value === null ? schema?.type : undefined;
  if (isObject(value) || type === "object") return schema?.["x-kubernetes-map-type"] === "atomic" ? "leaf" : "map";
  return (Array.isArray(value) || type === "array") && listTypeOf(schema) !== "atomic" ? "list" : "leaf";
}

/** The element that names an item of a list of type set or map. */
export function elementOf(item: JsonValue, schema: Schema): string {
  return listTypeOf(schema) === "set" ? `v:${canonical(item)}` : `k:${canonical(mapKeys(item, schema))}`;
}

/** Key: the element. Empty for a leaf. */
export function partsOf(value: JsonValue | undefined, schema: Schema | undefined, path = ""): Map<string, Part> {
  const parts = new Map<string, Part>();
  const shape = shapeOf(value, schema);
  if (shape === "map") {
    for (const [key, child] of Object.entries((value ?? {}) as JsonObject)) {
      if (child === undefined) continue;
      parts.set(`f:${key}`, { path: below(path, `f:${key}`), values: [child], schema: childOf(schema, key) });
    }
  } else if (shape === "list") {
    for (const item of (value ?? []) as JsonValue[]) {
      const element = elementOf(item, schema!);
      const known = parts.get(element);
      if (known === undefined)
        parts.set(element, { path: below(path, element), values: [item], schema: schema!.items });
      else known.values.push(item);
    }
  }
  return parts;
}

/** What an applier states: leaves, items of lists, empty maps. A map without a schema is a field beside its content. */
export function statedIn(
  value: JsonValue,
  schema: Schema | undefined,
  path = "",
  into = new Set<string>(),
): Set<string> {
  const [shape, parts] = [shapeOf(value, schema), partsOf(value, schema, path)];
  if (shape !== "list" || value === null) {
    if (parts.size === 0 || schema === undefined) into.add(path);
  }
  for (const part of parts.values()) {
    if (shape === "list") into.add(part.path);
    for (const each of part.values) statedIn(each, part.schema, part.path, into);
  }
  return into;
}

/** Every field of a value: its leaves, and all that holds them. */
export function allIn(value: JsonValue, schema: Schema | undefined, path = "", into = new Set<string>()): Set<string> {
  into.add(path);
  for (const part of partsOf(value, schema, path).values()) allOf(part, into);
  return into;
}

/** What is in an element that a list has twice is nobody's: it is not known which of them is meant. */
function allOf({ values, schema, path }: Part, into: Set<string>): void {
  if (values.length === 1) allIn(values[0]!, schema, path, into);
  else into.add(path);
}

/** What two values differ in. A field whose value is another one is in both. */
export interface Difference {
  readonly gone: Set<string>;
  readonly come: Set<string>;
}

export function differenceOf(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  schema: Schema | undefined,
  path = "",
  into: Difference = { gone: new Set(), come: new Set() },
): Difference {
  if (equal(before, after)) return into;
  const [had, has] = [partsOf(before, schema, path), partsOf(after, schema, path)];
  const isOther = before === undefined || after === undefined || shapeOf(before, schema) !== shapeOf(after, schema);
  if (isOther || (had.size === 0 && has.size === 0)) {
    if (before !== undefined) allIn(before, schema, path, into.gone);
    if (after !== undefined) allIn(after, schema, path, into.come);
    return into;
  }
  for (const element of new Set([...had.keys(), ...has.keys()])) {
    const [one, other] = [had.get(element), has.get(element)];
    if (one !== undefined && other !== undefined && one.values.length === 1 && other.values.length === 1) {
      differenceOf(one.values[0], other.values[0], one.schema, one.path, into);
    } else if (!equal(one?.values, other?.values)) {
      if (one !== undefined) allOf(one, into.gone);
      if (other !== undefined) allOf(other, into.come);
    }
  }
  return into;
}

/** The path of an element that a list has twice, in words. */
export function duplicateIn(value: JsonValue, schema: Schema | undefined, path = ""): string | undefined {
  for (const [element, part] of partsOf(value, schema, path)) {
    if (part.values.length > 1) return `${inWords(path)}: duplicate entries for key ${inWords(element)}`;
    const found = duplicateIn(part.values[0]!, part.schema, part.path);
    if (found !== undefined) return found;
  }
  return undefined;
}
