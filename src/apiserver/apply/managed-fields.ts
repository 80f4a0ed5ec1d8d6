// metadata.managedFields: who owns which field of an object, after an update and after an apply.
import { timestamp } from "../../kube/clock.ts";
import { equal, type JsonObject } from "../json.ts";
import { type KubeObject, type ManagedFields, serverKept } from "../object.ts";
import type { Schema } from "../schema/schema.ts";
import { type Cause, StatusError } from "../status.ts";
import { type Difference, differenceOf, type Fields, inWords, readFields, statedIn, writeFields } from "./fields.ts";
import { mergeApplied, withoutDropped } from "./merge.ts";

export interface Manager {
  readonly name: string;
  readonly apiVersion: string;
  readonly subresource: string;
  readonly nowMs: number;
  /** What objects of the kind have before anybody writes: nobody's fields. */
  readonly blank: JsonObject;
}

/** More updaters than that are not told apart: the oldest become one. */
const updatersMax = 10;

/** What identifies an object, and what the server itself keeps: nobody owns it. */
const nobodys = readFields({
  "f:apiVersion": {},
  "f:kind": {},
  "f:metadata": {
    ".": {},
    ...Object.fromEntries([...serverKept, "selfLink", "managedFields"].map((key) => [`f:${key}`, {}])),
  },
}).add("");

/** An entry whose fields are read. It has `fieldsV1` as long as they are as they were read. */
interface Owner {
  readonly entry: ManagedFields;
  readonly fields: Fields;
}

function ownersOf({ metadata }: KubeObject): Owner[] {
  const entries = (metadata.managedFields ?? []).filter(
    ({ operation, fieldsType }) => (operation === "Apply" || operation === "Update") && fieldsType === "FieldsV1",
  );
  return entries.map((entry) => ({ entry, fields: readFields(entry.fieldsV1 ?? {}) }));
}

const entryOf = (by: Manager, operation: "Apply" | "Update"): ManagedFields => ({
  manager: by.name,
  operation,
  apiVersion: by.apiVersion,
  time: timestamp(by.nowMs),
  fieldsType: "FieldsV1",
  ...(by.subresource === "" ? {} : { subresource: by.subresource }),
});

/** An applier may change the version in which it states its fields; an updater of another version is another one. */
const isSame = (a: ManagedFields, b: ManagedFields): boolean =>
  a.manager === b.manager &&
  a.operation === b.operation &&
  a.subresource === b.subresource &&
  (a.operation === "Apply" || a.apiVersion === b.apiVersion);

/** `owners` where the writer of `entry` owns exactly `fields`. The time of an entry is that of its last change. */
function withOwner(owners: readonly Owner[], entry: ManagedFields, fields: Fields): Owner[] {
  const known = owners.find((owner) => isSame(owner.entry, entry));
  const isUnchanged = known !== undefined && equalSets(known.fields, fields);
  const now = isUnchanged ? known : { entry, fields };
  return known === undefined ? [...owners, now] : owners.map((owner) => (owner === known ? now : owner));
}

const equalSets = (a: Fields, b: Fields): boolean => a.size === b.size && a.isSubsetOf(b);

