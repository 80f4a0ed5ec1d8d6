// Webhook configurations, parsed: which requests a webhook is asked about.
import { languageOf } from "../cel/expression.ts";
import { dig, digList, digString, isObject, type JsonObject, type JsonValue, textOf } from "../json.ts";
import type { KubeObject } from "../object.ts";
import type { Context } from "../request/context.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

export interface Webhook {
  readonly name: string;
  readonly configuration: string;
  /** Absent where it stands behind a Service. */
  readonly url: string | undefined;
  readonly service: ServiceReference | undefined;
  readonly caBundle: string | undefined;
  readonly isIgnoredOnFailure: boolean;
  readonly timeoutMs: number;
  readonly sideEffects: string;
  readonly rules: readonly JsonObject[];
  /** In CEL; all of them must hold. */
  readonly conditions: readonly string[];
  readonly objectSelector: JsonValue | undefined;
  readonly namespaceSelector: JsonValue | undefined;
}

interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly path: string;
  readonly port: number;
}

function serviceOf(webhook: JsonObject): ServiceReference | undefined {
  const service = dig(webhook, "clientConfig", "service");
  if (!isObject(service)) return undefined;
  const { port } = service;
  const path = digString(service, "path") ?? "/";
  return {
    namespace: digString(service, "namespace") ?? "",
    name: digString(service, "name") ?? "",
    path: path.startsWith("/") ? path : `/${path}`,
    port: typeof port === "number" ? port : 443,
  };
}

export function webhooksOf(configuration: KubeObject): Webhook[] {
  return digList(configuration, "webhooks")
    .filter(isObject)
    .map((webhook) => {
      const caBundle = digString(webhook, "clientConfig", "caBundle");
      const seconds = dig(webhook, "timeoutSeconds");
      return {
        name: digString(webhook, "name") ?? "",
        configuration: configuration.metadata.name ?? "",
        url: digString(webhook, "clientConfig", "url"),
        service: serviceOf(webhook),
        caBundle: caBundle === undefined ? undefined : Buffer.from(caBundle, "base64").toString("utf8"),
        isIgnoredOnFailure: dig(webhook, "failurePolicy") === "Ignore",
        timeoutMs: (typeof seconds === "number" ? seconds : 10) * 1000,
        sideEffects: digString(webhook, "sideEffects") ?? "",
        rules: digList(webhook, "rules").filter(isObject),
        conditions: digList(webhook, "matchConditions").map((each) => digString(each, "expression") ?? ""),
        objectSelector: dig(webhook, "objectSelector"),
        namespaceSelector: dig(webhook, "namespaceSelector"),
      };
    });
}

/** The variables of a webhook's conditions. The authorizer is missing: every client may do everything here. */
export const conditionLanguage = languageOf("object", "oldObject", "request");

const includes = (rule: JsonObject, field: string, value: string) => {
  const list = digList(rule, field);
  return list.includes("*") || list.includes(value);
};

/** By rules alone; selectors need the objects. */
export function coversRequest(webhook: Webhook, context: Context, operation: Operation): boolean {
  const { resource, subresource } = context;
  const scope = resource.namespaced ? "Namespaced" : "Cluster";
  return webhook.rules.some((rule) => {
    const ruleScope = digString(rule, "scope") ?? "*";
    return (
      includes(rule, "operations", operation) &&
      includes(rule, "apiGroups", resource.group) &&
      includes(rule, "apiVersions", resource.version) &&
      (ruleScope === "*" || ruleScope === scope) &&
      digList(rule, "resources").some((pattern) => coversResource(textOf(pattern), resource.plural, subresource))
    );
  });
}

function coversResource(pattern: string, plural: string, subresource: string): boolean {
  if (pattern === "*/*") return true;
  const [resource, below = ""] = pattern.split("/");
  return (resource === "*" || resource === plural) && (below === subresource || (below === "*" && subresource !== ""));
}
