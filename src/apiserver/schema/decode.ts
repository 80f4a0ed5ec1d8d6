// Decodes built-in kinds as the real server does into Go structs: drops unknown fields and nulls, refuses a wrong type.
import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import { childOf, isIntOrString, type Schema } from "./schema.ts";

export class DecodeError extends Error {
  readonly code = "WrongType";
}

const goTypes: Readonly<Record<string, string>> = { boolean: "bool", integer: "int", number: "float64" };

function describe(value: JsonValue): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value;
}

function refuse(value: JsonValue, path: string, wanted: string): never {
  throw new DecodeError(`json: cannot unmarshal ${describe(value)} into Go struct field ${path} of type ${wanted}`);
}

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const microTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/;

function checkText(value: string, format: string | undefined): void {
  if (format === undefined || value === "") return;
  const layout = format === "date-time" ? time : format === "micro-time" ? microTime : undefined;
  if (layout !== undefined && (!layout.test(value) || Number.isNaN(Date.parse(value)))) {
    const wanted = format === "date-time" ? "2006-01-02T15:04:05Z07:00" : "2006-01-02T15:04:05.000000Z07:00";
    throw new DecodeError(`parsing time ${JSON.stringify(value)} as ${JSON.stringify(wanted)}: it is not of that form`);
  }
  if (format === "byte" && (value.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(value))) {
    throw new DecodeError("illegal base64 data");
  }
}

/** Works in place; returns the value to keep. */
export function decode(value: JsonValue, schema: Schema, path: string, dropped: string[]): JsonValue {
  if (schema.format === "quantity" && typeof value === "number") return String(value);
  if (isIntOrString(schema)) {
    return typeof value === "number" || typeof value === "string" ? value : refuse(value, path, "intstr.IntOrString");
  }
  switch (schema.type) {
    case "string":
      if (typeof value !== "string") return refuse(value, path, "string");
      checkText(value, schema.format);
      return value;
    case "boolean":
    case "number":
      return typeof value === schema.type ? value : refuse(value, path, goTypes[schema.type]!);
    case "integer":
      return typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value))
        ? value
        : refuse(value, path, schema.format ?? "int");
    case "array":
      return decodeList(value, schema, path, dropped);
    case "object":
      return isObject(value) ? decodeObject(value, schema, path, dropped) : refuse(value, path, "map");
    case undefined:
    default:
      return isObject(value) && schema.properties !== undefined ? decodeObject(value, schema, path, dropped) : value;
  }
}

function decodeList(value: JsonValue, schema: Schema, path: string, dropped: string[]): JsonValue {
  if (!Array.isArray(value)) return refuse(value, path, "slice");
  const { items } = schema;
  if (items === undefined) return value;
  for (let at = 0; at < value.length; at++) value[at] = decode(value[at]!, items, `${path}[${at}]`, dropped);
  return value;
}

/** The real server writes no empty lists and maps, but empty structs, which may mean something (`emptyDir: {}`). */
function isEmpty(value: JsonValue, schema: Schema): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && typeof schema.additionalProperties === "object" && Object.keys(value).length === 0;
}

function decodeObject(value: JsonObject, schema: Schema, path: string, dropped: string[]): JsonObject {
  // An object of which nothing is said holds anything: an embedded object, field sets.
  if (schema.properties === undefined && schema.additionalProperties === undefined) return value;
  for (const [key, item] of Object.entries(value)) {
    const below = path === "" ? key : `${path}.${key}`;
    const child = childOf(schema, key);
    if (child === undefined) {
      delete value[key];
      dropped.push(below);
    } else if (item === null && schema.properties === undefined && child.type === "string") {
      // In a map of texts, null is the empty one.
      value[key] = "";
    } else if (
      item === null ||
      item === undefined ||
      (isEmpty(item, child) && schema.required?.includes(key) !== true)
    ) {
      delete value[key];
    } else {
      value[key] = decode(item, child, below, dropped);
    }
  }
  return value;
}
