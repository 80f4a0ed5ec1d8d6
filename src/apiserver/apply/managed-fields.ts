// metadata.managedFields: who stated which field. Kept for every write, and what server-side apply decides by.
import { timestamp } from "../clock.ts";
import type { JsonObject } from "../json.ts";
import { isObject } from "../json.ts";
import type { KubeObject, ManagedFields, ObjectMeta } from "../object.ts";
import type { Schema } from "../schema/schema.ts";
import type { Cause } from "../status.ts";
import { ApiError } from "../status.ts";
import { FieldSet } from "./field-set.ts";
import { mergeApplied, prune } from "./merge.ts";
import { differenceOf, fieldsOf } from "./typed.ts";

export interface Manager {
  readonly name: string;
  readonly apiVersion: string;
  readonly subresource: string;
  readonly nowMs: number;
  /** What an object of the kind has before anybody writes to it, and nobody owns. */
  readonly blank: JsonObject;
}

/** The same bound as the real server's: older updates are merged into one entry. */
const updateEntriesMax = 10;

const serverOwned = [
  "name",
  "namespace",
  "generateName",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "selfLink",
  "uid",
  "generation",
  "managedFields",
  "resourceVersion",
];

/** The object without what nobody manages: its identity and what the server fills in. */
function manageable(object: KubeObject | undefined): JsonObject | undefined {
  if (object === undefined) return undefined;
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = object;
  const metadata: ObjectMeta = { ...object.metadata };
  for (const key of serverOwned) delete metadata[key];
  return { ...rest, metadata };
}

/** What a configuration states; metadata that names the object only states nothing. */
function statedBy(config: KubeObject, schema: Schema | undefined): FieldSet {
  const { metadata, ...rest } = manageable(config)!;
  const isBare = isObject(metadata) && Object.keys(metadata).length === 0;
  return fieldsOf(isBare ? rest : { ...rest, metadata: metadata! }, schema);
}

const sameManager = (entry: ManagedFields, manager: Manager, operation: "Apply" | "Update") =>
  entry.manager === manager.name &&
  entry.operation === operation &&
  (entry.subresource ?? "") === manager.subresource &&
  (operation === "Apply" || entry.apiVersion === manager.apiVersion);

function entryOf(manager: Manager, operation: "Apply" | "Update", fields: FieldSet): ManagedFields {
  return {
    manager: manager.name,
    operation,
    apiVersion: manager.apiVersion,
    time: timestamp(manager.nowMs),
    fieldsType: "FieldsV1",
    fieldsV1: fields.toFieldsV1(),
    ...(manager.subresource === "" ? {} : { subresource: manager.subresource }),
  };
}

function without(entry: ManagedFields, fields: FieldSet): ManagedFields | undefined {
  const had = FieldSet.parse(entry.fieldsV1);
  const rest = had.minus(fields);
  if (rest.empty) return undefined;
  return rest.equals(had) ? entry : { ...entry, fieldsV1: rest.toFieldsV1() };
}

const isReset = (entries: ManagedFields[] | undefined) =>
  entries?.length === 1 && Object.keys(entries[0]!).length === 0;

/** Sets `after.metadata.managedFields` for a create, update or patch (not an apply). */
export function trackUpdate(
  before: KubeObject | undefined,
  after: KubeObject,
  schema: Schema | undefined,
  manager: Manager,
): void {
  if (isReset(after.metadata.managedFields)) {
    delete after.metadata.managedFields;
    return;
  }
  const given = after.metadata.managedFields ?? [];
  const current = given.length > 0 ? given : (before?.metadata.managedFields ?? []);
  // An object whose tracking was reset stays untracked until somebody applies.
  if (before !== undefined && current.length === 0) {
    delete after.metadata.managedFields;
    return;
  }
  const { changed, removed } = differenceOf(manageable(before) ?? manager.blank, manageable(after), schema);
  const lost = changed.union(removed);
  const entries: ManagedFields[] = [];
  let own: ManagedFields | undefined;
  for (const entry of current) {
    if (sameManager(entry, manager, "Update")) own = entry;
    else {
      const rest = lost.empty ? entry : without(entry, lost);
      if (rest !== undefined) entries.push(rest);
    }
  }
  const had = FieldSet.parse(own?.fieldsV1);
  const has = had.minus(removed).union(changed);
  if (own !== undefined && has.equals(had)) entries.push(own);
  else if (!has.empty) entries.push(entryOf(manager, "Update", has));
  if (entries.length === 0) delete after.metadata.managedFields;
  else after.metadata.managedFields = capped(entries);
}

