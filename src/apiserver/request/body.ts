// Reading a request's body: JSON, or YAML where the real server takes it, or protobuf, turned into the JSON that it
// stands for, so that everything after this knows JSON only.
import { parse } from "yaml";

import { endOfString } from "../../kube/cache/managed-fields.ts";
import type { ApiRequest } from "../../kube/transport/transport.ts";
import { type JsonObject, type JsonValue, digString, isObject, parseJson, textOf } from "../json.ts";
import type { KubeObject } from "../object.ts";
import { builtinResources, reviewKinds } from "../registry/builtin.ts";
import { type Resource, apiVersion as versionOf } from "../registry/resource.ts";
import { ProtobufError, decodeMessage, openEnvelope } from "../schema/protobuf.ts";
import { StatusError, badRequest, fieldError, invalid, messageOf, unknownFormat } from "../status.ts";

/** The real server's limit on a request's body. */
export const bodyBytesMax = 3 * 1024 * 1024;

export const tooLarge = () =>
  new StatusError(413, "RequestEntityTooLarge", `Request entity too large: limit is ${bodyBytesMax}`);

export function readBody({ body, headers }: ApiRequest): string {
  if (body === undefined) return "";
  const size = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
  if (size > bodyBytesMax) throw tooLarge();
  if (typeof body !== "string" && mediaType(headers) === protobufType) return jsonOf(body);
  return typeof body === "string" ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
}

export function mediaType(headers: Readonly<Record<string, string>>): string {
  return (headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();
}

const yamlTypes = new Set(["application/yaml", "application/apply-patch+yaml"]);

export function parseBody(text: string, type: string): JsonValue {
  refuseDeep(text);
  const value = readValue(text, type);
  // JSON writes an endless number with an exponent or many digits; YAML has a word for it, and nests by indentation.
  if (yamlTypes.has(type) || /\d[eE]\+?\d{3}|\d{300}/.test(text)) refuseStrange(value, 0);
  return value;
}

function refuseStrange(value: JsonValue, depth: number): void {
  if (typeof value === "number" && !Number.isFinite(value))
    throw badRequest(`${value} is no number that JSON can hold`);
  if (typeof value !== "object" || value === null) return;
  if (depth > depthMax) throw badRequest(`the body is nested more than ${depthMax} deep`);
  for (const item of Object.values(value)) if (item !== undefined) refuseStrange(item, depth + 1);
}

function readValue(text: string, type: string): JsonValue {
  try {
    if (!yamlTypes.has(type) || text.trimStart().startsWith("{")) return parseJson(text);
  } catch (cause) {
    if (!yamlTypes.has(type))
      throw badRequest(`couldn't get version/kind; json parse error: ${messageOf(cause)}`, { cause });
  }
  try {
    // Aliases are bounded so that a small text cannot unfold into a huge object.
    return parse(text, { maxAliasCount: 100 }) as JsonValue;
  } catch (cause) {
    throw badRequest(`error parsing YAML: ${messageOf(cause)}`, { cause });
  }
}

/** Deeper than any object of use, and shallow enough for every walk over it; the real server stops at 10,000. */
const depthMax = 1000;

function refuseDeep(text: string): void {
  // So many brackets need a text of that length.
  if (text.length < depthMax) return;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (letter === '"') {
      at = endOfString(text, at);
    } else if (letter === "{" || letter === "[") {
      if (++depth > depthMax) throw badRequest(`the body is nested more than ${depthMax} deep`);
    } else if (letter === "}" || letter === "]") {
      depth--;
    }
  }
}

/** The object in a create or update, its kind checked against the path's. */
export function parseObject(text: string, type: string, resource: Resource): KubeObject {
  if (type !== "" && type !== "application/json" && type !== "application/yaml") {
    throw unknownFormat("accepted media types include: application/json, application/yaml");
  }
  return asObject(parseBody(text, type), resource);
}

export function asObject(value: JsonValue, resource: Resource): KubeObject {
  if (!isObject(value))
    throw badRequest(`the object provided is unrecognized (must be of type ${resource.kind}): it is no object`);
  const wanted = versionOf(resource);
  const kind = value["kind"] ?? resource.kind;
  const version = value["apiVersion"] ?? wanted;
  if (resource.custom !== undefined && (value["kind"] === undefined || value["apiVersion"] === undefined)) {
    throw badRequest("Object 'Kind' or 'apiVersion' is missing in the body: a custom resource says both");
  }
  if (version !== wanted) {
    throw badRequest(
      `the API version in the data (${JSON.stringify(version).slice(1, -1)}) does not match the expected API version (${wanted})`,
    );
  }
  if (kind !== resource.kind && resource.custom !== undefined) {
    const name = digString(value, "metadata", "name") ?? "";
    throw invalid(resource, name, [fieldError.invalid("kind", kind, `must be ${resource.kind}`)]);
  }
  if (kind !== resource.kind) {
    throw badRequest(
      `${textOf(kind)} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}`,
    );
  }
  const metadata = value["metadata"] ?? {};
  if (!isObject(metadata)) throw badRequest(`${resource.kind}: metadata is an object`);
  return { ...value, apiVersion: wanted, kind: resource.kind, metadata };
}

export const protobufType = "application/vnd.kubernetes.protobuf";

/** Kinds that are sent but not stored. Key: kind. */
const others: Readonly<Record<string, string>> = {
  DeleteOptions: "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
  Eviction: "io.k8s.api.policy.v1.Eviction",
  Binding: "io.k8s.api.core.v1.Binding",
  ...Object.fromEntries(
    reviewKinds.map(({ group, version, kind }) => [kind, `io.k8s.api.${group.split(".")[0]}.${version}.${kind}`]),
  ),
};

function jsonOf(body: Uint8Array): string {
  try {
    const { apiVersion, kind, raw } = openEnvelope(Buffer.from(body));
    const object: JsonObject = { ...decodeMessage(raw, definitionOf(apiVersion, kind)), apiVersion, kind };
    return JSON.stringify(object);
  } catch (cause) {
    if (cause instanceof ProtobufError || cause instanceof SyntaxError) throw badRequest(cause.message, { cause });
    throw cause;
  }
}

function definitionOf(apiVersion: string, kind: string): string {
  const resource = builtinResources.find((each) => each.kind === kind && apiVersion === versionOf(each));
  const definition = resource?.definition ?? others[kind];
  if (definition !== undefined) return definition;
  throw unknownFormat(`${kind} of ${apiVersion} is accepted as application/json, application/yaml`);
}
