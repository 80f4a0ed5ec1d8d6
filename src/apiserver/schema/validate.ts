// Checks a value against a structural schema and words each fault as the real server does.
// Not checked: formats other than those in the table below. Rules in CEL are ../cel's.
import { isIP } from "node:net";

import { canonical, equal, isObject, type JsonObject, type JsonValue, own } from "../json.ts";
import { type FieldError, fieldError } from "../status.ts";
import { childOf, isIntOrString, listTypeOf, mapKeys, type Schema } from "./schema.ts";

export function validate(value: JsonValue, schema: Schema, path: string): FieldError[] {
  if (value === null && schema.nullable === true) return [];
  const wrong = wrongType(value, schema, path);
  if (wrong !== undefined) return [wrong];
  const errors: FieldError[] = [];
  if (schema.enum !== undefined && !schema.enum.some((allowed) => equal(allowed, value))) {
    errors.push(fieldError.unsupported(path, value, schema.enum));
  }
  if (typeof value === "string") errors.push(...validateText(value, schema, path));
  else if (typeof value === "number" || typeof value === "bigint") errors.push(...validateNumber(value, schema, path));
  else if (Array.isArray(value)) errors.push(...validateList(value, schema, path));
  else if (isObject(value)) errors.push(...validateObject(value, schema, path));
  errors.push(...validateLogic(value, schema, path));
  return errors;
}

function typeName(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint") return "integer";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function wrongType(value: JsonValue, schema: Schema, path: string): FieldError | undefined {
  const found = typeName(value);
  if (isIntOrString(schema)) {
    return found === "integer" || found === "string" ? undefined : fieldError.wrongType(path, found, "integer,string");
  }
  const { type } = schema;
  if (type === undefined || type === found || (type === "number" && found === "integer")) return undefined;
  return fieldError.wrongType(path, found, type);
}

/** Compiled once per pattern; a CRD has few. Key: the pattern. */
const patterns = new Map<string, RegExp | undefined>();

/** A pattern that JavaScript cannot read checks nothing, rather than refusing everything. */
export function patternOf(source: string): RegExp | undefined {
  if (!patterns.has(source)) {
    let compiled: RegExp | undefined;
    try {
      compiled = fromGo(source);
    } catch {
      compiled = undefined;
    }
    patterns.set(source, compiled);
  }
  return patterns.get(source);
}

const posixClasses: Readonly<Record<string, string>> = {
  alpha: "A-Za-z",
  digit: "0-9",
  alnum: "A-Za-z0-9",
  lower: "a-z",
  upper: "A-Z",
  xdigit: "0-9A-Fa-f",
  space: "\\s",
  word: "\\w",
  punct: "!-\\/:-@\\[-`{-~",
};

/** Whether JavaScript reads it otherwise, unless it is translated: flags, anchors, named groups, classes. */
export const isGoOnly = (pattern: string): boolean => /\(\?[ims]+\)|\[:\w+:\]|\(\?P<|\\[AzpPQ]/.test(pattern);

/** Patterns are written in Go's syntax. */
function fromGo(source: string): RegExp {
  const [lead = "", flags = ""] = /^\(\?([ims]+)\)/.exec(source) ?? [];
  const body = source
    .slice(lead.length)
    .replaceAll(/\[:(\w+):\]/g, (text, name: string) => posixClasses[name] ?? text)
    .replaceAll("(?P<", "(?<")
    .replaceAll("\\A", "^")
    .replaceAll("\\z", "$");
  return new RegExp(body, `u${flags}`);
}

const formats: Readonly<Record<string, (value: string) => boolean>> = {
  "date-time": (value) =>
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.test(value) && !Number.isNaN(Date.parse(value)),
  ipv4: (value) => isIP(value) === 4,
  ipv6: (value) => isIP(value) === 6,
  cidr: (value) => {
    const [address = "", length = "", ...more] = value.split("/");
    const family = isIP(address);
    return more.length === 0 && family !== 0 && /^\d{1,3}$/.test(length) && Number(length) <= (family === 4 ? 32 : 128);
  },
  duration: (value) =>
    /^[+-]?((\d+(\.\d*)?|\.\d+)\s*(ns|us|µs|ms|s|m|h|d|w|seconds?|minutes?|hours?|days?|weeks?)\s*)+$/i.test(value),
  hostname: (value) =>
    value.length <= 253 &&
    /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*\.?$/i.test(value),
  mac: (value) => /^[0-9a-f]{2}([:-][0-9a-f]{2}){5}$/i.test(value),
  uuid: (value) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(value),
  date: (value) => /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)),
  byte: (value) => /^[A-Za-z0-9+/]*={0,2}$/.test(value),
};

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function validateText(value: string, schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { minLength, maxLength, pattern, format } = schema;
  // Lengths count code points.
  const length = minLength === undefined && maxLength === undefined ? 0 : codePoints(value);
  if (maxLength !== undefined && length > maxLength) errors.push(fieldError.tooLong(path, maxLength));
  if (minLength !== undefined && length < minLength) {
    errors.push(fieldError.against(path, value, `should be at least ${minLength} chars long`));
  }
  if (pattern !== undefined && patternOf(pattern)?.test(value) === false) {
    errors.push(fieldError.against(path, value, `should match '${pattern}'`));
  }
  if (format !== undefined && formats[format]?.(value) === false) {
    errors.push(fieldError.against(path, value, `must be of type ${format}: ${JSON.stringify(value)}`));
  }
  return errors;
}

