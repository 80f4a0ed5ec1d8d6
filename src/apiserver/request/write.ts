// Creates and updates: one pipeline for every kind and every way of changing an object.
//
// An update is a function from the current object to the wanted one. Without webhooks it runs inside the store's write:
// concurrent patches queue up, none is retried. Webhooks take time: with them it runs before, again if overtaken.
import { type Clock, timestamp } from "../../kube/clock.ts";
import type { Admission } from "../admission/admission.ts";
import { type Manager, trackUpdate } from "../apply/managed-fields.ts";
import { clone, digList, digObject, digString, equal } from "../json.ts";
import { generateName, newUid } from "../names.ts";
import { type KubeObject, serverKept, serverSet } from "../object.ts";
import { establish } from "../registry/crd-strategy.ts";
import { crdStorage } from "../registry/crd.ts";
import type { Registry } from "../registry/registry.ts";
import { apiVersion, blankOf } from "../registry/resource.ts";
import { strategyOf } from "../registry/strategy.ts";
import {
  StatusError,
  alreadyExists,
  badRequest,
  conflict,
  fieldError,
  forbidden,
  invalid,
  notFound,
} from "../status.ts";
import type { Entry } from "../store/entry.ts";
import type { Store } from "../store/store.ts";
import type { Transaction } from "../store/transaction.ts";
import { check, normalise } from "./admit.ts";
import { type Context, fieldValidation, isDryRun, managerName, placeOf } from "./context.ts";
import { fromStorage, toStorage } from "./conversion.ts";

export interface Writing {
  readonly store: Store;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly random: (size: number) => Uint8Array;
  readonly admission: Admission;
}

/** With webhooks: how often an overtaken update starts again before it fails; the real server goes by a deadline. */
const overtakenMax = 20;
/** The chance that eight names of 27^5 each are taken is nil unless the prefix is nearly exhausted. */
const generatedNamesMax = 8;

export function managerOf(writing: Writing, context: Context): Manager {
  return {
    name: managerName(context),
    apiVersion: apiVersion(context.resource),
    subresource: context.subresource,
    nowMs: writing.clock.wallMs(),
    blank: blankOf(context.resource),
  };
}

function perform<T>(writing: Writing, isDry: boolean, operation: (transaction: Transaction) => T): Promise<T> {
  if (!isDry) return writing.store.write(operation);
  // The promise turns what the rehearsal throws into a rejection.
  return Promise.resolve().then(() => writing.store.rehearse(operation));
}

/** `track` is off when the object's managed fields were computed already (apply). */
export async function create(writing: Writing, context: Context, given: KubeObject, track = true): Promise<Entry> {
  const { resource } = context;
  const isDry = isDryRun(context);
  const isGenerated = (given.metadata.name ?? "") === "" && (given.metadata.generateName ?? "") !== "";
  let object = prepareCreate(writing, context, given);
  const nameIt = () => {
    if (isGenerated) object.metadata.name = generateName(given.metadata.generateName!, writing.random);
  };
  const isReviewed = writing.admission.concerns(context, "CREATE");
  const review = { context, operation: "CREATE", before: undefined, isDry } as const;
  if (isReviewed) {
    refuseNamespace(context, writing.store);
    object = await writing.admission.mutate({ ...review, object });
    normalise(resource, object, "Ignore", []);
  }
  nameIt();
  check(resource, object, undefined, "");
  if (isReviewed) await writing.admission.validate({ ...review, object });
  if (resource.storage === crdStorage) establishCrd(writing, object);
  if (track) trackUpdate(undefined, object, resource.schema, managerOf(writing, context));
  return perform(writing, isDry, (transaction) => {
    refuseNamespace(context, transaction);
    for (let attempt = 1; ; attempt++) {
      const taken = transaction.get(placeOf(context, object.metadata.name));
      if (taken === undefined) break;
      const isLeaving = taken.object.metadata.deletionTimestamp !== undefined;
      if (!isGenerated || attempt >= generatedNamesMax) throw alreadyExists(resource, object.metadata.name!, isLeaving);
      nameIt();
    }
    return transaction.put(placeOf(context, object.metadata.name), toStorage(resource, object));
  });
}

