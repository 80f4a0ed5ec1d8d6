// Deletion of one object: preconditions, grace, finalizers, and what shall become of its dependents.
import { timestamp } from "../../kube/clock.ts";
import { dig, digList, digString, type JsonObject } from "../json.ts";
import type { KubeObject } from "../object.ts";
import { crdFinalizer } from "../registry/crd.ts";
import type { Resource } from "../registry/resource.ts";
import { conflict, fieldError, forbidden, invalidOptions, notFound } from "../status.ts";
import type { Entry, StoredPlace } from "../store/entry.ts";
import type { Transaction } from "../store/transaction.ts";
import { type Context, isDryRun, placeOf } from "./context.ts";
import { fromStorage } from "./conversion.ts";
import { isFinished, type Writing } from "./write.ts";

export const orphanFinalizer = "orphan";
export const foregroundFinalizer = "foregroundDeletion";

/** Kinds of old that leave their pods behind unless told otherwise. */
const orphaning = new Set(["batch/jobs", "/replicationcontrollers"]);
const keptNamespaces = new Set(["default", "kube-system", "kube-public"]);

export interface DeleteOptions {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagation: "Background" | "Foreground" | "Orphan" | undefined;
}

export interface Deletion {
  /** The last state when it is gone; else the state marked for deletion. */
  readonly entry: Entry;
  readonly gone: boolean;
}

const isPolicy = (text: string | undefined): text is DeleteOptions["propagation"] =>
  text === undefined || text === "Background" || text === "Foreground" || text === "Orphan";

export function parseDeleteOptions(body: JsonObject, query: URLSearchParams): DeleteOptions {
  const grace = dig(body, "gracePeriodSeconds") ?? query.get("gracePeriodSeconds") ?? undefined;
  const propagation = digString(body, "propagationPolicy") ?? query.get("propagationPolicy") ?? undefined;
  const orphan = dig(body, "orphanDependents") ?? query.get("orphanDependents") ?? undefined;
  if (!isPolicy(propagation)) {
    const policies = ["Foreground", "Background", "Orphan", "nil"];
    throw invalidOptions("DeleteOptions", fieldError.unsupported("propagationPolicy", propagation, policies));
  }
  if (propagation !== undefined && orphan !== undefined) {
    const rule = "orphanDependents and deletionPropagation cannot be both set";
    throw invalidOptions("DeleteOptions", fieldError.invalid("propagationPolicy", propagation, rule));
  }
  const legacy = orphan === undefined ? undefined : orphan === true || orphan === "true" ? "Orphan" : "Background";
  return {
    uid: digString(body, "preconditions", "uid"),
    resourceVersion: digString(body, "preconditions", "resourceVersion"),
    gracePeriodSeconds: grace === undefined ? undefined : Number(grace),
    propagation: propagation ?? legacy,
  };
}

export async function remove(
  writing: Writing,
  context: Context,
  options: DeleteOptions,
  body: JsonObject,
): Promise<Deletion> {
  const isDry = isDryRun(context, digList(body, "dryRun"));
  const place = placeOf(context);
  if (place.resource === "/namespaces" && keptNamespaces.has(place.name)) {
    throw forbidden(context.resource, place.name, "this namespace may not be deleted");
  }
  const existing = writing.store.get(place);
  if (existing === undefined) throw notFound(context.resource, context.name);
  if (writing.admission.concerns(context, "DELETE")) {
    const before = fromStorage(context.resource, existing.object);
    const review = { context, operation: "DELETE", object: undefined, before, isDry, options: body } as const;
    await writing.admission.validateDelete(review);
  }
  const nowMs = writing.clock.wallMs();
  const propagation = options.propagation ?? (orphaning.has(place.resource) ? "Orphan" : undefined);
  const chosen = { ...options, propagation };
  const operation = (transaction: Transaction) => removeNow(transaction, place, context.resource, chosen, nowMs);
  return isDry ? writing.store.rehearse(operation) : writing.store.write(operation);
}