function validateNumber(value: number | bigint, schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const say = (detail: string) => errors.push(fieldError.against(path, value, `should be ${detail}`));
  const { minimum, maximum, multipleOf } = schema;
  if (minimum !== undefined) {
    if (schema.exclusiveMinimum === true && value <= minimum) say(`greater than ${minimum}`);
    else if (value < minimum) say(`greater than or equal to ${minimum}`);
  }
  if (maximum !== undefined) {
    if (schema.exclusiveMaximum === true && value >= maximum) say(`less than ${maximum}`);
    else if (value > maximum) say(`less than or equal to ${maximum}`);
  }
  if (multipleOf !== undefined && !Number.isInteger(Number(value) / multipleOf)) say(`a multiple of ${multipleOf}`);
  return errors;
}

function validateObject(value: JsonObject, schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const at = (key: string) => (path === "" ? key : `${path}.${key}`);
  for (const key of schema.required ?? []) {
    if (own(value, key) === undefined) errors.push(fieldError.required(at(key)));
  }
  const count = Object.keys(value).length;
  if (schema.maxProperties !== undefined && count > schema.maxProperties) {
    errors.push(fieldError.invalid(path, count, `must have at most ${schema.maxProperties} items`));
  }
  if (schema.minProperties !== undefined && count < schema.minProperties) {
    errors.push(fieldError.against(path, count, `should have at least ${schema.minProperties} properties`));
  }
  for (const [key, item] of Object.entries(value)) {
    const child = childOf(schema, key);
    if (child !== undefined && item !== undefined) errors.push(...validate(item, child, at(key)));
  }
  if (schema["x-kubernetes-embedded-resource"] === true) errors.push(...validateEmbedded(value, at));
  return errors;
}

function validateEmbedded(value: JsonObject, at: (key: string) => string): FieldError[] {
  return ["apiVersion", "kind"].flatMap((key) =>
    typeof value[key] === "string" && value[key] !== "" ? [] : [fieldError.required(at(key), "must not be empty")],
  );
}

function validateLogic(value: JsonValue, schema: Schema, path: string): FieldError[] {
  const { allOf = [], anyOf, oneOf, not } = schema;
  const errors = allOf.flatMap((branch) => validate(value, branch, path));
  const passes = (branch: Schema) => validate(value, branch, path).length === 0;
  const say = (rule: string) => errors.push(fieldError.against(path, canonical(value), rule));
  if (anyOf !== undefined && !isIntOrString(schema) && !anyOf.some(passes))
    say("must validate at least one schema (anyOf)");
  if (oneOf !== undefined && oneOf.filter(passes).length !== 1) say("must validate one and only one schema (oneOf)");
  if (not !== undefined && passes(not)) say("must not validate the schema (not)");
  return errors;
}

/** Length, items, and the uniqueness that list types set and map ask for. */
function validateList(value: JsonValue[], schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { items, minItems, maxItems } = schema;
  if (maxItems !== undefined && value.length > maxItems) errors.push(fieldError.tooMany(path, value.length, maxItems));
  if (minItems !== undefined && value.length < minItems)
    errors.push(fieldError.against(path, value.length, `should have at least ${minItems} items`));
  if (items !== undefined) value.forEach((item, at) => errors.push(...validate(item, items, `${path}[${at}]`)));
  const type = listTypeOf(schema);
  if (type === "atomic" && schema.uniqueItems !== true) return errors;
  /** Key: an item of a set, the keys of a map's item; value: how often it was seen. A third one is not told again. */
  const seen = new Map<string, number>();
  value.forEach((item, at) => {
    const key = type === "map" ? mapKeys(item, schema) : item;
    const text = canonical(key);
    const times = (seen.get(text) ?? 0) + 1;
    if (times === 2) errors.push(fieldError.duplicate(`${path}[${at}]`, key));
    seen.set(text, times);
  });
  return errors;
}
