// Webhook configurations, parsed: which requests a webhook is asked about.
import type { JsonObject, JsonValue } from "../json.ts";
import { dig, digList, digString, isObject, textOf } from "../json.ts";
import type { KubeObject } from "../object.ts";
import type { Context } from "../request/context.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

export interface Webhook {
  readonly name: string;
  readonly configuration: string;
  readonly url: string | undefined;
  readonly caBundle: string | undefined;
  readonly isIgnoredOnFailure: boolean;
  readonly timeoutMs: number;
  readonly sideEffects: string;
  readonly rules: readonly JsonObject[];
  readonly objectSelector: JsonValue | undefined;
  readonly namespaceSelector: JsonValue | undefined;
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
        caBundle: caBundle === undefined ? undefined : Buffer.from(caBundle, "base64").toString("utf8"),
        isIgnoredOnFailure: dig(webhook, "failurePolicy") === "Ignore",
        timeoutMs: (typeof seconds === "number" ? seconds : 10) * 1000,
        sideEffects: digString(webhook, "sideEffects") ?? "",
        rules: digList(webhook, "rules").filter(isObject),
        objectSelector: dig(webhook, "objectSelector"),
        namespaceSelector: dig(webhook, "namespaceSelector"),
      };
    });
}

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
