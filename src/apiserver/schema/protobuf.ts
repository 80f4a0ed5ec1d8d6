// Reads built-in objects in protobuf, as current kubectl and controllers send creates. Answers are always JSON.
//
// The wire has numbers only: the names come from field-numbers.json, the types from the schemas. Go writes every field
// that is not a pointer, set or not. If JSON leaves it out at zero, its name has a question mark: zero is absent.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { digObject, isObject, type JsonObject, type JsonValue, textOf } from "../json.ts";
import { builtinDefinitions } from "./builtin.ts";

let numbers: JsonObject | undefined;

/** Key: definition, then field number; value: the field's name, or the numbers of a part that JSON writes inline. */
function fieldNumbers(definition: string): JsonObject {
  numbers ??= JSON.parse(readFileSync(join(import.meta.dirname, "field-numbers.json"), "utf8")) as JsonObject;
  return digObject(numbers, definition);
}

export class ProtobufError extends Error {
  readonly code = "MalformedProtobuf";
}

interface Field {
  readonly number: number;
  /** Of a varint. */
  readonly value: bigint;
  /** Of a string, bytes or message; the eight bytes of a double. */
  readonly bytes: Buffer;
}

/** Ten bytes hold 64 bits; more is malformed. */
function readVarint(buffer: Buffer, from: number): [bigint, number] {
  let value = 0n;
  for (let at = from; at < buffer.length && at < from + 10; at++) {
    value |= BigInt(buffer[at]! & 0x7f) << BigInt((at - from) * 7);
    if (buffer[at]! < 0x80) return [value, at + 1];
  }
  throw new ProtobufError("a number in the protobuf body does not end");
}

function* fieldsOf(buffer: Buffer): Generator<Field> {
  for (let at = 0; at < buffer.length;) {
    const [key, next] = readVarint(buffer, at);
    const number = Number(key >> 3n);
    const wire = Number(key & 7n);
    if (wire === 0) {
      const [value, end] = readVarint(buffer, next);
      yield { number, value, bytes: Buffer.alloc(0) };
      at = end;
      continue;
    }
    const [start, end] = extent(buffer, wire, next);
    if (end > buffer.length) throw new ProtobufError("the protobuf body ends in the middle of a field");
    yield { number, value: 0n, bytes: buffer.subarray(start, end) };
    at = end;
  }
}

function extent(buffer: Buffer, wire: number, at: number): [number, number] {
  if (wire === 1) return [at, at + 8];
  if (wire === 5) return [at, at + 4];
  if (wire !== 2) throw new ProtobufError(`wire type ${wire} is not used by Kubernetes`);
  const [length, start] = readVarint(buffer, at);
  return [start, start + Number(length)];
}

const magic = Buffer.from("k8s\0");

/** The envelope (runtime.Unknown): which kind it is, and its bytes. */
export function openEnvelope(body: Buffer): { apiVersion: string; kind: string; raw: Buffer } {
  if (!body.subarray(0, 4).equals(magic))
    throw new ProtobufError("the body does not start as protobuf of Kubernetes does");
  const found = { apiVersion: "", kind: "", raw: Buffer.alloc(0) };
  for (const field of fieldsOf(body.subarray(4))) {
    if (field.number === 2) found.raw = Buffer.from(field.bytes);
    if (field.number !== 1) continue;
    for (const part of fieldsOf(field.bytes)) {
      if (part.number === 1) found.apiVersion = part.bytes.toString("utf8");
      if (part.number === 2) found.kind = part.bytes.toString("utf8");
    }
  }
  return found;
}

/** As of JSON bodies: the schema inside a CRD may contain itself, and whoever reads it afterwards is recursive too. */
const depthMax = 1000;

export function decodeMessage(raw: Buffer, definition: string, depth = 0): JsonObject {
  if (depth > depthMax) throw new ProtobufError(`the protobuf body is nested more than ${depthMax} deep`);
  const schema = builtinDefinitions()[definition];
  if (!isObject(schema)) throw new ProtobufError(`${definition} is not known in protobuf`);
  const result: JsonObject = {};
  fill(result, raw, fieldNumbers(definition), digObject(schema, "properties"), depth + 1);
  return result;
}

