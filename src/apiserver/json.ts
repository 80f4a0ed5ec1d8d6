// JSON values: their types, deep equality, copies.

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A property that is `undefined` counts as absent, since JSON cannot say it. */
export function equal(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => equal(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  for (const key in a) if (!equal(a[key], b[key])) return false;
  for (const key in b) if (b[key] !== undefined && a[key] === undefined) return false;
  return true;
}

export function clone<T extends JsonValue>(value: T): T {
  if (Array.isArray(value)) return value.map((item) => clone(item)) as T;
  return isObject(value) ? (cloneObject(value) as T) : value;
}

function cloneObject(value: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const key in value) {
    const item = value[key];
    if (item !== undefined) copy[key] = clone(item);
  }
  return copy;
}

/** A string as it is, nothing for nothing, anything else as JSON. */
export function textOf(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** One text per value: keys sorted, no blanks. */
export function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const fields = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key]!)}`);
  return `{${fields.join(",")}}`;
}

/** The value below `path`, or undefined where the way ends early. */
export function dig(value: JsonValue | undefined, ...path: string[]): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const key of path) {
    if (!isObject(at)) return undefined;
    at = at[key];
  }
  return at;
}

export function digString(value: JsonValue | undefined, ...path: string[]): string | undefined {
  const found = dig(value, ...path);
  return typeof found === "string" ? found : undefined;
}

export function digList(value: JsonValue | undefined, ...path: string[]): JsonValue[] {
  const found = dig(value, ...path);
  return Array.isArray(found) ? found : [];
}

export function digObject(value: JsonValue | undefined, ...path: string[]): JsonObject {
  const found = dig(value, ...path);
  return isObject(found) ? found : {};
}