/** The deletion itself, inside a write. Also used by the garbage collector. */
export function removeNow(
  transaction: Transaction,
  place: StoredPlace,
  resource: Resource,
  options: DeleteOptions,
  nowMs: number,
): Deletion {
  const entry = transaction.get(place);
  if (entry === undefined) throw notFound(resource, place.name);
  checkPreconditions(resource, entry, options);
  const object = marked(entry.object, options, nowMs);
  if (isFinished(object)) return { entry: transaction.delete(place), gone: true };
  // A second DELETE of what is already marked changes nothing, unless it shortens the grace or the finalizers.
  const isSame =
    object.metadata.deletionTimestamp === entry.object.metadata.deletionTimestamp &&
    (object.metadata.finalizers ?? []).join() === (entry.object.metadata.finalizers ?? []).join();
  return { entry: isSame ? entry : transaction.put(place, object), gone: false };
}

function checkPreconditions(resource: Resource, entry: Entry, options: DeleteOptions): void {
  const subject = { ...resource, plural: resource.kind };
  const { uid } = entry.object.metadata;
  if (options.uid !== undefined && options.uid !== uid) {
    const why = `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    throw conflict(subject, entry.name, why);
  }
  if (options.resourceVersion !== undefined && options.resourceVersion !== String(entry.revision)) {
    const why = `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${entry.revision}). The object might have been modified`;
    throw conflict(subject, entry.name, why);
  }
}

function marked(object: KubeObject, options: DeleteOptions, nowMs: number): KubeObject {
  const metadata = { ...object.metadata };
  const grace = graceSeconds(object, options);
  const standing = metadata.deletionTimestamp;
  // Grace is only ever shortened.
  if (standing === undefined || grace < (metadata.deletionGracePeriodSeconds ?? 0)) {
    metadata.deletionTimestamp =
      standing === undefined || grace > 0 ? timestamp(nowMs + grace * 1000) : timestamp(nowMs);
    metadata.deletionGracePeriodSeconds = grace;
    if (standing === undefined && metadata.generation !== undefined) metadata.generation++;
  }
  const finalizers = propagationFinalizers(metadata.finalizers ?? [], options);
  // The objects of a definition go before it does.
  if (isDefinition(object) && standing === undefined && !finalizers.includes(crdFinalizer))
    finalizers.push(crdFinalizer);
  if (finalizers.length > 0) metadata.finalizers = finalizers;
  else delete metadata.finalizers;
  const result: KubeObject = { ...object, metadata };
  if (object.kind === "Namespace" && object.apiVersion === "v1") {
    result["status"] = { ...(object["status"] as JsonObject | undefined), phase: "Terminating" };
  }
  return result;
}

const isDefinition = (object: KubeObject) =>
  object.kind === "CustomResourceDefinition" && object.apiVersion.startsWith("apiextensions.k8s.io/");

/** Only a pod on a node needs time to stop; without a kubelet here, whoever plays it deletes the pod with grace 0. */
function graceSeconds(object: KubeObject, options: DeleteOptions): number {
  if (object.kind !== "Pod" || object.apiVersion !== "v1") return 0;
  const phase = digString(object, "status", "phase");
  if ((digString(object, "spec", "nodeName") ?? "") === "" || phase === "Succeeded" || phase === "Failed") return 0;
  const own = dig(object, "spec", "terminationGracePeriodSeconds");
  return Math.max(0, options.gracePeriodSeconds ?? (typeof own === "number" ? own : 30));
}

function propagationFinalizers(current: readonly string[], { propagation }: DeleteOptions): string[] {
  if (propagation === undefined) return [...current];
  const others = current.filter((finalizer) => finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer);
  if (propagation === "Background") return others;
  return [...others, propagation === "Orphan" ? orphanFinalizer : foregroundFinalizer];
}
