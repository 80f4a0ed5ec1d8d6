// Webhook configurations, parsed: which requests a webhook is asked about, and where it listens: at its own url, or
// behind a Service. Without a cluster network a Service leads only where it says so itself: an external name, an
// address, or endpoints that somebody wrote. The certificate is for its name.
import { languageOf } from "../cel/expression.ts";
import { type JsonObject, dig, digList, digString, isObject, textOf } from "../json.ts";
import type { KubeObject } from "../object.ts";
import type { Context } from "../request/context.ts";
import type { Store } from "../store/store.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

export type Webhook = ReturnType<typeof webhooksOf>[number];

function serviceOf(webhook: JsonObject) {
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

export function webhooksOf(configuration: KubeObject) {
  return digList(configuration, "webhooks")
    .filter(isObject)
    .map((webhook) => {
      const caBundle = digString(webhook, "clientConfig", "caBundle");
      const seconds = dig(webhook, "timeoutSeconds");
      return {
        name: digString(webhook, "name") ?? "",
        configuration: configuration.metadata.name ?? "",
        /** Absent where it stands behind a Service. */
        url: digString(webhook, "clientConfig", "url"),
        service: serviceOf(webhook),
        caBundle: caBundle === undefined ? undefined : Buffer.from(caBundle, "base64").toString("utf8"),
        isIgnoredOnFailure: dig(webhook, "failurePolicy") === "Ignore",
        timeoutMs: (typeof seconds === "number" ? seconds : 10) * 1000,
        sideEffects: digString(webhook, "sideEffects") ?? "",
        rules: digList(webhook, "rules").filter(isObject),
        /** In CEL; all of them must hold. */
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

export interface AdmissionTarget {
  readonly url: string;
  /** The name that the certificate must have, where it is not the url's. */
  readonly serverName?: string;
  /** How to reach it, where that is not the url's host and port. */
  readonly host?: string;
  readonly port?: number;
}

/** Throws a sentence in the real server's words where there is no way. */
export function targetOf({ url, service, timeoutMs }: Webhook, store: Store): AdmissionTarget {
  if (service === undefined) return { url: url ?? "" };
  const { namespace, name, path, port } = service;
  const serverName = `${name}.${namespace}.svc`;
  const full = `https://${serverName}:${port}${path}`;
  const fail = (why: string): never => {
    throw new Error(`Post "${full}?timeout=${timeoutMs / 1000}s": ${why}`);
  };
  const found = store.get({ resource: "/services", namespace, name })?.object;
  if (found === undefined) return fail(`service ${JSON.stringify(name)} not found`);
  const ports = digList(found, "spec", "ports").filter(isObject);
  const external = digString(found, "spec", "externalName");
  if (external !== undefined) return { url: full, serverName, host: external, port };
  if (!ports.some((each) => each["port"] === port)) {
    return fail(`no service port ${port} found for service ${JSON.stringify(name)}`);
  }
  const endpoints = store.get({ resource: "/endpoints", namespace, name })?.object;
  for (const subset of digList(endpoints ?? {}, "subsets")) {
    const address = digString(digList(subset, "addresses")[0], "ip");
    const behind = dig(digList(subset, "ports")[0], "port");
    if (address !== undefined && typeof behind === "number")
      return { url: full, serverName, host: address, port: behind };
  }
  const own = digString(found, "spec", "clusterIP") ?? "";
  if (own !== "" && own !== "None") return { url: full, serverName, host: own, port };
  return fail(`no endpoints available for service ${JSON.stringify(name)}`);
}