function record(object: KubeObject, owners: readonly Owner[]): void {
  const byAge = (a: Owner, b: Owner) => compare(a.entry.time ?? "", b.entry.time ?? "");
  const told = owners.filter(({ fields }) => fields.size > 0).sort(byAge);
  const updaters = told.filter(({ entry }) => entry.operation === "Update");
  const ancient = updaters.length > updatersMax ? updaters.slice(0, 1 - updatersMax) : [];
  if (ancient.length > 0) {
    const last = ancient.at(-1)!;
    const fields = ancient.reduce((all, owner) => all.union(owner.fields), new Set<string>());
    const { fieldsV1: _, ...entry } = last.entry;
    told.splice(told.indexOf(last), 1, { entry: { ...entry, manager: "ancient-changes" }, fields });
  }
  const entries = told.filter((owner) => !ancient.includes(owner)).map(entryFor);
  if (entries.length === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = entries;
}

const entryFor = ({ entry: { subresource, fieldsV1, ...entry }, fields }: Owner): ManagedFields => ({
  ...entry,
  fieldsV1: fieldsV1 ?? writeFields(fields),
  ...(subresource === undefined ? {} : { subresource }),
});

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

function changesOf(before: JsonObject, after: JsonObject, schema: Schema | undefined): Difference {
  const { gone, come } = differenceOf(before, after, schema);
  return { gone: gone.difference(nobodys), come: come.difference(nobodys) };
}

/** Writes the managed fields of `after`, which an update made of `before`; undefined when the object is new. */
export function trackUpdate(
  before: KubeObject | undefined,
  after: KubeObject,
  schema: Schema | undefined,
  by: Manager,
): void {
  const given = after.metadata.managedFields ?? [];
  const isReset = given.length === 1 && equal(given[0], {});
  const source = given.length > 0 ? after : (before ?? after);
  const owners = ownersOf(source);
  if (isReset || (before !== undefined && owners.length === 0)) return void delete after.metadata.managedFields;
  const { gone, come } = changesOf(before ?? by.blank, after, schema);
  const entry = entryOf(by, "Update");
  const mine = owners.find((owner) => isSame(owner.entry, entry));
  const left = without(owners, mine, gone.union(come));
  record(after, withOwner(left, entry, (mine?.fields ?? new Set()).difference(gone).union(come)));
}

/** The owners, where all but one have lost some fields. */
const without = (owners: readonly Owner[], except: Owner | undefined, lost: Fields): Owner[] =>
  owners.map((owner) => {
    if (owner === except || owner.fields.isDisjointFrom(lost)) return owner;
    const { fieldsV1: _, ...entry } = owner.entry;
    return { entry, fields: owner.fields.difference(lost) };
  });

/** The object after an apply. Throws a Conflict when it would change what others own, unless it is forced. */
export function applyConfiguration(
  live: KubeObject,
  config: KubeObject,
  schema: Schema | undefined,
  by: Manager,
  isForced: boolean,
): KubeObject {
  const entry = entryOf(by, "Apply");
  let owners = ownersOf(live);
  if (owners.length === 0) owners = [beforeFirstApply(live, schema, by)];
  const mine = owners.find((owner) => isSame(owner.entry, entry));
  const stated = statedIn(config, schema).difference(nobodys);
  const merged = mergeApplied(live, config, schema) as KubeObject;
  const { gone, come } = changesOf(live, merged, schema);
  const others = owners.filter((owner) => owner !== mine);
  if (!isForced) refuse(others, come);
  const left = without(owners, mine, gone.union(come));
  const owned = left.reduce((all, owner) => (owner === mine ? all : all.union(owner.fields)), stated.union(nobodys));
  const { result, lost } = withoutDropped(merged, schema, mine?.fields ?? new Set(), owned);
  record(result as KubeObject, withOwner(without(left, mine, lost), entry, stated));
  return result as KubeObject;
}

/** What an object that nobody tracked has belongs to one updater, so that appliers meet conflicts, not silence. */
function beforeFirstApply(live: KubeObject, schema: Schema | undefined, by: Manager): Owner {
  const { come } = changesOf(by.blank, live, schema);
  return { entry: entryOf({ ...by, name: "before-first-apply" }, "Update"), fields: come };
}

function refuse(others: readonly Owner[], changed: Fields): void {
  const causes: Cause[] = [];
  const lines: string[] = [];
  for (const { entry, fields } of others) {
    const names = [...fields.intersection(changed)].sort().map(inWords);
    if (names.length === 0) continue;
    const { manager, operation, apiVersion, time, subresource } = entry;
    const update = operation === "Update" ? ` using ${apiVersion}${time === undefined ? "" : ` at ${time}`}` : "";
    const whom = `${JSON.stringify(manager)}${subresource === undefined ? "" : ` with subresource ${JSON.stringify(subresource)}`}${update}`;
    for (const field of names) causes.push({ reason: "FieldManagerConflict", message: `conflict with ${whom}`, field });
    lines.push(
      names.length === 1 ? `conflict with ${whom}: ${names[0]}` : `conflicts with ${whom}:\n- ${names.join("\n- ")}`,
    );
  }
  if (causes.length === 0) return;
  const count = `${causes.length} conflict${causes.length === 1 ? "" : "s"}`;
  throw new StatusError(409, "Conflict", `Apply failed with ${count}: ${lines.join("\n")}`, { causes });
}
