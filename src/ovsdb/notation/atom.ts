// RFC 7047 section 5.1: <atom>.
//
// Not promised: integers beyond 2^53, which are read as the nearest number; such a number cannot be written, so a wrong
// one never gets into a database.
import { OvsdbError } from "../error.ts";
import type { AtomShape, AtomType } from "./shape.ts";
import { isNamedUuid, isUuid, type NamedUuid, zeroUuid } from "./uuid.ts";

/** A uuid is a string here: its column says what it is. */
export type Atom = number | boolean | string;

export function atomType(shape: AtomShape): AtomType {
  return typeof shape === "string" ? shape : "string";
}

export function decodeAtom(shape: AtomShape, json: unknown, where: string): Atom {
  const type = atomType(shape);
  if (type === "uuid") {
    const [tag, uuid] = Array.isArray(json) ? (json as unknown[]) : [];
    if (tag === "uuid" && isUuid(uuid)) return uuid;
  } else if (typeof json === "number") {
    if (type === "real" || (type === "integer" && Number.isInteger(json))) return json;
  } else if ((typeof json === "string" || typeof json === "boolean") && typeof json === type) return json;
  throw new OvsdbError("malformed", `${where}: the server sent ${excerpt(json)} where ${nouns[type]} belongs.`);
}

export function encodeAtom(shape: AtomShape, value: Atom | NamedUuid, where: string): unknown {
  const type = atomType(shape);
  if (isNamedUuid(value) && type === "uuid") return ["named-uuid", value.named];
  if (typeof value !== "object" && isWritable[type](value)) return type === "uuid" ? ["uuid", value] : value;
  throw new OvsdbError("bad-value", `${where}: ${excerpt(value)} is not ${nouns[type]} that can be written.`);
}

export const defaultAtoms: Readonly<Record<AtomType, Atom>> = {
  integer: 0,
  real: 0,
  boolean: false,
  string: "",
  uuid: zeroUuid,
};

/** A message with half a surrogate pair, or with NUL, makes ovsdb-server close the connection. */
const isText = (value: Atom) => typeof value === "string" && value.isWellFormed() && !value.includes("\0");

const isWritable: Readonly<Record<AtomType, (value: Atom) => boolean>> = {
  integer: (value) => Number.isSafeInteger(value),
  real: (value) => Number.isFinite(value),
  boolean: (value) => typeof value === "boolean",
  string: isText,
  uuid: (value) => isUuid(value),
};

const nouns: Readonly<Record<AtomType, string>> = {
  integer: "an integer",
  real: "a number",
  boolean: "true or false",
  string: "a string",
  uuid: "a uuid",
};

/** At most 80 characters of what was sent, for a sentence. */
export function excerpt(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}
