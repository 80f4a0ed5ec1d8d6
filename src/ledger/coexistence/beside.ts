// What a hold needs beside its object while whereabouts may write: finalizer, old IPv6 name and the pool's entry, in
// this order. A release removes them in the opposite one: what a crash leaves behind still holds the address. The one
// door to this folder for takes and releases. With coexistence off it is not used: not a call, read or write more.
import { ObjectError as BadObject } from "../../api/error.ts";
import { aliasAnnotation, coolingOf, ownerLabelName } from "../../api/holds/hold-marks.ts";
import { reservationKind } from "../../api/holds/reservation.ts";
import { type Hold, LedgerError, type TakeRequest } from "../../ipam/ledger.ts";
import { type Owner, ownerKey, succeeds } from "../../ipam/owner.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { anew, type Signal } from "../../kube/unless.ts";
import { removeObject } from "../reservation/guarded-delete.ts";
import type { HeldObject } from "../reservation/list-holds.ts";
import { isAlias, readObject, readRecord, type Records, rewritten, withFinalizer } from "../reservation/records.ts";
import { claimEntry, dropEntry, entryPlace } from "./pool-entry.ts";

/** whereabouts' reconciler deletes live reservations of named networks at every run; it knows no other kind. */
export function keepsBeside({ resource }: Records): boolean {
  return resource.kind === reservationKind.kind;
}

/** Refuses, before anything is written, what whereabouts could not read. */
export async function prepareBeside(
  client: KubeClient,
  records: Records,
  request: Omit<TakeRequest, "owner">,
  signal: Signal,
) {
  const { domain, address, note, loose = false } = request;
  const place = loose ? undefined : await entryPlace(client, { domain, address, pool: note?.pool }, signal);
  /** Undefined: all is the hold's owner's now. Else who has it; then nothing claimed here is left. */
  return async (hold: Hold): Promise<Hold | undefined> => {
    const older = await claimAlias(client, records, hold, signal);
    if (older !== undefined || place === undefined) return older;
    const entered = await claimEntry(place, hold.owner, signal);
    if (entered !== undefined) await dropAlias(client, records, hold, signal);
    return entered;
  };
}

export async function withdrawBeside(client: KubeClient, records: Records, hold: Hold, signal: Signal): Promise<void> {
  const pool = hold.note?.pool;
  if (pool !== undefined) {
    const place = await entryPlace(client, { ...hold, pool }, signal).catch(nowhere);
    if (place !== undefined) await dropEntry(place, hold.owner, signal);
  }
  await dropAlias(client, records, hold, signal);
}

/** Gives back what whereabouts recorded, entry first. False: it is another's, or a later container's; all stays. */
export async function releaseTheirs(
  client: KubeClient,
  records: Records,
  { address, owner, pool }: Pick<Hold, "address" | "owner"> & { readonly pool: string },
  signal: Signal,
): Promise<boolean> {
  const names = [records.nameOf(address), records.formerNameOf(address)].filter((name) => name !== undefined);
  // Read before the entry goes: what is made afterwards is not touched.
  const objects = await Promise.all(names.map((name) => readObject(client, records, name, signal)));
  const place = await entryPlace(client, { domain: records.domain, address, pool }, signal).catch(nowhere);
  if (place === undefined || !(await dropEntry(place, owner, signal))) return false;
  const there = objects.filter((object) => object !== undefined);
  for (const object of there.filter((each) => isUpstreamsFor(owner, each)))
    await removeObject(client, records.resource, object, signal);
  return true;
}

/** Without our marks, and in the pod's name: it knows no more of whose it is. */
function isUpstreamsFor({ namespace, name }: Owner, { metadata, spec }: HeldObject): boolean {
  const isOurs = metadata.labels?.[ownerLabelName] !== undefined || coolingOf(metadata) !== undefined;
  const { podref } = spec as { readonly podref?: unknown };
  return !isOurs && metadata.annotations?.[aliasAnnotation] === undefined && podref === `${namespace}/${name}`;
}

/** The pool is gone, or has no key for the address: then there is no entry, and the release goes on. */
function nowhere(error: unknown): undefined {
  if (!(error instanceof LedgerError) && !(error instanceof BadObject)) throw error;
}

/** Taken and given back again by others between our calls so often: not by chance. */
const triesMax = 5;

/**
 * Claims the second name of an IPv6 hold. whereabouts looks for `fd00--1`, never for the full name: a reservation under
 * it stands beside ours, stops whereabouts, and shows us where whereabouts was first. It is marked as an alias, counts
 * as no hold of its own, and goes with the hold. Undefined: it is this owner's, or there is none. Else who has it.
 */
export async function claimAlias(client: KubeClient, records: Records, hold: Hold, signal: Signal) {
  const name = records.formerNameOf(hold.address);
  if (name === undefined) return undefined;
  const made = aliasObject(records, hold, name);
  return anew(triesMax, ["already-exists", "conflict", "not-found"], async (isFirst) => {
    const found = isFirst ? undefined : await readObject(client, records, name, signal);
    if (found === undefined) return void (await client.create(records.resource, made, { signal }));
    if (!isAlias(found)) return recordedOwner(records, hold, found);
    if (!isAliasOf(found, records.nameOf(hold.address))) return foreignAlias(hold, found);
    if (!sameSpec(found, made)) await client.update(records.resource, rewritten(found, made), { signal });
    return undefined;
  });
}

async function dropAlias(client: KubeClient, records: Records, hold: Hold, signal: Signal): Promise<void> {
  const name = records.formerNameOf(hold.address);
  if (name === undefined) return;
  const found = await readObject(client, records, name, signal);
  if (found === undefined || !isAliasOf(found, records.nameOf(hold.address))) return;
  // Changed meanwhile: a later take of the same owner made it its own.
  if (sameSpec(found, aliasObject(records, hold, name))) await removeObject(client, records.resource, found, signal);
}

function isAliasOf({ metadata }: HeldObject, name: string): boolean {
  return metadata.annotations?.[aliasAnnotation] === name;
}

/** A reservation of whereabouts: the same pod's is no obstacle. */
function recordedOwner(records: Records, { owner, address }: Hold, found: HeldObject): Hold | undefined {
  const recorded = readRecord(records, address, found);
  return ownerKey(recorded.owner) === ownerKey(owner) || succeeds(owner, recorded.owner) ? undefined : recorded;
}

/** The old name means two addresses, and the other's hold is there: whereabouts would see this one as taken too. */
function foreignAlias({ domain, address }: Hold, found: HeldObject): Hold {
  const [namespace = "", name = ""] = ((found.spec as { podref?: string }).podref ?? "").split("/");
  const { uid = "", resourceVersion = "" } = found.metadata;
  const owner = { kind: "pod", uid: "", namespace, name, interface: "" } as const;
  return { domain, address, owner, version: `${uid}@${resourceVersion}` };
}

function aliasObject(records: Records, hold: Hold, name: string): HeldObject {
  const made = withFinalizer(records.make(hold));
  const { labels: _, annotations, ...metadata } = made.metadata;
  const alias = { ...annotations, [aliasAnnotation]: metadata.name ?? "" };
  return { ...made, metadata: { ...metadata, name, annotations: alias } };
}

function sameSpec(a: HeldObject, b: HeldObject): boolean {
  const [one, two] = [a.spec as Record<string, unknown>, b.spec as Record<string, unknown>];
  return ["podref", "ifname", "containerid", "poduid"].every((field) => one[field] === two[field]);
}
