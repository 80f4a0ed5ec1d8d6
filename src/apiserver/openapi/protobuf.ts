// OpenAPI v2 in the protobuf form of gnostic (openapi.v2.Document), which kubectl asks for and does not do without.
// Only the fields that this server's document has are written; the numbers are those of OpenAPIv2.proto.
import { stringify } from "yaml";

import { digObject, isObject, type JsonObject, type JsonValue } from "../json.ts";

class Message {
  readonly #parts: Uint8Array[] = [];

  #varint(value: number): void {
    const bytes: number[] = [];
    let rest = value;
    while (rest >= 0x80) {
      bytes.push((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    bytes.push(rest);
    this.#parts.push(Uint8Array.from(bytes));
  }

  bytes(field: number, value: Uint8Array): this {
    this.#varint(field * 8 + 2);
    this.#varint(value.byteLength);
    this.#parts.push(value);
    return this;
  }

  text(field: number, value: JsonValue | undefined): this {
    return typeof value === "string" ? this.bytes(field, Buffer.from(value)) : this;
  }

  message(field: number, value: Message | undefined): this {
    return value === undefined ? this : this.bytes(field, value.encode());
  }

  bool(field: number, value: JsonValue | undefined): this {
    if (value !== true) return this;
    this.#varint(field * 8);
    this.#varint(1);
    return this;
  }

  encode(): Uint8Array {
    return Buffer.concat(this.#parts);
  }
}

const each = (value: JsonValue | undefined) => Object.entries(isObject(value) ? value : {});
const list = (value: JsonValue | undefined) => (Array.isArray(value) ? value : []);

function any(value: JsonValue): Message {
  return new Message().text(2, stringify(value));
}

function extensions(message: Message, field: number, source: JsonObject): Message {
  for (const [key, value] of each(source)) {
    if (!key.startsWith("x-") || value === undefined) continue;
    message.message(field, new Message().text(1, key).message(2, any(value)));
  }
  return message;
}

function schema(source: JsonObject): Message {
  const message = new Message().text(1, source["$ref"]).text(2, source["format"]).text(4, source["description"]);
  if (source["default"] !== undefined) message.message(5, any(source["default"]));
  for (const name of list(source["required"])) message.text(19, name);
  const rest = source["additionalProperties"];
  if (isObject(rest)) message.message(21, new Message().message(1, schema(rest)));
  else if (rest === true) message.message(21, new Message().bool(2, true));
  if (typeof source["type"] === "string") message.message(22, new Message().text(1, source["type"]));
  const { items } = source;
  if (isObject(items)) message.message(23, new Message().message(1, schema(items)));
  if (isObject(source["properties"])) message.message(25, named(source["properties"]));
  return extensions(message, 31, source);
}

function named(schemas: JsonObject): Message {
  const message = new Message();
  for (const [name, value] of each(schemas)) {
    if (isObject(value)) message.message(1, new Message().text(1, name).message(2, schema(value)));
  }
  return message;
}

function parameter(source: JsonObject): Message {
  const query = new Message()
    .text(2, source["in"])
    .text(4, source["name"])
    .text(6, source["type"])
    .bool(20, source["uniqueItems"]);
  // ParametersItem > Parameter > NonBodyParameter > QueryParameterSubSchema
  return new Message().message(1, new Message().message(2, new Message().message(3, query)));
}

function operation(source: JsonObject): Message {
  const message = new Message().text(5, source["operationId"]);
  for (const item of list(source["parameters"])) if (isObject(item)) message.message(8, parameter(item));
  return extensions(message, 13, source);
}

/** Key: method; value: its field in PathItem. */
const methods: Readonly<Record<string, number>> = { get: 2, put: 3, post: 4, delete: 5, patch: 8 };

function pathItem(source: JsonObject): Message {
  const message = new Message();
  for (const [method, value] of each(source)) {
    const field = methods[method];
    if (field !== undefined && isObject(value)) message.message(field, operation(value));
  }
  return message;
}

export function encodeV2(document: JsonObject): Uint8Array {
  const info = digObject(document, "info");
  const paths = new Message();
  for (const [path, item] of each(document["paths"])) {
    if (isObject(item)) paths.message(2, new Message().text(1, path).message(2, pathItem(item)));
  }
  return new Message()
    .text(1, document["swagger"])
    .message(2, new Message().text(1, info["title"]).text(2, info["version"]))
    .message(8, paths)
    .message(9, named(digObject(document, "definitions")))
    .encode();
}