function capped(entries: ManagedFields[]): ManagedFields[] {
  const updates = entries.filter((entry) => entry.operation === "Update");
  if (updates.length <= updateEntriesMax) return entries;
  const [first, second] = updates as [ManagedFields, ManagedFields];
  const merged = FieldSet.parse(first.fieldsV1).union(FieldSet.parse(second.fieldsV1));
  const ancient: ManagedFields = { ...second, manager: "ancient-changes", fieldsV1: merged.toFieldsV1() };
  return capped([ancient, ...entries.filter((entry) => entry !== first && entry !== second)]);
}

/** The object after `config` was applied to `live`, managed fields included; throws the conflicts unless forced. */
export function applyConfiguration(
  live: KubeObject,
  config: KubeObject,
  schema: Schema | undefined,
  manager: Manager,
  force: boolean,
): KubeObject {
  const stated = statedBy(config, schema);
  const current = managersOf(live, schema, manager);
  const own = current.find((entry) => sameManager(entry, manager, "Apply"));
  const others = current.filter((entry) => entry !== own);
  const { managedFields: _managedFields, ...configMeta } = config.metadata;
  const laid = { ...config, metadata: configMeta };
  const previous = FieldSet.parse(own?.fieldsV1);
  // The identity is stated too, so that no metadata goes for want of an owner.
  const managed = others.reduce(
    (all, entry) => all.union(FieldSet.parse(entry.fieldsV1)),
    stated.union(fieldsOf({ metadata: { name: "" } }, schema)),
  );
  const result = prune(mergeApplied(live, laid, schema), schema, previous, managed) as KubeObject;

  const { changed, removed } = differenceOf(manageable(live), manageable(result), schema);
  const conflicts = conflictsOf(others, changed);
  if (conflicts.length > 0 && !force) throw conflictError(conflicts);
  const lost = changed.union(removed);
  const entry = own !== undefined && previous.equals(stated) ? own : entryOf(manager, "Apply", stated);
  const entries = others.map((other) => without(other, lost)).filter((other) => other !== undefined);
  if (!stated.empty) entries.push(entry);
  result.metadata = { ...result.metadata, managedFields: entries };
  if (entries.length === 0) delete result.metadata.managedFields;
  return result;
}

/** Of an object that nobody has tracked so far, all that is there belongs to `before-first-apply`. */
function managersOf(live: KubeObject, schema: Schema | undefined, manager: Manager): ManagedFields[] {
  const entries = live.metadata.managedFields ?? [];
  if (entries.length > 0) return entries;
  const { changed } = differenceOf(manager.blank, manageable(live), schema);
  return changed.empty ? [] : [entryOf({ ...manager, name: "before-first-apply" }, "Update", changed)];
}

interface Conflict {
  readonly manager: string;
  readonly path: string;
}

function conflictsOf(others: readonly ManagedFields[], changed: FieldSet): Conflict[] {
  return others.flatMap((entry) =>
    [...FieldSet.parse(entry.fieldsV1).intersect(changed).paths()].map((path) => ({ manager: inWords(entry), path })),
  );
}

function inWords(entry: ManagedFields): string {
  const name = JSON.stringify(entry.manager ?? "");
  const subresource = entry.subresource === undefined ? "" : ` with subresource ${JSON.stringify(entry.subresource)}`;
  if (entry.operation !== "Update") return name + subresource;
  const at = entry.time === undefined ? "" : ` at ${entry.time}`;
  return `${name}${subresource} using ${entry.apiVersion}${at}`;
}

function conflictError(conflicts: readonly Conflict[]): ApiError {
  const causes: Cause[] = conflicts.map(({ manager, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${manager}`,
    field: path,
  }));
  const managers = new Set(conflicts.map(({ manager }) => manager));
  const parts = [...managers].map((manager) => {
    const paths = conflicts.filter((conflict) => conflict.manager === manager).map(({ path }) => path);
    return paths.length === 1
      ? `conflict with ${manager}: ${paths[0]}`
      : `conflicts with ${manager}:\n${paths.map((path) => `- ${path}`).join("\n")}`;
  });
  const plural = conflicts.length === 1 ? "" : "s";
  return new ApiError(409, "Conflict", `Apply failed with ${conflicts.length} conflict${plural}: ${parts.join("\n")}`, {
    causes,
  });
}
