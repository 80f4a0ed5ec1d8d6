// JSON values: their types, deep equality, copies.

/** A whole number beyond 2^53 is a bigint, so that it keeps its digits. */
export type JsonValue = string | number | bigint | boolean | null | JsonValue[] | JsonObject;

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
  for (const key in a) if (!equal(a[key], own(b, key))) return false;
  for (const key in b) if (b[key] !== undefined && own(a, key) === undefined) return false;
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
    if (item !== undefined) assign(copy, key, clone(item));
  }
  return copy;
}

/** A string as it is, nothing for nothing, anything else as JSON. */
export function textOf(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : writeJson(value);
}

/** The value of a key of its own: objects inherit words like `constructor`. */
export function own(value: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Sets a key, whatever its name: plain assignment of `__proto__` would change what the object is. */
export function assign(target: JsonObject, key: string, value: JsonValue): void {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  else target[key] = value;
}

/** JSON.parse tells the text of each number as well. */
function revive(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source ?? "";
  const isLost = typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source);
  return isLost ? BigInt(source) : value;
}

/** JSON.parse that keeps whole numbers of any size. Few texts have one; the others are read at full speed. */
export function parseJson(text: string): JsonValue {
  if (!/\d{16}/.test(text)) return JSON.parse(text) as JsonValue;
  return JSON.parse(text, revive) as JsonValue;
}

/** Node has it, TypeScript does not know it yet. */
const raw = JSON as unknown as { rawJSON(text: string): unknown };

/** JSON.stringify, bigints included. They are rare, so the plain way is tried first. */
export function writeJson(value: JsonValue): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, (_key, item: unknown) =>
      typeof item === "bigint" ? raw.rawJSON(String(item)) : item,
    );
  }
}

/** One text per value: keys sorted, no blanks. */
export function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return writeJson(value);
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
    at = own(at, key);
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
