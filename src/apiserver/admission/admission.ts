// Admission: asks the configured webhooks, mutating ones first, one after the other by name; validating ones at the
// same time. Not done: matchPolicy (rules match the version that was asked for) and reinvocation.
import { CelError, compile } from "../cel/expression.ts";
import { valueOf } from "../cel/rules.ts";
import { type JsonObject, type JsonValue, clone, dig, digList, digString, isObject, writeJson } from "../json.ts";
import { newUid } from "../names.ts";
import type { KubeObject } from "../object.ts";
import { applyJsonPatch, parseJsonPatch } from "../patch/json-patch.ts";
import type { Context } from "../request/context.ts";
import { selects } from "../selector.ts";
import { StatusError, badRequest, forbidden, internalError, messageOf } from "../status.ts";
import type { Store } from "../store/store.ts";
import type { CallWebhook } from "./call.ts";
import { type Operation, type Webhook, conditionLanguage, coversRequest, targetOf, webhooksOf } from "./webhook.ts";

const group = "admissionregistration.k8s.io";
const storages = {
  mutating: `${group}/mutatingwebhookconfigurations`,
  validating: `${group}/validatingwebhookconfigurations`,
};

interface Review {
  readonly context: Context;
  readonly operation: Operation;
  readonly object: KubeObject | undefined;
  readonly before: KubeObject | undefined;
  readonly isDry: boolean;
  /** Of a DELETE, from its body. */
  readonly options?: JsonObject;
}

export class Admission {
  readonly #store: Store;
  readonly #call: CallWebhook;
  readonly #random: (size: number) => Uint8Array;
  #mutating: Webhook[] = [];
  #validating: Webhook[] = [];

  constructor(store: Store, call: CallWebhook, random: (size: number) => Uint8Array) {
    this.#store = store;
    this.#call = call;
    this.#random = random;
    this.#load();
    store.subscribe((changes) => {
      if (changes.some(({ entry }) => entry.resource === storages.mutating || entry.resource === storages.validating))
        this.#load();
    });
  }

  #load(): void {
    const read = (storage: string) =>
      [...this.#store.collection(storage).list("")].flatMap((entry) => webhooksOf(entry.object));
    this.#mutating = read(storages.mutating);
    this.#validating = read(storages.validating);
  }

