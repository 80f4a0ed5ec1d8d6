// From a request to what answers it: documents, reviews, resources. Every refusal leaves as a Status object.
import type { ApiRequest, ApiResponse } from "../kube/transport/transport.ts";
import { aggregated, apiVersions, groupDocument, groupList, resourceList, serverVersion } from "./discovery.ts";
import { type JsonObject, digObject, isObject } from "./json.ts";
import { openApiOf } from "./openapi/documents.ts";
import { reviewKinds } from "./registry/builtin.ts";
import { mediaType, parseBody, protobufType, readBody } from "./request/body.ts";
import type { Context, User } from "./request/context.ts";
import { respondJson, respondText } from "./request/represent.ts";
import { type Serving, answer } from "./request/resource-request.ts";
import {
  StatusError,
  badRequest,
  fieldError,
  internalError,
  invalid,
  messageOf,
  methodNotAllowed,
  noSuchPath,
} from "./status.ts";

export class Router {
  readonly #serving: Serving;
  readonly #openApi: ReturnType<typeof openApiOf>;

  constructor(serving: Serving) {
    this.#serving = serving;
    this.#openApi = openApiOf(serving.registry);
  }

  async answer(request: ApiRequest, user: User): Promise<ApiResponse> {
    try {
      return await this.#route(request, user);
    } catch (error) {
      return respondError(error);
    }
  }

  async #route(request: ApiRequest, user: User): Promise<ApiResponse> {
    const at = request.path.indexOf("?");
    const path = at < 0 ? request.path : request.path.slice(0, at);
    const query = new URLSearchParams(at < 0 ? "" : request.path.slice(at + 1));
    const document = this.#document(path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path, request);
    if (document !== undefined) return document;
    if (!path.startsWith("/api/") && !path.startsWith("/apis/")) return respondText(404, "404 page not found\n");
    const parsed = parseResourcePath(path);
    if (parsed === undefined) throw noSuchPath();
    return this.#resource(parsed, request, query, user);
  }

  /** Whatever is read only and not a resource. */
  #document(path: string, request: ApiRequest): ApiResponse | undefined {
    const accept = request.headers["accept"] ?? "";
    const { registry } = this.#serving;
    if (/^\/(healthz|livez|readyz)(\/[\w-]+)?$/.test(path)) return respondText(200, "ok");
    if (path === "/version") return respondJson(200, serverVersion);
    if (path === "/api")
      return wantsAggregated(accept) ? discovery(aggregated(registry, true)) : respondJson(200, apiVersions);
    if (path === "/apis") {
      return wantsAggregated(accept) ? discovery(aggregated(registry, false)) : respondJson(200, groupList(registry));
    }
    if (path === "/" || path === "") {
      const names = "api api/v1 apis healthz livez openapi/v2 openapi/v3 readyz version".split(" ");
      return respondJson(200, { paths: names.map((name) => `/${name}`) });
    }
    if (path.startsWith("/openapi/")) return this.#openApi(path, request.headers);
    const group = /^\/apis\/([^/]+)$/.exec(path)?.[1];
    return group === undefined ? undefined : existing(groupDocument(registry, group));
  }

  #resource(
    path: NonNullable<ReturnType<typeof parseResourcePath>>,
    request: ApiRequest,
    query: URLSearchParams,
    user: User,
  ): Promise<ApiResponse> | ApiResponse {
    const { registry } = this.#serving;
    const { group, version, plural } = path;
    if (plural === "") return existing(resourceList(registry, group, version));
    const text = readBody(request);
    const reviewed = reviewKinds.find(
      (kind) => kind.group === group && kind.version === version && kind.plural === plural,
    );
    if (reviewed !== undefined) return answerReview(reviewed, text, request, user);
    const isBinding = group === "" && plural === "bindings";
    const resource = registry.find(group, version, isBinding ? "pods" : plural);
    if (resource === undefined) throw noSuchPath();
    if (path.namespace !== "" && !resource.namespaced) throw noSuchPath();
    if (path.namespace === "" && resource.namespaced && path.name !== "") throw noSuchPath();
    const { namespace, name, subresource } = path;
    const { signal, method } = request;
    const headers = plainHeaders(request.headers);
    const context: Context = { resource, namespace, name, subresource, query, headers, user, signal, warnings: [] };
    return answer(this.#serving, isBinding ? bindingContext(context, text) : context, method, text);
  }
}

function existing(document: JsonObject | undefined): ApiResponse {
  if (document === undefined) throw noSuchPath();
  return respondJson(200, document);
}

