// RFC 7047 section 3.2: <type>, <base-type> and <atomic-type> of a column, as a server's schema has them.
import { OvsdbError } from "../error.ts";
import { atomType, excerpt } from "../notation/atom.ts";
import type { AtomShape, AtomType, ColumnShape } from "../notation/shape.ts";
import { isAtomShape } from "../notation/value.ts";

export interface ColumnType {
  readonly shape: ColumnShape;
  /** It may have more than one element: changes of it come as differences (ovsdb-server(7), 4.1.14). */
  readonly isComposite: boolean;
}

interface WireType {
  readonly key?: unknown;
  readonly value?: unknown;
  readonly min?: unknown;
  readonly max?: unknown;
}

const atomTypes: readonly unknown[] = ["integer", "real", "boolean", "string", "uuid"] satisfies AtomType[];

export function parseColumnType(json: unknown, where: string): ColumnType {
  const { key, value, min = 1, max = 1 } = isObject(json) ? (json as WireType) : { key: json };
  if (typeof min !== "number" || (typeof max !== "number" && max !== "unlimited")) throw notAType(json, where);
  const isComposite = max === "unlimited" || max > 1;
  const element = parseBaseType(key, where);
  if (value !== undefined) return { shape: { map: [element, parseBaseType(value, where)] }, isComposite };
  if (isComposite) return { shape: { set: element }, isComposite };
  return { shape: min === 0 ? { optional: element } : element, isComposite };
}

function parseBaseType(json: unknown, where: string): AtomShape {
  const { type, enum: allowed } = isObject(json) ? (json as { type?: unknown; enum?: unknown }) : { type: json };
  if (!atomTypes.includes(type)) throw notAType(json, where);
  const [tag, list] = Array.isArray(allowed) ? (allowed as unknown[]) : ["set", allowed === undefined ? [] : [allowed]];
  if (type !== "string" || tag !== "set" || !Array.isArray(list) || list.length === 0) return type as AtomType;
  return { enum: list.map(String) };
}

function notAType(json: unknown, where: string): OvsdbError {
  return new OvsdbError("malformed", `${where}: the server's schema has ${excerpt(json)}, which is no type.`);
}

export function isObject(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

/** As a person says it, such as "a set of uuid". Two shapes with the same words are read and written alike. */
export function describeShape(shape: ColumnShape): string {
  if (isAtomShape(shape)) return atomType(shape);
  if ("map" in shape) return `a map of ${atomType(shape.map[0])} to ${atomType(shape.map[1])}`;
  return "set" in shape ? `a set of ${atomType(shape.set)}` : `an optional ${atomType(shape.optional)}`;
}
