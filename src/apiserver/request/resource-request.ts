// A request on a resource: which verb it is, and the answer.
import type { ApiResponse } from "../../kube/transport/transport.ts";
import { type JsonObject, digObject, digString, isObject } from "../json.ts";
import type { KubeObject } from "../object.ts";
import { objectWithCondition } from "../registry/crd.ts";
import { StatusError, badRequest, conflict, methodNotAllowed, noSuchPath, notFound } from "../status.ts";
import type { Entry } from "../store/entry.ts";
import { checkDuplicates } from "./admit.ts";
import { mediaType, parseBody, parseObject } from "./body.ts";
import { type Context, fieldValidation, numberIn, placeOf, refuseFuture } from "./context.ts";
import { type Deletion, parseDeleteOptions, remove } from "./delete.ts";
import { filterOf } from "./filter.ts";
import { type Page, list } from "./list.ts";
import { patch } from "./patch.ts";
import { entryText, listText, respond, respondAs, respondJson, viewOf, warningHeaders } from "./represent.ts";
import { type Watches, watch } from "./watch.ts";
import { type Writing, create, update } from "./write.ts";

export interface Serving extends Writing, Watches {}

type Body = { readonly text: string; readonly type: string };

export function answer(serving: Serving, context: Context, method: string, text: string): Promise<ApiResponse> {
  const body: Body = { text, type: mediaType(context.headers) };
  if (context.resource.deprecationWarning !== undefined) context.warnings.push(context.resource.deprecationWarning);
  if (context.subresource !== "") return answerSubresource(serving, context, method, body);
  return context.name === ""
    ? answerCollection(serving, context, method, body)
    : answerObject(serving, context, method, body);
}

function readObject(context: Context, body: Body): KubeObject {
  const given = parseObject(body.text, body.type, context.resource);
  checkDuplicates(context.resource, body.text, fieldValidation(context), context.warnings);
  return given;
}

const isTrue = (value: string | null) => value === "true" || value === "1";

async function answerCollection(serving: Serving, context: Context, method: string, body: Body): Promise<ApiResponse> {
  switch (method) {
    case "GET":
      return isTrue(context.query.get("watch"))
        ? answerWatch(serving, context)
        : listed(serving, context, list(serving.store, context));
    case "POST": {
      if (context.resource.namespaced && context.namespace === "") throw methodNotAllowed();
      const given = readObject(context, body);
      const named = { ...context, name: given.metadata.name ?? "" };
      return written(serving, context, 201, await create(serving, named, given));
    }
    case "DELETE":
      if (context.resource.storage === "/namespaces" || (context.resource.namespaced && context.namespace === ""))
        throw methodNotAllowed();
      return deleteCollection(serving, context, body);
    default:
      throw methodNotAllowed();
  }
}

async function answerObject(serving: Serving, context: Context, method: string, body: Body): Promise<ApiResponse> {
  switch (method) {
    case "GET":
      if (isTrue(context.query.get("watch"))) return answerWatch(serving, context);
      return written(serving, context, 200, read(serving, context));
    case "PUT": {
      const given = readObject(context, body);
      if (context.resource.createsOnUpdate === true && serving.store.get(placeOf(context)) === undefined) {
        const named = { ...given, metadata: { ...given.metadata, name: context.name } };
        return written(serving, context, 201, await create(serving, context, named));
      }
      return written(serving, context, 200, await update(serving, context, { transform: () => given }));
    }
    case "PATCH": {
      const { entry, created } = await patch(serving, context, body.text, body.type);
      return written(serving, context, created ? 201 : 200, entry);
    }
    case "DELETE": {
      const options = readDeleteBody(body);
      const deletion = await remove(serving, context, parseDeleteOptions(options, context.query), options);
      return deleted(serving, context, deletion);
    }
    default:
      throw methodNotAllowed();
  }
}

function read(serving: Serving, context: Context): Entry {
  const revision = numberIn(context.query, "resourceVersion");
  if (revision !== undefined) refuseFuture(serving.store, revision);
  const entry = serving.store.get(placeOf(context));
  if (entry === undefined) throw notFound(context.resource, context.name);
  return entry;
}

function written(serving: Serving, context: Context, status: number, entry: Entry): ApiResponse {
  const view = viewOf(context, serving.clock);
  return respondAs(view, status, [entryText(view, entry)], context.warnings);
}

function listed(serving: Serving, context: Context, page: Page): ApiResponse {
  const view = viewOf(context, serving.clock);
  return respondAs(view, 200, listText(view, page), context.warnings);
}

