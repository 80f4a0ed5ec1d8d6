// Does one step, or finds that it is done. Every write is guarded by what was read, so that a change by somebody else
// is never overwritten: it ends the migration with a sentence instead.
import { holds, ipPools, networkAttachmentDefinitions, reservations } from "../cluster/resources.ts";
import { isApiError } from "../kube/errors.ts";
import { type KubeObject, parseKey, picked } from "../kube/meta.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeClient } from "../kube/rest.ts";
import { unless } from "../kube/unless.ts";
import { TransferError } from "./error.ts";
import { hasSameContent, isStored } from "./plan/same.ts";
import type { Moved, Step } from "./plan/step.ts";
import { objectId } from "./plan/survey.ts";

/** `already`: there was nothing left to do. */
export type StepOutcome = "done" | "already";

export interface PerformOptions {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  /**
   * What to do with an object that is not as the step expects it. refuse (the default): end with an error. leave: it is
   * not the migration's, and is not deleted. overwrite: somebody has looked at what would be lost.
   */
  readonly changed?: "refuse" | "leave" | "overwrite";
  /** Definitions that were edited since are set back all the same. */
  readonly force?: boolean;
}

export async function perform(options: PerformOptions, step: Step): Promise<StepOutcome> {
  switch (step.kind) {
    case "create":
      return create(options, step.object);
    case "replace":
      return replace(options, step.before, step.after);
    case "edit":
      return edit(options, step.edit);
    case "delete":
      return remove(options, step.object);
  }
}

/** Key: a kind. */
const resources: Readonly<Record<Moved["kind"], Resource>> = {
  IPPool: ipPools,
  OverlappingRangeIPReservation: reservations,
  Hold: holds,
};

async function create({ client, signal }: PerformOptions, object: Moved): Promise<StepOutcome> {
  const fresh = freshOf(object);
  try {
    await client.create(resources[object.kind], fresh, { signal });
    return "done";
  } catch (error) {
    // An answer that was lost is read back, like a name that is taken.
    if (!isApiError(error, "already-exists", "outcome-unknown")) throw error;
    const there = await find(client, object, signal);
    if (there === undefined) throw error;
    // The very object that was to be made again was never deleted: whatever it says now, it is the truth.
    if (object.metadata.uid !== undefined && there.metadata.uid === object.metadata.uid) return "already";
    if (hasSameContent(fresh, there)) return "already";
  }
  const fault = `${objectId(object)} is there already and says something else: nothing was overwritten.`;
  const remedy = "Look at it, delete it if it is nobody's, and run the same command again.";
  throw new TransferError("in-the-way", `${fault} ${remedy}`);
}

async function replace(options: PerformOptions, before: Moved, after: Moved): Promise<StepOutcome> {
  const { client, signal } = options;
  const there = await find(client, after, signal);
  if (there === undefined) return create(options, after);
  if (isStored(freshOf(after), there)) return "already";
  if (options.changed !== "overwrite" && !hasSameContent(freshOf(before), there)) throw changed(after);
  const fresh = freshOf(after);
  const metadata = { ...fresh.metadata, ...picked(there.metadata, "uid", "resourceVersion", "finalizers") };
  await client.update(resources[after.kind], { ...fresh, metadata }, { signal });
  return "done";
}

type Edit = Extract<Step, { kind: "edit" }>["edit"];

async function edit({ client, signal, force }: PerformOptions, { key, before, after }: Edit): Promise<StepOutcome> {
  const at = parseKey(key);
  const there = await client.get(networkAttachmentDefinitions, at, { signal });
  const config = there.spec?.config ?? "";
  if (config === after) return "already";
  if (config !== before && !force) {
    const words = `NetworkAttachmentDefinition ${key} was changed since the plan was made. Undo that change, and run the same command again; or go back: holdfast migrate rollback.`;
    throw new TransferError("changed", words);
  }
  const body = { metadata: { resourceVersion: there.metadata.resourceVersion }, spec: { config: after } };
  await client.patch(networkAttachmentDefinitions, at, { type: "merge", body }, { signal });
  return "done";
}

async function remove({ client, signal, changed: mode }: PerformOptions, object: Moved): Promise<StepOutcome> {
  let there = await find(client, object, signal);
  if (there === undefined) return "already";
  const isOther = object.metadata.uid !== undefined && there.metadata.uid !== object.metadata.uid;
  if (mode !== "overwrite" && (isOther || !hasSameContent(freshOf(object), there))) {
    if (mode === "leave") return "already";
    throw changed(object);
  }
  const resource = resources[object.kind];
  if ((there.metadata.finalizers ?? []).length > 0)
    there = await client.update(resource, { ...there, metadata: { ...there.metadata, finalizers: [] } }, { signal });
  const preconditions = picked(there.metadata, "uid", "resourceVersion");
  // A last finalizer that went took the object with it.
  await unless(["not-found"], client.delete(resource, placeOf(object), { signal, preconditions }));
  return "done";
}

function find(client: KubeClient, object: Moved, signal: AbortSignal): Promise<KubeObject | undefined> {
  return client.lookUp(resources[object.kind], placeOf(object), { signal });
}

function placeOf({ metadata }: Moved): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? "", name: metadata.name ?? "" };
}

/** Without what only a server gives, so that it can be created. Status is made anew by its owner. */
function freshOf(object: Moved): KubeObject {
  const { apiVersion, kind, spec } = object;
  const finalizers = object.metadata.finalizers?.filter((each) => each.startsWith("holdfast.io/"));
  const marks = { ...picked(object.metadata, "labels", "annotations"), ...(finalizers && { finalizers }) };
  return { apiVersion, kind, metadata: { ...placeOf(object), ...marks }, spec } as KubeObject;
}

function changed(object: Moved): TransferError {
  const fault = `${objectId(object)} was changed since the plan was made, although every writer was asked to rest.`;
  const remedy = "Go back with holdfast migrate rollback, see who wrote it, and plan again.";
  return new TransferError("changed", `${fault} Nothing of it was overwritten. ${remedy}`);
}