/** What came as protobuf is JSON by now. */
function plainHeaders(headers: ApiRequest["headers"]): ApiRequest["headers"] {
  return mediaType(headers) === protobufType ? { ...headers, "content-type": "application/json" } : headers;
}

/** POST .../bindings names the pod in the body. */
function bindingContext(context: Context, text: string): Context {
  const body = parseBody(text, "application/json");
  const metadata = isObject(body) ? body["metadata"] : undefined;
  const name = isObject(metadata) ? metadata["name"] : undefined;
  if (typeof name !== "string") throw badRequest("Binding: metadata.name: Required value: it is the pod's name");
  return { ...context, name, subresource: "binding" };
}

function wantsAggregated(accept: string): boolean {
  return (
    /application\/json;[^,]*g=apidiscovery\.k8s\.io[^,]*v=v2(?!beta)/.test(accept) ||
    /v=v2(?!beta)[^,]*g=apidiscovery/.test(accept)
  );
}

function discovery(document: JsonObject): ApiResponse {
  const response = respondJson(200, document);
  const type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  return { ...response, headers: { ...response.headers, "content-type": type } };
}

function answerReview(kind: (typeof reviewKinds)[number], text: string, request: ApiRequest, user: User): ApiResponse {
  if (request.method !== "POST") throw methodNotAllowed();
  const body = parseBody(text, mediaType(request.headers));
  if (!isObject(body)) throw badRequest(`the body of a ${kind.kind} is an object`);
  return respondJson(201, review(kind.kind, `${kind.group}/${kind.version}`, body, user));
}

export function respondError(error: unknown): ApiResponse {
  if (error instanceof StatusError) {
    const retry = error.details?.retryAfterSeconds;
    return respondJson(error.code, error.status(), retry === undefined ? {} : { "retry-after": String(retry) });
  }
  return respondJson(500, internalError(messageOf(error), error).status());
}

/**
 * /api/v1/... and /apis/GROUP/VERSION/..., with or without a namespace, a name and a subresource. `plural` is empty for
 * the document that lists a version's resources.
 */
function parseResourcePath(path: string) {
  const parts = path.split("/").filter((part) => part !== "");
  let decoded: string[];
  try {
    decoded = parts.map(decodeURIComponent);
  } catch {
    return undefined;
  }
  const isLegacy = decoded[0] === "api";
  const [group, version, ...rest] = isLegacy ? ["", decoded[1], ...decoded.slice(2)] : decoded.slice(1);
  if (group === undefined || version === undefined) return undefined;
  const base = { group, version };
  // /namespaces/NAME and its own subresources belong to the namespace; anything else below it is in the namespace.
  if (
    isLegacy &&
    rest[0] === "namespaces" &&
    (rest.length <= 2 || (rest.length === 3 && /^(status|finalize)$/.test(rest[2]!)))
  ) {
    return { ...base, namespace: "", plural: "namespaces", name: rest[1] ?? "", subresource: rest[2] ?? "" };
  }
  const isNamespaced = rest[0] === "namespaces" && rest.length >= 3;
  const [plural = "", name = "", subresource = "", ...more] = isNamespaced ? rest.slice(2) : rest;
  if (more.length > 0) return undefined;
  return { ...base, namespace: isNamespaced ? rest[1]! : "", plural, name, subresource };
}

/** May somebody do something, who am I. Whoever holds the token may do everything: the answer is always yes. */
function review(kind: string, apiVersion: string, body: JsonObject, user: User): JsonObject {
  const isAccess = kind.endsWith("AccessReview");
  const { resourceAttributes, nonResourceAttributes } = digObject(body, "spec");
  if (isAccess && (resourceAttributes === undefined) === (nonResourceAttributes === undefined)) {
    const rule = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    const subject = { group: "authorization.k8s.io", kind, plural: `${kind.toLowerCase()}s` };
    throw invalid(subject, "", [fieldError.invalid("spec.resourceAttributes", resourceAttributes, rule)]);
  }
  const metadata = digObject(body, "metadata");
  const head = { kind, apiVersion, metadata: { ...metadata, creationTimestamp: null } };
  const userInfo = { username: user.username, groups: [...user.groups] };
  if (kind === "SelfSubjectReview") return { ...head, status: { userInfo } };
  const status = statuses[kind] ?? { allowed: true, reason: "the holder of the token may do everything" };
  return { ...head, spec: digObject(body, "spec"), status };
}

/** Key: kind. */
const statuses: Readonly<Record<string, JsonObject>> = {
  TokenReview: { authenticated: false, error: "tokens are not reviewed by this server" },
  SelfSubjectRulesReview: {
    resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    incomplete: false,
  },
};