function answerWatch(serving: Serving, context: Context): ApiResponse {
  const view = viewOf(context, serving.clock);
  const stream = watch(serving, context, (entry, isFirst) => entryText(view, entry, isFirst));
  return { ...respond(200, [], "application/json", warningHeaders(context.warnings)), body: stream.body() };
}

function readDeleteBody(body: Body): JsonObject {
  if (body.text.trim() === "") return {};
  const options = parseBody(body.text, body.type);
  if (!isObject(options)) throw badRequest("the body of a DELETE is DeleteOptions");
  return options;
}

function deleted(serving: Serving, context: Context, { entry, gone }: Deletion): ApiResponse {
  const { resource } = context;
  if (!gone || resource.returnsDeleted === true) return written(serving, context, 200, entry);
  const details = {
    name: entry.name,
    ...(resource.group === "" ? {} : { group: resource.group }),
    kind: resource.plural,
    uid: entry.object.metadata.uid ?? "",
  };
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details };
  return respondJson(200, status, warningHeaders(context.warnings));
}

async function deleteCollection(serving: Serving, context: Context, body: Body): Promise<ApiResponse> {
  const options = readDeleteBody(body);
  const parsed = parseDeleteOptions(options, context.query);
  const filter = filterOf(context);
  const all = serving.store.collection(context.resource.storage).list(context.namespace);
  const chosen = [...all].filter((entry) => filter?.(entry) ?? true);
  const removed = await Promise.all(
    chosen.map((entry) =>
      remove(serving, { ...context, namespace: entry.namespace, name: entry.name }, parsed, options).catch(
        (error: unknown) => {
          // Somebody else was faster: it is gone, which is what was asked for.
          if (error instanceof StatusError && error.code === 404) return undefined;
          throw error;
        },
      ),
    ),
  );
  const entries = removed.flatMap((deletion) => (deletion === undefined ? [] : [deletion.entry]));
  return listed(serving, context, { entries, revision: serving.store.revision });
}

async function answerSubresource(serving: Serving, context: Context, method: string, body: Body): Promise<ApiResponse> {
  const { resource, subresource } = context;
  if (!resource.subresources.includes(subresource)) throw noSuchPath();
  if (subresource === "binding" || subresource === "eviction") {
    if (method !== "POST") throw methodNotAllowed();
    const given = parseBody(body.text, body.type);
    if (!isObject(given)) throw badRequest(`the body of a ${subresource} is an object`);
    return subresource === "binding" ? bind(serving, context, given) : evict(serving, context, given);
  }
  if (method === "GET") return written(serving, context, 200, read(serving, context));
  if (method === "PATCH") return answerObject(serving, context, method, body);
  if (method !== "PUT") throw methodNotAllowed();
  const given = readObject(context, body);
  return written(serving, context, 200, await update(serving, context, { transform: () => given }));
}

/** The scheduler's word: on which node the pod runs. Once only. */
async function bind(serving: Serving, context: Context, binding: JsonObject): Promise<ApiResponse> {
  const node = digString(binding, "target", "name") ?? "";
  if (node === "") throw badRequest("Binding: target.name: Required value");
  const transform = (pod: KubeObject): KubeObject => {
    const other = digString(pod, "spec", "nodeName") ?? "";
    if (other !== "") {
      const why = `pod ${context.name} is already assigned to node ${JSON.stringify(other)}`;
      throw conflict({ group: "", plural: "pods/binding", kind: "Binding" }, context.name, why);
    }
    const given = digObject(binding, "metadata", "annotations") as Record<string, string>;
    const annotations = { ...pod.metadata.annotations, ...given };
    const metadata = Object.keys(annotations).length === 0 ? pod.metadata : { ...pod.metadata, annotations };
    const bound = { ...pod, metadata, spec: { ...digObject(pod, "spec"), nodeName: node } };
    return objectWithCondition(bound, { type: "PodScheduled", status: "True" }, serving.clock.wallMs());
  };
  await update(serving, context, { transform });
  return done();
}

/** Disruption budgets are only stored here, so an eviction is a deletion. */
async function evict(serving: Serving, context: Context, eviction: JsonObject): Promise<ApiResponse> {
  const options = digObject(eviction, "deleteOptions");
  await remove(serving, { ...context, subresource: "" }, parseDeleteOptions(options, context.query), options);
  return done();
}

const done = (): ApiResponse =>
  respondJson(201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 });