function establishCrd(writing: Writing, crd: KubeObject): void {
  const named = digObject(crd, "spec", "names");
  const names = ["plural", "singular", "kind", "listKind"].flatMap((key) => digString(named, key) ?? []);
  const clash = writing.registry.nameTaken(crd.metadata.name!, digString(crd, "spec", "group") ?? "", new Set(names));
  establish(crd, clash, writing.clock.wallMs());
}

function prepareCreate(writing: Writing, context: Context, given: KubeObject): KubeObject {
  const { resource } = context;
  const object = clone(given);
  const { metadata } = object;
  if ((metadata.resourceVersion ?? "") !== "" && metadata.resourceVersion !== "0") {
    throw new StatusError(500, "", "resourceVersion should not be set on objects to be created");
  }
  if (context.namespace !== "" && (metadata.namespace ?? "") !== "" && metadata.namespace !== context.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  const strategy = strategyOf(resource.storage);
  normalise(resource, object, fieldValidation(context), context.warnings);
  if (resource.subresources.includes("status") && strategy.keepsStatusOnCreate !== true) delete object["status"];
  strategy.initialise?.(object);
  for (const key of [...serverSet, "selfLink"]) delete object.metadata[key];
  object.metadata = {
    ...object.metadata,
    ...(context.namespace === "" ? {} : { namespace: context.namespace }),
    uid: newUid(writing.random),
    creationTimestamp: timestamp(writing.clock.wallMs()),
    ...(resource.generation ? { generation: 1 } : {}),
  };
  return object;
}

function refuseNamespace(context: Context, state: Pick<Transaction, "get">): void {
  const { resource, namespace, name } = context;
  if (!resource.namespaced) return;
  const subject = { group: "", plural: "namespaces", kind: "Namespace" };
  const found = state.get({ resource: "/namespaces", namespace: "", name: namespace });
  if (found === undefined) throw notFound(subject, namespace);
  if (found.object.metadata.deletionTimestamp === undefined) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const message = `namespace ${namespace} is being terminated`;
  throw forbidden(resource, name, why, [{ reason: "NamespaceTerminating", message, field: "metadata.namespace" }]);
}

export interface Change {
  /** From the object as it is, in the client's version, to the one that shall be. Must not write to its argument. */
  transform(before: KubeObject): KubeObject;
  /** Apply computes managed fields itself. */
  readonly tracksItself?: true;
}

/** Resolves with the stored object; with the last state where the update was the end of a deletion. */
export async function update(writing: Writing, context: Context, change: Change): Promise<Entry> {
  const isDry = isDryRun(context);
  const place = placeOf(context);
  const step = (existing: Entry | undefined): Prepared => {
    if (existing === undefined) throw notFound(context.resource, context.name);
    return prepareUpdate(writing, context, existing, change);
  };
  if (!writing.admission.concerns(context, "UPDATE")) {
    return perform(writing, isDry, (transaction) => {
      const existing = transaction.get(place);
      const prepared = step(existing);
      check(context.resource, prepared.after, prepared.before, context.subresource);
      return store(writing, context, transaction, existing!, prepared, change);
    });
  }
  for (let attempt = 0; attempt < overtakenMax; attempt++) {
    const existing = writing.store.get(place);
    const prepared = step(existing);
    const entry = await updateThroughWebhooks(writing, context, existing!, prepared, change, isDry);
    if (entry !== undefined) return entry;
  }
  throw conflict(context.resource, context.name);
}

async function updateThroughWebhooks(
  writing: Writing,
  context: Context,
  existing: Entry,
  prepared: Prepared,
  change: Change,
  isDry: boolean,
): Promise<Entry | undefined> {
  const { before } = prepared;
  const review = { context, operation: "UPDATE", before, isDry } as const;
  const mutated = await writing.admission.mutate({ ...review, object: prepared.after });
  normalise(context.resource, mutated, "Ignore", []);
  const after = settle(context, mutated, before);
  check(context.resource, after, before, context.subresource);
  await writing.admission.validate({ ...review, object: after });
  return perform(writing, isDry, (transaction) => {
    const now = transaction.get(placeOf(context));
    if (now?.revision !== existing.revision) return undefined;
    return store(writing, context, transaction, existing, { before, after }, change);
  });
}

interface Prepared {
  readonly before: KubeObject;
  readonly after: KubeObject;
}

function prepareUpdate(writing: Writing, context: Context, existing: Entry, change: Change): Prepared {
  const { resource } = context;
  const before = fromStorage(resource, existing.object);
  const after = clone(change.transform(before));
  const { metadata } = after;
  if ((metadata.name ?? "") !== "" && metadata.name !== context.name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${context.name})`);
  }
  if ((metadata.namespace ?? "") !== "" && metadata.namespace !== context.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  const given = metadata.resourceVersion ?? "";
  if (given !== "" && given !== "0" && given !== String(existing.revision)) throw conflict(resource, context.name);
  if (given === "" && !resource.unconditionalUpdate && context.subresource === "") {
    const fault = fieldError.invalid("metadata.resourceVersion", 0, "must be specified for an update");
    throw invalid(resource, context.name, [fault]);
  }
  if ((metadata.uid ?? "") !== "" && metadata.uid !== before.metadata.uid) {
    const rule = `Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${before.metadata.uid}`;
    throw conflict(resource, context.name, rule);
  }
  if (metadata.deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined) {
    const fault = fieldError.immutable("metadata.deletionTimestamp", metadata.deletionTimestamp);
    throw invalid(resource, context.name, [fault]);
  }
  normalise(resource, after, fieldValidation(context), context.warnings);
  const settled = settle(context, after, before);
  if (resource.storage === crdStorage && context.subresource === "") establishCrd(writing, settled);
  return { before, after: settled };
}

/** Restores what this request may not change, and counts the generation. */
function settle(context: Context, after: KubeObject, before: KubeObject): KubeObject {
  const { resource, subresource } = context;
  let result = after;
  if (subresource === "status") {
    result = { ...before, status: after["status"] };
    // On a status write custom resources keep their metadata; built-in ones take labels, annotations and finalizers.
    result.metadata = resource.custom === undefined ? after.metadata : { ...before.metadata };
    if (after.metadata.managedFields !== undefined) result.metadata.managedFields = after.metadata.managedFields;
    else delete result.metadata.managedFields;
  } else if (resource.subresources.includes("status") && subresource !== "binding") {
    result = { ...after, status: before["status"] };
  }
  // The contents of a namespace decide about its finalizer, through /finalize only.
  if (resource.storage === "/namespaces" && subresource !== "finalize") result["spec"] = before["spec"];
  result.metadata = restoreMetadata(result.metadata, before.metadata);
  if (resource.generation && subresource === "" && specChanged(context, result, before)) {
    result.metadata.generation = (before.metadata.generation ?? 0) + 1;
  }
  return result;
}

function restoreMetadata(after: KubeObject["metadata"], before: KubeObject["metadata"]): KubeObject["metadata"] {
  const result: KubeObject["metadata"] = { ...after };
  for (const key of serverKept) {
    if (before[key] === undefined) delete result[key];
    else result[key] = before[key] as never;
  }
  delete result["selfLink"];
  return result;
}

function specChanged({ resource }: Context, after: KubeObject, before: KubeObject): boolean {
  const isApart = resource.custom === undefined || resource.subresources.includes("status");
  const hidden = { metadata: null, apiVersion: null, kind: null, ...(isApart ? { status: null } : {}) };
  return !equal({ ...after, ...hidden }, { ...before, ...hidden });
}

function store(
  writing: Writing,
  context: Context,
  transaction: Transaction,
  existing: Entry,
  { before, after }: Prepared,
  change: Change,
): Entry {
  const { resource } = context;
  const place = placeOf(context);
  if (change.tracksItself !== true) trackUpdate(before, after, resource.schema, managerOf(writing, context));
  // What changes nothing is not written: no revision, no event.
  if (equal(after, before)) return existing;
  const stored = toStorage(resource, after);
  if (isFinished(stored)) return transaction.delete(place);
  return transaction.put(place, stored);
}

/** Marked for deletion, and nobody holds it any more. */
export function isFinished(object: KubeObject): boolean {
  const { metadata } = object;
  if (metadata.deletionTimestamp === undefined || (metadata.deletionGracePeriodSeconds ?? 0) > 0) return false;
  if ((metadata.finalizers ?? []).length > 0) return false;
  return (
    object.kind !== "Namespace" || object.apiVersion !== "v1" || digList(object, "spec", "finalizers").length === 0
  );
}
