// The OpenAPI documents, v2 (JSON and protobuf) and v3 (an index, and one per group and version), made when first asked
// for and again after a CRD changed. What v2 cannot say of a CRD's schema is left out, as the real server does.
import { createHash } from "node:crypto";

import type { ApiResponse } from "../../kube/transport/transport.ts";
import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { Registry } from "../registry/registry.ts";
import { respond } from "../request/represent.ts";
import { noSuchPath } from "../status.ts";
import { definitionsOf, rootOf, withReferences, writtenPaths } from "./model.ts";
import { encodeV2 } from "./protobuf.ts";

// Clients ask for a type with an @, which media types may not have; they insist on the real server's answer, a dot.
const protobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

export function openApiOf(registry: Registry) {
  let generation = -1;
  /** Key: the path, with the form for v2. */
  let made = new Map<string, string | Uint8Array>();
  const once = <T extends string | Uint8Array>(key: string, make: () => T): T => {
    const found = (made.get(key) as T | undefined) ?? make();
    made.set(key, found);
    return found;
  };
  return (path: string, headers: Readonly<Record<string, string>>): ApiResponse => {
    if (generation !== registry.generation) {
      generation = registry.generation;
      made = new Map();
    }
    if (path === "/openapi/v2" && (headers["accept"] ?? "").includes("protobuf")) {
      const bytes = once("v2 protobuf", () => encodeV2(documentV2(registry)));
      return { status: 200, headers: { "content-type": protobufType }, body: piece(bytes) };
    }
    if (path === "/openapi/v2") return json(once(path, () => JSON.stringify(documentV2(registry))));
    if (path === "/openapi/v3") return json(once(path, () => JSON.stringify(indexV3(registry))));
    const root = path.slice("/openapi/v3/".length);
    const document = once(path, () => JSON.stringify(documentV3(registry, root) ?? null));
    if (document === "null") throw noSuchPath();
    return json(document);
  };
}

const json = (text: string) => respond(200, [text]);

async function* piece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const info = { title: "Holdfast embedded API", version: "v1.36.3" };

const beyondV2 = new Set(["nullable", "anyOf", "oneOf", "not", "allOf", "x-kubernetes-validations"]);

function documentV2(registry: Registry): JsonObject {
  const definitions = mapped(definitionsOf(registry), (schema) => withReferences(reduced(schema), "#/definitions/"));
  const form = { parameter: { type: "string", uniqueItems: true }, answer: () => ({}) };
  return { swagger: "2.0", info, paths: writtenPaths(registry.all(), form), definitions };
}

/** A field of two types, or of unknown content, has no type in v2: clients then accept anything there. */
function reduced(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reduced);
  if (!isObject(value)) return value;
  const copy: JsonObject = {};
  const isMixed = value["x-kubernetes-int-or-string"] === true;
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    if (key === "properties" && isObject(item)) copy[key] = mapped(item, reduced);
    else if (!beyondV2.has(key) && !(isMixed && key === "type"))
      copy[key] = key === "default" || key === "enum" ? item : reduced(item);
  }
  if (value["x-kubernetes-preserve-unknown-fields"] !== true) return copy;
  const { properties: _properties, required: _required, type: _type, ...open } = copy;
  return open;
}

const mapped = (values: JsonObject, change: (value: JsonValue) => JsonValue): JsonObject =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value ?? {})]));

function indexV3(registry: Registry): JsonObject {
  const paths: JsonObject = {};
  for (const root of new Set(registry.all().map(rootOf))) {
    const hash = createHash("sha256")
      .update(JSON.stringify(documentV3(registry, root)))
      .digest("hex")
      .slice(0, 32);
    paths[root] = { serverRelativeURL: `/openapi/v3/${root}?hash=${hash.toUpperCase()}` };
  }
  return { paths };
}

function documentV3(registry: Registry, root: string): JsonObject | undefined {
  const resources = registry.all().filter((resource) => rootOf(resource) === root);
  if (resources.length === 0) return undefined;
  const named = definitionsOf(registry, resources);
  const schemas = mapped(named, (schema) => withReferences(schema, "#/components/schemas/"));
  const paths = writtenPaths(resources, {
    parameter: { schema: { type: "string", uniqueItems: true } },
    answer: ({ definition }) => ({
      content: { "application/json": { schema: { $ref: `#/components/schemas/${definition}` } } },
    }),
  });
  return { openapi: "3.0.0", info, paths, components: { schemas } };
}
