// From a client's object to a storable one: known fields only, defaults, checks. All synchronous, without storage.
import { evaluateRules } from "../cel/rules.ts";
import { isObject } from "../json.ts";
import { checkLabels, checkName, checkQualifiedName } from "../names.ts";
import type { KubeObject } from "../object.ts";
import { crdStorage } from "../registry/crd.ts";
import type { Resource } from "../registry/resource.ts";
import { strategyOf } from "../registry/strategy.ts";
import { objectMetaSchema } from "../schema/builtin.ts";
import { DecodeError, decode } from "../schema/decode.ts";
import { duplicateFields } from "../schema/duplicates.ts";
import { applyDefaults, prune, pruneMetadata } from "../schema/prune.ts";
import { validate } from "../schema/validate.ts";
import { type FieldError, type StatusError, badRequest, fieldError, invalid } from "../status.ts";
import type { FieldValidation } from "./context.ts";

function undecodable(resource: Resource, detail: string, options?: ErrorOptions): StatusError {
  const { kind, version } = resource;
  return badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${detail}`, options);
}

/** Drops unknown fields in place and fills in defaults; dropped fields are refused, warned of or ignored as asked. */
export function normalise(
  resource: Resource,
  object: KubeObject,
  validation: FieldValidation,
  warnings: string[],
): string[] {
  const dropped: string[] = [];
  try {
    if (resource.custom === undefined) {
      if (resource.schema !== undefined) decode(object, resource.schema, "", dropped);
    } else {
      pruneMetadata(object.metadata, "metadata", dropped);
      object.metadata = decode(object.metadata, objectMetaSchema(), "metadata", dropped) as KubeObject["metadata"];
      if (resource.schema !== undefined) pruneCustom(object, resource, dropped);
    }
  } catch (error) {
    if (error instanceof DecodeError) throw undecodable(resource, error.message, { cause: error });
    throw error;
  }
  if (dropped.length > 0 && validation === "Strict") {
    throw undecodable(
      resource,
      `strict decoding error: ${dropped.map((field) => `unknown field ${JSON.stringify(field)}`).join(", ")}`,
    );
  }
  if (validation === "Warn") warnings.push(...dropped.map((field) => `unknown field ${JSON.stringify(field)}`));
  if (resource.custom !== undefined && resource.schema !== undefined) applyDefaults(object, resource.schema);
  strategyOf(resource.storage).defaults?.(object);
  return dropped;
}

function pruneCustom(object: KubeObject, resource: Resource, dropped: string[]): void {
  const { metadata } = object;
  // Metadata has rules of its own, applied above.
  object.metadata = {};
  prune(object, resource.schema!, "", dropped);
  object.metadata = metadata;
}

/** Fields that a text gives twice: refused, warned of or ignored as asked. */
export function checkDuplicates(
  resource: Resource,
  text: string,
  validation: FieldValidation,
  warnings: string[],
): void {
  if (validation === "Ignore" || !text.trimStart().startsWith("{")) return;
  const twice = duplicateFields(text).map((field) => `duplicate field ${JSON.stringify(field)}`);
  if (twice.length > 0 && validation === "Strict")
    throw undecodable(resource, `strict decoding error: ${twice.join(", ")}`);
  warnings.push(...twice);
}

/** Throws 422 with every fault found. `before` is undefined for a create. */
export function check(
  resource: Resource,
  object: KubeObject,
  before: KubeObject | undefined,
  subresource: string,
): void {
  const errors = checkMetadata(resource, object, before);
  if (resource.custom !== undefined && resource.schema !== undefined) {
    const { metadata: _metadata, ...rest } = object;
    errors.push(...validate(rest, resource.schema, "").filter((error) => error.field !== "metadata"));
    if (errors.length === 0) errors.push(...evaluateRules(object, before, resource.schema));
  }
  if (subresource === "") errors.push(...(strategyOf(resource.storage).validate?.(object, before) ?? []));
  if (errors.length > 0) throw invalid(resource, object.metadata.name ?? "", errors);
}

/** Annotations together; the real server's limit. */
const annotationBytesMax = 256 * 1024;

function checkMetadata(resource: Resource, object: KubeObject, before: KubeObject | undefined): FieldError[] {
  const { metadata } = object;
  const errors: FieldError[] = [];
  if (before === undefined) {
    if ((metadata.generateName ?? "") !== "") {
      // A name that is cut off may end in a dash.
      const prefix = metadata.generateName!.replace(/-$/, "a");
      errors.push(...checkName(prefix, resource.nameRule, "metadata.generateName"));
    }
    if (metadata.name === undefined || metadata.name === "") {
      errors.push(fieldError.required("metadata.name", "name or generateName is required"));
    } else {
      errors.push(...checkName(metadata.name, resource.nameRule, "metadata.name"));
    }
  }
  if (metadata.labels !== undefined) errors.push(...checkLabels(metadata.labels, "metadata.labels"));
  let annotationBytes = 0;
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) {
    errors.push(...checkQualifiedName(key.toLowerCase(), "metadata.annotations"));
    annotationBytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (annotationBytes > annotationBytesMax) errors.push(fieldError.tooLong("metadata.annotations", annotationBytesMax));
  errors.push(...checkFinalizers(resource, object, before), ...checkOwners(object));
  return errors;
}

const plainFinalizers = new Set(["orphan", "foregroundDeletion", "kubernetes"]);

function checkFinalizers(resource: Resource, object: KubeObject, before: KubeObject | undefined): FieldError[] {
  const finalizers = object.metadata.finalizers ?? [];
  const errors = finalizers.flatMap((finalizer) => checkQualifiedName(finalizer, "metadata.finalizers"));
  finalizers.forEach((finalizer, at) => {
    if (
      resource.custom !== undefined ||
      resource.storage === crdStorage ||
      finalizer.includes("/") ||
      plainFinalizers.has(finalizer)
    )
      return;
    const rule = "name is neither a standard finalizer name nor is it fully qualified";
    errors.push(fieldError.invalid(`metadata.finalizers[${at}]`, finalizer, rule));
  });
  if (before?.metadata.deletionTimestamp === undefined) return errors;
  const added = finalizers.filter((finalizer) => before.metadata.finalizers?.includes(finalizer) !== true);
  if (added.length > 0) {
    const list = `[]string{${added.map((name) => JSON.stringify(name)).join(", ")}}`;
    const rule = `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`;
    errors.push(fieldError.forbidden("metadata.finalizers", rule));
  }
  return errors;
}

function checkOwners(object: KubeObject): FieldError[] {
  const owners = object.metadata.ownerReferences ?? [];
  const errors: FieldError[] = [];
  for (const owner of owners) {
    for (const key of ["apiVersion", "kind", "name", "uid"] as const) {
      if (isObject(owner) && (owner[key] ?? "") === "") {
        errors.push(fieldError.invalid(`metadata.ownerReferences.${key}`, "", "must not be empty"));
      }
    }
  }
  if (owners.filter((owner) => owner.controller === true).length > 1) {
    errors.push(
      fieldError.invalid("metadata.ownerReferences", "", "Only one reference can have Controller set to true"),
    );
  }
  return errors;
}
