// The second name of an IPv6 hold, while whereabouts is active. whereabouts looks for `fd00--1`, never for the full
// name: a reservation under it stands beside ours, stops whereabouts, and shows us where whereabouts was first. It is
// marked as an alias, counts as no hold of its own, and goes with the hold.
import { aliasAnnotation } from "../../api/holds/hold-marks.ts";
import type { Hold } from "../../ipam/ledger.ts";
import { ownerKey, succeeds } from "../../ipam/owner.ts";
import { isApiError } from "../../kube/errors.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { Signal } from "../../kube/unless.ts";
import { removeObject } from "../reservation/guarded-delete.ts";
import type { HeldObject } from "../reservation/list-holds.ts";
import { isAlias, readRecord, type Records, rewritten, withFinalizer } from "../reservation/records.ts";
import { readObject } from "../reservation/search.ts";

/** Taken and given back again by others between our calls so often: not by chance. */
const triesMax = 5;

/** Undefined: the old name is this hold's owner's, or there is none. Else who has it. */
export async function claimAlias(client: KubeClient, records: Records, hold: Hold, signal: Signal) {
  const name = records.formerNameOf(hold.address);
  if (name === undefined) return undefined;
  const made = aliasObject(records, hold, name);
  for (let tries = 1; ; tries++) {
    try {
      await client.create(records.resource, made, { signal });
      return undefined;
    } catch (error) {
      if (!isApiError(error, "already-exists") || tries === triesMax) throw error;
    }
    const found = await readObject(client, records, name, signal);
    if (found === undefined) continue;
    if (!isAlias(found)) return recordedOwner(records, hold, found);
    if (!isAliasOf(found, records.nameOf(hold.address))) return foreignAlias(hold, found);
    if (sameSpec(found, made)) return undefined;
    try {
      await client.update(records.resource, rewritten(found, made), { signal });
      return undefined;
    } catch (error) {
      if (!isApiError(error, "conflict", "not-found") || tries === triesMax) throw error;
    }
  }
}

export async function dropAlias(client: KubeClient, records: Records, hold: Hold, signal: Signal): Promise<void> {
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
