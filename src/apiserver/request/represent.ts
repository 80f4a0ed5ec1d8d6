// How an answer is written: whole objects, tables, or metadata only, as the Accept header asks.
import { stringify } from "yaml";

import type { ApiResponse } from "../../kube/transport/transport.ts";
import { type JsonObject, writeJson } from "../json.ts";
import { apiVersion, type Resource } from "../registry/resource.ts";
import { StatusError, badRequest } from "../status.ts";
import type { Entry } from "../store/entry.ts";
import { columnDefinitions, type IncludeObject, partialOf, rowOf } from "../table/columns.ts";
import { fromStorage, itemText, textOf } from "./conversion.ts";
import type { Page } from "./list.ts";

export interface Form {
  readonly as: "Object" | "Table" | "PartialObjectMetadata";
  readonly isYaml: boolean;
}

const metadataForms = new Set(["PartialObjectMetadata", "PartialObjectMetadataList"]);

/** The first of the accepted forms that can be served; throws 406 when there is none. */
export function negotiate(accept: string | undefined): Form {
  if (accept === undefined || accept.trim() === "") return { as: "Object", isYaml: false };
  for (const part of accept.split(",")) {
    const [type = "", ...parameters] = part.split(";").map((item) => item.trim());
    const isYaml = type === "application/yaml";
    if (!isYaml && type !== "application/json" && type !== "*/*" && type !== "application/*") continue;
    const values = new Map(parameters.map((parameter) => parameter.split("=", 2) as [string, string]));
    const as = values.get("as");
    if (as === undefined) return { as: "Object", isYaml };
    if (values.get("g") !== "meta.k8s.io" || values.get("v") !== "v1") continue;
    if (as === "Table") return { as: "Table", isYaml };
    if (metadataForms.has(as)) return { as: "PartialObjectMetadata", isYaml };
  }
  const message =
    "only the following media types are accepted: application/json, application/yaml, application/json;as=Table;v=v1;g=meta.k8s.io, application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
  throw new StatusError(406, "NotAcceptable", message);
}

export function includeObject(query: URLSearchParams): IncludeObject {
  const value = query.get("includeObject") ?? "";
  if (value === "") return "Metadata";
  if (value === "None" || value === "Metadata" || value === "Object") return value;
  throw badRequest(
    `includeObject: Unsupported value: ${JSON.stringify(value)}: supported values: "Metadata", "None", "Object"`,
  );
}

/** One object, in the form asked for, as text. */
export function entryText(
  resource: Resource,
  entry: Entry,
  form: Form,
  include: IncludeObject,
  nowMs: number,
  withColumns = true,
): string {
  if (form.as === "Object") return textOf(resource, entry);
  const object = fromStorage(resource, entry.object);
  if (form.as === "PartialObjectMetadata") return JSON.stringify(partialOf(object));
  return writeJson({
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: { resourceVersion: String(entry.revision) },
    columnDefinitions: withColumns ? columnDefinitions(resource) : [],
    rows: [rowOf(resource, object, include, nowMs)],
  });
}

function listMeta(page: Page): JsonObject {
  return {
    resourceVersion: String(page.revision),
    ...(page.continueToken === undefined ? {} : { continue: page.continueToken }),
    ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
  };
}

/** Pieces of a list, so that a long one does not need one long string. */
export function* listText(
  resource: Resource,
  page: Page,
  form: Form,
  include: IncludeObject,
  nowMs: number,
): Generator<string> {
  const metadata = JSON.stringify(listMeta(page));
  if (form.as === "Table") {
    const columns = JSON.stringify(columnDefinitions(resource));
    yield `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":${metadata},"columnDefinitions":${columns},"rows":[`;
    yield* joined(page.entries, (entry) =>
      writeJson(rowOf(resource, fromStorage(resource, entry.object), include, nowMs)),
    );
    yield "]}";
    return;
  }
  const isPartial = form.as === "PartialObjectMetadata";
  const kind = isPartial ? "PartialObjectMetadataList" : resource.listKind;
  const version = isPartial ? "meta.k8s.io/v1" : apiVersion(resource);
  yield `{"kind":"${kind}","apiVersion":"${version}","metadata":${metadata},"items":[`;
  yield* joined(page.entries, (entry) =>
    isPartial ? JSON.stringify(partialOf(fromStorage(resource, entry.object))) : itemText(resource, entry),
  );
  yield "]}";
}

/** About 64 KiB a piece: large enough that the cost per piece vanishes. */
const pieceChars = 64 * 1024;

function* joined(entries: readonly Entry[], write: (entry: Entry) => string): Generator<string> {
  let piece = "";
  let separator = "";
  for (const entry of entries) {
    piece += separator + write(entry);
    separator = ",";
    if (piece.length < pieceChars) continue;
    yield piece;
    piece = "";
  }
  yield piece;
}

export function warningHeaders(warnings: readonly string[]): Record<string, string> {
  if (warnings.length === 0) return {};
  // Several are joined in one header, as RFC 9110 allows.
  return { warning: warnings.map((warning) => `299 - ${quoted(warning)}`).join(", ") };
}

const quoted = (text: string) => `"${text.replaceAll(/[\r\n]+/g, " ").replaceAll(/[\\"]/g, "\\$&")}"`;

async function* bytes(pieces: Iterable<string>): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) if (piece !== "") yield Buffer.from(piece);
}

export function respond(
  status: number,
  pieces: Iterable<string>,
  form: Form,
  headers: Record<string, string> = {},
): ApiResponse {
  if (!form.isYaml) {
    return {
      status,
      headers: { "content-type": "application/json", "cache-control": "no-cache, private", ...headers },
      body: bytes(pieces),
    };
  }
  const text = stringify(JSON.parse([...pieces].join("")));
  return { status, headers: { "content-type": "application/yaml", ...headers }, body: bytes([text]) };
}

const plainForm: Form = { as: "Object", isYaml: false };

export function respondJson(status: number, value: JsonObject, headers: Record<string, string> = {}): ApiResponse {
  return respond(status, [writeJson(value)], plainForm, headers);
}

export function respondText(status: number, text: string, type = "text/plain; charset=utf-8"): ApiResponse {
  return { status, headers: { "content-type": type, "cache-control": "no-cache, private" }, body: bytes([text]) };
}
