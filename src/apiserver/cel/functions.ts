// The functions that rules may call: those of the language, and of the real server's libraries the ones on texts and lists that CRDs use most.
import { patternOf } from "../schema/validate.ts";
import { CelError } from "./parse.ts";

/** int is a bigint, double a number; a map has its keys as texts, as JSON has. */
export type Value = bigint | number | string | boolean | null | readonly Value[] | ReadonlyMap<string, Value> | Opaque;

/** A value of a type that is not evaluated: times, durations, bytes. It may be there or not, and nothing else is known. */
export class Opaque {
  readonly format: string;

  constructor(format: string) {
    this.format = format;
  }
}

export const isMap = (value: Value): value is ReadonlyMap<string, Value> => value instanceof Map;
export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

export function typeOf(value: Value): string {
  if (value instanceof Opaque) return value.format;
  if (value === null) return "null";
  if (isList(value)) return "list";
  if (isMap(value)) return "map";
  return { bigint: "int", number: "double", string: "string", boolean: "bool" }[typeof value as "bigint"];
}

const wrong = (name: string, value: Value): never => {
  throw new CelError(`no such overload: ${name} of ${typeOf(value)}`);
};
const textOf = (name: string, value: Value | undefined): string =>
  typeof value === "string" ? value : wrong(name, value ?? null);
const countOf = (name: string, value: Value | undefined): number =>
  typeof value === "bigint" ? Number(value) : wrong(name, value ?? null);

function sizeOf(value: Value): Value {
  if (typeof value === "string") return BigInt(Array.from(value).length);
  if (isList(value)) return BigInt(value.length);
  return isMap(value) ? BigInt(value.size) : wrong("size", value);
}

function matches(text: string, pattern: string): boolean {
  const compiled = patternOf(pattern);
  if (compiled === undefined) throw new CelError(`the pattern ${JSON.stringify(pattern)} cannot be read`);
  return compiled.test(text);
}

function toInt(value: Value): Value {
  if (typeof value === "bigint") return value;
  if (typeof value === "number" && Number.isFinite(value)) return int(BigInt(Math.trunc(value)));
  if (typeof value === "string" && /^-?\d+$/.test(value)) return int(BigInt(value));
  return wrong("int", value);
}

/** 64 bits, as everywhere in the language. */
export function int(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new CelError("integer overflow");
  return value;
}

function toDouble(value: Value): Value {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  return typeof value === "string" && value !== "" && !Number.isNaN(Number(value))
    ? Number(value)
    : wrong("double", value);
}

function toText(value: Value): Value {
  if (typeof value === "string") return value;
  if (typeof value === "bigint" || typeof value === "number" || typeof value === "boolean") return String(value);
  return wrong("string", value);
}

/** Key: the name. */
export const functions: Readonly<Record<string, (...args: readonly Value[]) => Value>> = {
  size: (value = null) => sizeOf(value),
  int: (value = null) => toInt(value),
  double: (value = null) => toDouble(value),
  string: (value = null) => toText(value),
  dyn: (value = null) => value,
  matches: (text, pattern) => matches(textOf("matches", text), textOf("matches", pattern)),
};

/** Key: the name. The first argument is what stands before the dot. */
export const methods: Readonly<Record<string, (of: Value, ...args: readonly Value[]) => Value>> = {
  size: sizeOf,
  matches: (of, pattern) => matches(textOf("matches", of), textOf("matches", pattern)),
  startsWith: (of, part) => textOf("startsWith", of).startsWith(textOf("startsWith", part)),
  endsWith: (of, part) => textOf("endsWith", of).endsWith(textOf("endsWith", part)),
  contains: (of, part) => textOf("contains", of).includes(textOf("contains", part)),
  lowerAscii: (of) => textOf("lowerAscii", of).replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()),
  upperAscii: (of) => textOf("upperAscii", of).replaceAll(/[a-z]/g, (letter) => letter.toUpperCase()),
  trim: (of) => textOf("trim", of).trim(),
  split: (of, by) => textOf("split", of).split(textOf("split", by)),
  replace: (of, from, to) => textOf("replace", of).replaceAll(textOf("replace", from), () => textOf("replace", to)),
  substring: (of, from, to) => {
    const points = Array.from(textOf("substring", of));
    const [start, end] = [countOf("substring", from), to === undefined ? points.length : countOf("substring", to)];
    if (start < 0 || end > points.length || start > end) throw new CelError("substring: index out of range");
    return points.slice(start, end).join("");
  },
  join: (of, by = "") =>
    isList(of) ? of.map((each) => textOf("join", each)).join(textOf("join", by)) : wrong("join", of),
};
