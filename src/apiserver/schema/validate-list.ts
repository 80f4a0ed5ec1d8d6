// Lists of a structural schema: their length, and the uniqueness that list types set and map ask for.
import { canonical, isObject, type JsonObject, type JsonValue } from "../json.ts";
import { type FieldError, fieldError } from "../status.ts";
import { listTypeOf, type Schema } from "./schema.ts";

type Validate = (value: JsonValue, schema: Schema, path: string) => FieldError[];

export function validateList(value: JsonValue[], schema: Schema, path: string, validate: Validate): FieldError[] {
  const errors: FieldError[] = [];
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    errors.push(fieldError.tooMany(path, value.length, schema.maxItems));
  }
  if (schema.minItems !== undefined && value.length < schema.minItems) {
    errors.push(
      fieldError.invalid(path, value.length, `${path} in body should have at least ${schema.minItems} items`),
    );
  }
  const { items } = schema;
  if (items !== undefined) value.forEach((item, at) => errors.push(...validate(item, items, `${path}[${at}]`)));
  /** Key: an identity; value: how often it was seen. A third one is not told again. */
  const seen = new Map<string, number>();
  const identity = identityOf(schema);
  if (identity === undefined) return errors;
  value.forEach((item, at) => {
    const key = identity(item);
    const text = canonical(key);
    const times = (seen.get(text) ?? 0) + 1;
    if (times === 2) errors.push(fieldError.duplicate(`${path}[${at}]`, key));
    seen.set(text, times);
  });
  return errors;
}

/** What may occur once only: an item of a set, the keys of a map's item. */
function identityOf(schema: Schema): ((item: JsonValue) => JsonValue) | undefined {
  switch (listTypeOf(schema)) {
    case "set":
      return (item) => item;
    case "map":
      return (item) => mapKeys(item, schema);
    case "atomic":
    default:
      return schema.uniqueItems === true ? (item) => item : undefined;
  }
}

/** The key fields of an item of a list of type map, defaults included. */
export function mapKeys(item: JsonValue, schema: Schema): JsonObject {
  const keys: JsonObject = {};
  for (const key of schema["x-kubernetes-list-map-keys"] ?? []) {
    const value = isObject(item) ? item[key] : undefined;
    const fallback = schema.items?.properties?.[key]?.default;
    if (value !== undefined) keys[key] = value;
    else if (fallback !== undefined) keys[key] = fallback;
  }
  return keys;
}