  /** Whether any webhook may want to see the request; without one, writes take the short way. */
  concerns(context: Context, operation: Operation): boolean {
    // No webhook stands between an operator and the configuration of webhooks.
    if (context.resource.group === group) return false;
    return [...this.#mutating, ...this.#validating].some((webhook) => coversRequest(webhook, context, operation));
  }

  /** The object as the mutating webhooks leave it. */
  async mutate(review: Review & { readonly object: KubeObject }): Promise<KubeObject> {
    let { object } = review;
    for (const webhook of this.#mutating) {
      const now: Review = { ...review, object };
      if (!this.#applies(webhook, now)) continue;
      const response = await this.#ask(webhook, now);
      if (response !== undefined) object = patched(webhook, object, response);
    }
    return object === review.object ? clone(object) : object;
  }

  async validate(review: Review): Promise<void> {
    const asked = this.#validating.filter((webhook) => this.#applies(webhook, review));
    const results = await Promise.allSettled(asked.map((webhook) => this.#ask(webhook, review)));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  /** A deletion has nothing to mutate; mutating webhooks may refuse it all the same. */
  async validateDelete(review: Review): Promise<void> {
    for (const webhook of this.#mutating) if (this.#applies(webhook, review)) await this.#ask(webhook, review);
    await this.validate(review);
  }

  #applies(webhook: Webhook, { context, operation, object, before }: Review): boolean {
    if (!coversRequest(webhook, context, operation)) return false;
    const seen = [object, before].filter((one) => one !== undefined);
    if (!seen.some(({ metadata }) => selects(webhook.objectSelector, metadata.labels))) return false;
    const isWithin = context.resource.namespaced || context.resource.storage === "/namespaces";
    return !isWithin || selects(webhook.namespaceSelector, this.#namespaceLabels(context, object ?? before));
  }

  #namespaceLabels(context: Context, object: KubeObject | undefined): Record<string, string> | undefined {
    if (context.resource.storage === "/namespaces") return object?.metadata.labels;
    const entry = this.#store.get({ resource: "/namespaces", namespace: "", name: context.namespace });
    return entry?.object.metadata.labels;
  }

  /** The response; undefined when the webhook failed and may be ignored. Throws a refusal. */
  async #ask(webhook: Webhook, review: Review): Promise<JsonObject | undefined> {
    if (!isMeant(webhook, review)) return undefined;
    if (review.isDry && webhook.sideEffects !== "None" && webhook.sideEffects !== "NoneOnDryRun") {
      throw badRequest(`admission webhook ${JSON.stringify(webhook.name)} does not support dry run`);
    }
    const uid = newUid(this.#random);
    let response: JsonObject;
    try {
      const body = writeJson(requestOf(review, uid));
      const { caBundle, timeoutMs } = webhook;
      response = responseOf(await this.#call({ ...targetOf(webhook, this.#store), caBundle, timeoutMs, body }), uid);
    } catch (cause) {
      if (webhook.isIgnoredOnFailure) return undefined;
      const message = messageOf(cause);
      const whole = `failed calling webhook ${JSON.stringify(webhook.name)}: failed to call webhook: ${message}`;
      throw internalError(whole, cause, { causes: [{ message }] });
    }
    review.context.warnings.push(...digList(response, "warnings").filter((warning) => typeof warning === "string"));
    if (response["allowed"] !== true) throw denied(webhook, response);
    return response;
  }
}

/** By its conditions. One that cannot be evaluated is a failure of the webhook. */
function isMeant(webhook: Webhook, review: Review): boolean {
  if (webhook.conditions.length === 0) return true;
  const { object, before } = review;
  const request = dig(requestOf(review, ""), "request") ?? null;
  const scope = { object: valueOf(object ?? null), oldObject: valueOf(before ?? null), request: valueOf(request) };
  try {
    return webhook.conditions.every((condition) => compile(conditionLanguage, condition).evaluate(scope) === true);
  } catch (cause) {
    if (!(cause instanceof CelError)) throw cause;
    if (webhook.isIgnoredOnFailure) return false;
    throw forbidden(review.context.resource, object?.metadata.name ?? "", `matchConditions: ${cause.message}`);
  }
}

function requestOf({ context, operation, object, before, isDry, options }: Review, uid: string): JsonObject {
  const { group: ownGroup, version, kind: kindName, plural } = context.resource;
  const kind = { group: ownGroup, version, kind: kindName };
  const named = { group: ownGroup, version, resource: plural };
  const subject = object ?? before;
  return {
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1",
    request: {
      uid,
      kind,
      resource: named,
      requestKind: kind,
      requestResource: named,
      subResource: context.subresource || undefined,
      requestSubResource: context.subresource || undefined,
      name: subject?.metadata.name ?? context.name,
      namespace: context.namespace || undefined,
      operation,
      userInfo: { username: context.user.username, groups: [...context.user.groups] },
      object: object ?? null,
      oldObject: before ?? null,
      dryRun: isDry,
      options: { ...queried(context), ...options, ...optionsHead(operation) },
    },
  };
}

const optionsHead = (operation: Operation) => ({
  kind: `${operation.charAt(0)}${operation.slice(1).toLowerCase()}Options`,
  apiVersion: "meta.k8s.io/v1",
});

/** Options that a request may give in its query. */
function queried({ query }: Context): JsonObject {
  const options: JsonObject = {};
  for (const key of ["fieldManager", "fieldValidation", "propagationPolicy"]) {
    const value = query.get(key);
    if (value !== null) options[key] = value;
  }
  if (query.has("dryRun")) options["dryRun"] = query.getAll("dryRun");
  return options;
}

function responseOf(reply: JsonObject, uid: string): JsonObject {
  const response = reply["response"];
  if (reply["kind"] !== "AdmissionReview" || !isObject(response))
    throw new Error("the reply is no AdmissionReview with a response");
  if (response["uid"] !== uid)
    throw new Error(`the reply is to another request: expected response.uid=${JSON.stringify(uid)}`);
  return response;
}

function denied(webhook: Webhook, response: JsonObject): StatusError {
  const code = dig(response, "status", "code");
  const why = digString(response, "status", "message") ?? digString(response, "status", "reason");
  const message = `admission webhook ${JSON.stringify(webhook.name)} denied the request${why === undefined ? " without explanation" : `: ${why}`}`;
  const status = typeof code === "number" && code >= 400 && code < 600 ? code : 400;
  const reason = digString(response, "status", "reason") ?? "";
  return new StatusError(status, reason as StatusError["reason"], message);
}

function patched(webhook: Webhook, object: KubeObject, response: JsonObject): KubeObject {
  const patch = digString(response, "patch");
  if (patch === undefined || patch === "") return object;
  try {
    const operations = JSON.parse(Buffer.from(patch, "base64").toString("utf8")) as JsonValue;
    return applyJsonPatch(object, parseJsonPatch(operations)) as KubeObject;
  } catch (cause) {
    const message = `the patch of webhook ${JSON.stringify(webhook.name)} does not apply: ${messageOf(cause)}`;
    throw internalError(message, cause);
  }
}
