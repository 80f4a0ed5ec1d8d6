// PATCH: which of the four kinds, and the change that it asks for.
import { duplicateIn } from "../apply/fields.ts";
import { type Manager, applyConfiguration } from "../apply/managed-fields.ts";
import { type JsonValue, clone, isObject } from "../json.ts";
import type { KubeObject } from "../object.ts";
import { applyJsonPatch, parseJsonPatch } from "../patch/json-patch.ts";
import { applyMergePatch, applyStrategicPatch } from "../patch/strategic.ts";
import { apiVersion } from "../registry/resource.ts";
import { DecodeError } from "../schema/decode.ts";
import {
  StatusError,
  badRequest,
  conflict,
  fieldError,
  invalid,
  invalidOptions,
  notFound,
  unknownFormat,
} from "../status.ts";
import type { Entry } from "../store/entry.ts";
import { normalise } from "./admit.ts";
import { asObject, parseBody } from "./body.ts";
import { type Context, fieldValidation, placeOf } from "./context.ts";
import { type Writing, create, managerOf, update } from "./write.ts";

const applyType = "application/apply-patch+yaml";
const accepted = (...types: string[]) => `accepted media types include: ${[...types, applyType].join(", ")}`;

export async function patch(
  writing: Writing,
  context: Context,
  text: string,
  type: string,
): Promise<{ entry: Entry; created: boolean }> {
  if (type !== applyType && context.query.has("force")) {
    throw invalidOptions("PatchOptions", fieldError.forbidden("force", "may not be specified for non-apply patch"));
  }
  if (type === applyType) return apply(writing, context, parseBody(text, type));
  const transform = transformOf(context, parseBody(text, type), type);
  try {
    return { entry: await update(writing, context, { transform }), created: false };
  } catch (error) {
    throw error instanceof StatusError && error.cause instanceof DecodeError ? unfitting(text, error.cause) : error;
  }
}

/** The object that a patch leaves has a value of a wrong type. */
function unfitting(text: string, cause: DecodeError): StatusError {
  return invalid({ group: "", plural: "", kind: "" }, "", [fieldError.invalid("patch", text, cause.message)]);
}

function whole(value: JsonValue): KubeObject {
  if (!isObject(value) || !isObject(value["metadata"])) throw badRequest("the patch leaves no object with metadata");
  return value as KubeObject;
}

function transformOf(context: Context, body: JsonValue, type: string): (before: KubeObject) => KubeObject {
  const { resource } = context;
  switch (type) {
    case "application/json-patch+json": {
      const operations = parseJsonPatch(body);
      return (before) => whole(applyJsonPatch(before, operations));
    }
    case "application/merge-patch+json":
      if (!isObject(body)) throw badRequest("a merge patch is an object");
      return (before) => whole(applyMergePatch(before, body));
    case "application/strategic-merge-patch+json":
      if (resource.custom !== undefined) {
        throw unknownFormat(accepted("application/json-patch+json", "application/merge-patch+json"));
      }
      if (!isObject(body)) throw badRequest("a strategic merge patch is an object");
      return (before) => whole(applyStrategicPatch(before, body, resource.schema));
    default:
      throw unknownFormat(
        accepted(
          "application/json-patch+json",
          "application/merge-patch+json",
          "application/strategic-merge-patch+json",
        ),
      );
  }
}

async function apply(writing: Writing, context: Context, body: JsonValue): Promise<{ entry: Entry; created: boolean }> {
  const { resource, query } = context;
  const manager = query.get("fieldManager") ?? "";
  if (manager === "") {
    throw invalidOptions("PatchOptions", fieldError.required("fieldManager", "is required for apply patch"));
  }
  if (!isObject(body) || typeof body["apiVersion"] !== "string" || typeof body["kind"] !== "string") {
    throw badRequest("an applied configuration says its apiVersion and kind");
  }
  const config = ownPart(context, asObject(body, resource));
  if (config.metadata.managedFields !== undefined) throw badRequest("metadata.managedFields must be nil");
  checkIdentity(context, config);
  fieldValidation(context);
  // Judges unknown fields of this client only, not stored ones. Defaults are the server's to state, not the client's.
  const [unknown] = normalise(resource, clone(config), "Ignore", []);
  const fault =
    unknown === undefined ? duplicateIn(config, resource.schema) : `.${unknown}: field not declared in schema`;
  if (fault !== undefined) {
    const what = `${context.namespace === "" ? "" : `${context.namespace}/`}${context.name}; ${apiVersion(resource)}, Kind=${resource.kind}`;
    throw new StatusError(500, "", `failed to create typed patch object (${what}): ${fault}`);
  }
  const quiet: Context = { ...context, query: ignoring(query), warnings: [] };
  const by = () => managerOf(writing, context);
  if (writing.store.get(placeOf(context)) === undefined) {
    const entry = await applyToNothing(writing, quiet, config, by());
    if (entry !== undefined) return { entry, created: true };
  }
  const isForced = query.get("force") === "true";
  const transform = (before: KubeObject) => applyConfiguration(before, config, resource.schema, by(), isForced);
  return { entry: await update(writing, quiet, { transform, tracksItself: true }), created: false };
}

/** Undefined when somebody else has created the object meanwhile: it is there to be updated then. */
async function applyToNothing(
  writing: Writing,
  context: Context,
  config: KubeObject,
  by: Manager,
): Promise<Entry | undefined> {
  const { resource, name } = context;
  if (context.subresource !== "") throw notFound(resource, name);
  const { uid } = config.metadata;
  if ((uid ?? "") !== "") {
    const rule = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(resource, name, rule);
  }
  const absent: KubeObject = { apiVersion: apiVersion(resource), kind: resource.kind, metadata: {} };
  const made = applyConfiguration(absent, config, resource.schema, by, true);
  made.metadata.name = name;
  try {
    return await create(writing, context, made, false);
  } catch (error) {
    if (error instanceof StatusError && error.reason === "AlreadyExists") return undefined;
    throw error;
  }
}

/** The status belongs to its subresource, the rest to the object, where a kind has the two apart. */
function ownPart({ resource, subresource }: Context, config: KubeObject): KubeObject {
  if (!resource.subresources.includes("status")) return config;
  const { status, ...rest } = config;
  if (subresource !== "status") return rest;
  const { apiVersion: version, kind } = config;
  const metadata = resource.custom === undefined ? config.metadata : identityOf(config.metadata);
  return { apiVersion: version, kind, metadata, ...(status === undefined ? {} : { status }) };
}

const identity = new Set(["name", "namespace", "resourceVersion", "uid"]);

function identityOf(metadata: KubeObject["metadata"]): KubeObject["metadata"] {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => identity.has(key)));
}

function checkIdentity(context: Context, config: KubeObject): void {
  const { name, namespace } = config.metadata;
  if (name !== undefined && name !== context.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${context.name})`);
  }
  if (namespace !== undefined && namespace !== context.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
}

function ignoring(query: URLSearchParams): URLSearchParams {
  const copy = new URLSearchParams(query);
  copy.set("fieldValidation", "Ignore");
  return copy;
}