function fill(result: JsonObject, raw: Buffer, names: JsonObject, properties: JsonObject, depth: number): void {
  for (const field of fieldsOf(raw)) {
    const entry = names[field.number];
    if (isObject(entry)) fill(result, field.bytes, entry, properties, depth);
    if (typeof entry !== "string") continue;
    const name = entry.replace("?", "");
    const schema = digObject(properties, name);
    const { items, additionalProperties } = schema;
    if (isObject(items)) {
      const list = result[name];
      const value = valueOf(field, items, depth);
      if (Array.isArray(list)) list.push(value ?? null);
      else result[name] = [value ?? null];
    } else if (isObject(additionalProperties)) {
      const map = isObject(result[name]) ? result[name] : {};
      addPair(map, field.bytes, additionalProperties, depth);
      result[name] = map;
    } else {
      const value = valueOf(field, schema, depth);
      if (value !== undefined && !(name !== entry && isZero(value))) result[name] = value;
    }
  }
}

const isZero = (value: JsonValue) => value === "" || value === 0 || value === false;

/** A map is a list of pairs: 1 is the key, 2 the value. */
function addPair(map: JsonObject, raw: Buffer, schema: JsonObject, depth: number): void {
  let key = "";
  let value: JsonValue = schema["type"] === "string" ? "" : {};
  for (const field of fieldsOf(raw)) {
    if (field.number === 1) key = field.bytes.toString("utf8");
    if (field.number === 2) value = valueOf(field, schema, depth) ?? value;
  }
  map[key] = value;
}

function valueOf(field: Field, schema: JsonObject, depth: number): JsonValue | undefined {
  const reference = schema["$ref"];
  if (typeof reference === "string") {
    const special = specials[reference.slice(reference.lastIndexOf(".") + 1)];
    return special === undefined ? decodeMessage(field.bytes, reference, depth) : special(field.bytes, depth);
  }
  const type = textOf(schema["type"]);
  switch (type) {
    case "boolean":
      return field.value !== 0n;
    case "integer":
      return Number(BigInt.asIntN(64, field.value));
    case "number":
      return field.bytes.readDoubleLE(0);
    case "string":
      if (schema["format"] === "byte") return field.bytes.toString("base64");
      return field.bytes.toString("utf8");
    default:
      throw new ProtobufError("a field of this kind cannot be read from protobuf: send it as JSON");
  }
}

const partsOf = (bytes: Buffer, number: number) => [...fieldsOf(bytes)].filter((field) => field.number === number);
const texts = (bytes: Buffer, number: number) => partsOf(bytes, number).map((field) => field.bytes.toString("utf8"));
const text = (bytes: Buffer, number: number) => texts(bytes, number)[0];
const count = (bytes: Buffer, number: number) => Number(BigInt.asIntN(64, partsOf(bytes, number)[0]?.value ?? 0n));

/** Types that are one value in JSON; an absent time is an empty message: no value. Key: the definition's last part. */
const specials: Readonly<Record<string, (bytes: Buffer, depth: number) => JsonValue | undefined>> = {
  Quantity: (bytes) => text(bytes, 1),
  Time: (bytes) => (bytes.length === 0 ? undefined : time(bytes).replace(/\.\d+Z$/, "Z")),
  MicroTime: (bytes) => (bytes.length === 0 ? undefined : time(bytes).replace(/\.\d+Z$/, `.${micros(bytes)}Z`)),
  IntOrString: (bytes) => (count(bytes, 1) === 0 ? count(bytes, 2) : (text(bytes, 3) ?? "")),
  FieldsV1: (bytes) => JSON.parse(text(bytes, 1) ?? "{}") as JsonValue,
  RawExtension: (bytes) => JSON.parse(text(bytes, 1) ?? "null") as JsonValue,
  // Of the schemas in a CustomResourceDefinition: any value, and what may be one of two things.
  JSON: (bytes) => JSON.parse(text(bytes, 1) ?? "null") as JsonValue,
  JSONSchemaPropsOrArray: (bytes, depth) => schemasOf(bytes, 1, depth)[0] ?? schemasOf(bytes, 2, depth),
  JSONSchemaPropsOrBool: (bytes, depth) => schemasOf(bytes, 2, depth)[0] ?? count(bytes, 1) !== 0,
  JSONSchemaPropsOrStringArray: (bytes, depth) => schemasOf(bytes, 1, depth)[0] ?? texts(bytes, 2),
};

const schemaDefinition = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
const schemasOf = (bytes: Buffer, number: number, depth: number): JsonObject[] =>
  partsOf(bytes, number).map((field) => decodeMessage(field.bytes, schemaDefinition, depth));

const micros = (bytes: Buffer) => String(Math.floor(count(bytes, 2) / 1000)).padStart(6, "0");
const time = (bytes: Buffer) => new Date(count(bytes, 1) * 1000 + count(bytes, 2) / 1e6).toISOString();
