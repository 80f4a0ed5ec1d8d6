// One request on one resource: what the path, the query and the headers say.
import type { JsonValue } from "../json.ts";
import type { Resource } from "../registry/resource.ts";
import { badRequest, fieldError, invalidOptions } from "../status.ts";
import type { StoredPlace } from "../store/entry.ts";

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
