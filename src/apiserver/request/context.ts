// One request on one resource: what the path, the query and the headers say, and which revisions may be asked for.
import type { JsonValue } from "../json.ts";
import type { Resource } from "../registry/resource.ts";
import { StatusError, badRequest, expired, fieldError, invalidOptions } from "../status.ts";
import type { StoredPlace } from "../store/entry.ts";
import type { Store } from "../store/store.ts";

export interface User {
  readonly username: string;
  readonly groups: readonly string[];
}

export interface Context {
  readonly resource: Resource;
  /** Empty for cluster-wide resources and for requests across namespaces. */
  readonly namespace: string;
  /** Empty for requests on the collection. */
  readonly name: string;
  readonly subresource: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly user: User;
  readonly signal: AbortSignal | undefined;
  /** Sent as Warning headers. */
  readonly warnings: string[];
}

export function placeOf(context: Context, name = context.name): StoredPlace {
  return { resource: context.resource.storage, namespace: context.namespace, name };
}

export function isDryRun(context: Context, options?: JsonValue[]): boolean {
  const values = [...context.query.getAll("dryRun"), ...(options ?? [])];
  for (const value of values) {
    if (value !== "All") throw invalidOptions("PatchOptions", fieldError.unsupported("dryRun", value, ["All"]));
  }
  return values.length > 0;
}

/** A whole number in the query; undefined where there is none. */
export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? "";
  if (text === "") return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badRequest(`${name}: Invalid value: ${JSON.stringify(text)}: it is a number`);
}

export type FieldValidation = "Ignore" | "Warn" | "Strict";

export function fieldValidation(context: Context): FieldValidation {
  const value = context.query.get("fieldValidation") ?? "";
  if (value === "") return "Warn";
  if (value === "Ignore" || value === "Warn" || value === "Strict") return value;
  throw invalidOptions("PatchOptions", fieldError.unsupported("fieldValidation", value, ["Ignore", "Strict", "Warn"]));
}

/** The field manager: named by the query, else the program that asks. 128 characters are the real server's limit. */
export function managerName(context: Context): string {
  const given = context.query.get("fieldManager") ?? "";
  if (given.length > 128) throw invalidOptions("PatchOptions", fieldError.tooLong("fieldManager", 128));
  if (given !== "") return given;
  const agent = context.headers["user-agent"] ?? "";
  return agent.split("/")[0]!.slice(0, 128) || "unknown";
}

export function refuseFuture(store: Store, revision: number): void {
  if (revision <= store.revision) return;
  const message = `Timeout: Too large resource version: ${revision}, current: ${store.revision}`;
  const causes = [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }];
  throw new StatusError(504, "Timeout", message, { causes, retryAfterSeconds: 1 });
}

/** Where the history from `revision` on is no longer there. */
export function compactedError(store: Store, revision: number): StatusError | undefined {
  const { compacted } = store.history;
  return revision < compacted ? expired(`too old resource version: ${revision} (${compacted})`) : undefined;
}

function refuse(message: string): never {
  throw invalidOptions("ListOptions", fieldError.forbidden("resourceVersionMatch", message));
}

export function checkMatch(match: string, revision: number | undefined, isContinued: boolean): void {
  if (match === "") return;
  if (isContinued) refuse("resourceVersionMatch is forbidden when continue is provided");
  if (revision === undefined) refuse("resourceVersionMatch is forbidden unless resourceVersion is provided");
  if (match !== "Exact" && match !== "NotOlderThan") {
    const supported = ["Exact", "NotOlderThan"];
    throw invalidOptions("ListOptions", fieldError.unsupported("resourceVersionMatch", match, supported));
  }
  if (match === "Exact" && revision === 0) {
    refuse('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
}
