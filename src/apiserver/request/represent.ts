// How an answer is written: whole objects, tables, or metadata only, as the Accept header asks.
import { stringify } from "yaml";

import type { Clock } from "../../kube/clock.ts";
import type { ApiResponse } from "../../kube/transport/transport.ts";
import { type JsonObject, writeJson } from "../json.ts";
import { apiVersion, type Resource } from "../registry/resource.ts";
import { StatusError, badRequest } from "../status.ts";
import type { Entry } from "../store/entry.ts";
import { columnDefinitions, type IncludeObject, partialOf, rowOf } from "../table/columns.ts";
import type { Context } from "./context.ts";
import { fromStorage, itemText, textOf } from "./conversion.ts";
import type { Page } from "./list.ts";

interface Form {
  readonly as: "Object" | "Table" | "PartialObjectMetadata";
  readonly isYaml: boolean;
}

/** How a client wants to see the objects of a resource. */
export interface View extends Form {
  readonly resource: Resource;
  readonly include: IncludeObject;
  readonly clock: Clock;
}

export function viewOf({ resource, headers, query }: Context, clock: Clock): View {
  return { ...negotiate(headers["accept"]), resource, include: includeObject(query), clock };
}

const metadataForms = new Set(["PartialObjectMetadata", "PartialObjectMetadataList"]);

/** The first of the accepted forms that can be served; throws 406 when there is none. */
function negotiate(accept: string | undefined): Form {
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

function includeObject(query: URLSearchParams): IncludeObject {
  const value = query.get("includeObject") ?? "";
  if (value === "") return "Metadata";
  if (value === "None" || value === "Metadata" || value === "Object") return value;
  throw badRequest(
    `includeObject: Unsupported value: ${JSON.stringify(value)}: supported values: "Metadata", "None", "Object"`,
  );
}

/** One object, in the form asked for, as text. */
export function entryText({ resource, as, include, clock }: View, entry: Entry, withColumns = true): string {
  if (as === "Object") return textOf(resource, entry);
  const object = fromStorage(resource, entry.object);
  if (as === "PartialObjectMetadata") return JSON.stringify(partialOf(object));
  return writeJson({
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: { resourceVersion: String(entry.revision) },
    columnDefinitions: withColumns ? columnDefinitions(resource) : [],
    rows: [rowOf(resource, object, include, clock.wallMs())],
  });
}

/** Pieces of a list, so that a long one does not need one long string. */
export function* listText({ resource, as, include, clock }: View, page: Page): Generator<string> {
  const { revision, continueToken, remaining, entries } = page;
  const metadata = JSON.stringify({
    resourceVersion: String(revision),
    continue: continueToken,
    remainingItemCount: remaining,
  });
  if (as === "Table") {
    const nowMs = clock.wallMs();
    const columns = JSON.stringify(columnDefinitions(resource));
    yield `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":${metadata},"columnDefinitions":${columns},"rows":[`;
    yield* joined(entries, (entry) => writeJson(rowOf(resource, fromStorage(resource, entry.object), include, nowMs)));
    yield "]}";
    return;
  }
  const isPartial = as === "PartialObjectMetadata";
  const kind = isPartial ? "PartialObjectMetadataList" : resource.listKind;
  const version = isPartial ? "meta.k8s.io/v1" : apiVersion(resource);
  yield `{"kind":"${kind}","apiVersion":"${version}","metadata":${metadata},"items":[`;
  yield* joined(entries, (entry) =>
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
  type = "application/json",
  headers: Record<string, string> = {},
): ApiResponse {
  const common = { "content-type": type, "cache-control": "no-cache, private" };
  return { status, headers: { ...common, ...headers }, body: bytes(pieces) };
}

/** What a client asked for, in its view. */
export function respondAs(
  { isYaml }: View,
  status: number,
  pieces: Iterable<string>,
  warnings: readonly string[],
): ApiResponse {
  const headers = warningHeaders(warnings);
  if (!isYaml) return respond(status, pieces, "application/json", headers);
  return respond(status, [stringify(JSON.parse([...pieces].join("")))], "application/yaml", headers);
}

export function respondJson(status: number, value: JsonObject, headers: Record<string, string> = {}): ApiResponse {
  return respond(status, [writeJson(value)], "application/json", headers);
}

export const respondText = (status: number, text: string) => respond(status, [text], "text/plain; charset=utf-8");
