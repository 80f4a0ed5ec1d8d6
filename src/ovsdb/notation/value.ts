// RFC 7047 section 5.1: <value>, that is <atom>, <set> or <map>.
import { OvsdbError } from "../error.ts";
import { type Atom, atomType, decodeAtom, defaultAtoms, encodeAtom, excerpt } from "./atom.ts";
import type { AtomShape, ColumnShape } from "./shape.ts";
import type { NamedUuid } from "./uuid.ts";

/** `undefined` is the empty value of a column with one or none. */
export type Value = Atom | undefined | ReadonlySet<Atom> | ReadonlyMap<Atom, Atom>;

/** Most sets and maps of most rows are empty: they share one. */
const emptySet: ReadonlySet<Atom> = new Set();
const emptyMap: ReadonlyMap<Atom, Atom> = new Map();

export function decodeValue(shape: ColumnShape, json: unknown, where: string): Value {
  if (isAtomShape(shape)) return exactlyOne(elements(json, where), shape, json, where);
  if ("map" in shape) return decodeMap(shape.map, json, where);
  const list = elements(json, where);
  if ("set" in shape) {
    if (list.length === 0) return emptySet;
    return new Set(list.map((each) => decodeAtom(shape.set, each, where)));
  }
  return list.length === 0 ? undefined : exactlyOne(list, shape.optional, json, where);
}

function exactlyOne(list: readonly unknown[], shape: AtomShape, json: unknown, where: string): Atom {
  if (list.length === 1) return decodeAtom(shape, list[0], where);
  throw new OvsdbError("malformed", `${where}: the server sent ${excerpt(json)} where one value belongs.`);
}

/** A set of one element may be written as the element. */
function elements(json: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(json) || json[0] !== "set") return [json];
  if (json.length === 2 && Array.isArray(json[1])) return json[1] as unknown[];
  throw new OvsdbError("malformed", `${where}: the server sent ${excerpt(json)}, which is no set.`);
}

function decodeMap([keys, values]: readonly [AtomShape, AtomShape], json: unknown, where: string): Value {
  const [tag, pairs] = Array.isArray(json) ? (json as unknown[]) : [];
  if (tag !== "map" || !Array.isArray(pairs)) {
    throw new OvsdbError("malformed", `${where}: the server sent ${excerpt(json)} where a map belongs.`);
  }
  if (pairs.length === 0) return emptyMap;
  const map = new Map<Atom, Atom>();
  for (const pair of pairs as unknown[]) {
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw new OvsdbError("malformed", `${where}: the server sent ${excerpt(pair)} where a pair belongs.`);
    }
    map.set(decodeAtom(keys, pair[0], where), decodeAtom(values, pair[1], where));
  }
  return map;
}

/** `value` is what the type `Write` of the column allows; it is checked all the same. */
export function encodeValue(shape: ColumnShape, value: unknown, where: string): unknown {
  if (isAtomShape(shape)) return encodeAtom(shape, value as Atom, where);
  if ("optional" in shape) {
    return value === undefined ? ["set", []] : encodeAtom(shape.optional, value as Atom, where);
  }
  if ("set" in shape) {
    return ["set", [...new Set(listOf(value, where))].map((each) => encodeAtom(shape.set, each as Atom, where))];
  }
  const [keys, values] = shape.map;
  const pairs = [...pairsOf(value, where)];
  return ["map", pairs.map(([key, each]) => [encodeAtom(keys, key, where), encodeAtom(values, each, where)])];
}

function listOf(value: unknown, where: string): Iterable<unknown> {
  if (Array.isArray(value) || value instanceof Set) return value as Iterable<unknown>;
  throw new OvsdbError("bad-value", `${where}: ${excerpt(value)} is not a set; give an array or a Set.`);
}

function pairsOf(value: unknown, where: string): Iterable<[Atom | NamedUuid, Atom | NamedUuid]> {
  if (value instanceof Map) return value as Map<Atom, Atom>;
  if (typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Set)) {
    return Object.entries(value) as [string, Atom][];
  }
  throw new OvsdbError("bad-value", `${where}: ${excerpt(value)} is not a map; give an object or a Map.`);
}

export function isAtomShape(shape: ColumnShape): shape is AtomShape {
  return typeof shape === "string" || "enum" in shape;
}

/** What a column holds in a row that was inserted without it. */
export function defaultValue(shape: ColumnShape): Value {
  if (isAtomShape(shape)) return defaultAtoms[atomType(shape)];
  if ("map" in shape) return emptyMap;
  return "set" in shape ? emptySet : undefined;
}

export function isSameValue(left: Value, right: Value): boolean {
  if (left === right) return true;
  if (left instanceof Set) return right instanceof Set && left.size === right.size && left.isSubsetOf(right);
  if (!(left instanceof Map) || !(right instanceof Map) || left.size !== right.size) return false;
  for (const [key, value] of left) if (right.get(key) !== value) return false;
  return true;
}
