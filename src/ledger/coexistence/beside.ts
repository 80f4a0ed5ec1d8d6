// What a hold needs beside its object while whereabouts may write: finalizer, old IPv6 name and the pool's entry, in
// this order. A release removes them in the opposite one: what a crash leaves behind still holds the address. The one
// door to this folder for takes and releases. With coexistence off it is not used: not a call, read or write more.
import { ObjectError as BadObject } from "../../api/error.ts";
import { aliasAnnotation, coolingOf, ownerLabelName } from "../../api/holds/hold-marks.ts";
import { reservationKind } from "../../api/holds/reservation.ts";
import { type Hold, LedgerError, type TakeRequest } from "../../ipam/ledger.ts";
import type { Owner } from "../../ipam/owner.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { Signal } from "../../kube/unless.ts";
import { removeObject } from "../reservation/guarded-delete.ts";
import type { HeldObject } from "../reservation/list-holds.ts";
import type { Records } from "../reservation/records.ts";
import { readObject } from "../reservation/search.ts";
import { claimAlias, dropAlias } from "./alias.ts";
import { claimEntry, dropEntry, entryPlace } from "./pool-entry.ts";

export class Beside {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** whereabouts' reconciler deletes live reservations of named networks at every run; it knows no other kind. */
  keeps({ resource }: Records): boolean {
    return resource.kind === reservationKind.kind;
  }

  /** Refuses, before anything is written, what whereabouts could not read. */
  async prepare(records: Records, request: Omit<TakeRequest, "owner">, signal: Signal) {
    const client = this.#client;
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

  async withdraw(records: Records, hold: Hold, signal: Signal): Promise<void> {
    const pool = hold.note?.pool;
    if (pool !== undefined) {
      const place = await entryPlace(this.#client, { ...hold, pool }, signal).catch(nowhere);
      if (place !== undefined) await dropEntry(place, hold.owner, signal);
    }
    await dropAlias(this.#client, records, hold, signal);
  }

  /** Gives back what whereabouts recorded, entry first. False: it is another's, or a later container's; all stays. */
  async releaseTheirs(
    records: Records,
    { address, owner, pool }: Pick<Hold, "address" | "owner"> & { readonly pool: string },
    signal: Signal,
  ): Promise<boolean> {
    const names = [records.nameOf(address), records.formerNameOf(address)].filter((name) => name !== undefined);
    // Read before the entry goes: what is made afterwards is not touched.
    const objects = await Promise.all(names.map((name) => readObject(this.#client, records, name, signal)));
    const place = await entryPlace(this.#client, { domain: records.domain, address, pool }, signal).catch(nowhere);
    if (place === undefined || !(await dropEntry(place, owner, signal))) return false;
    const there = objects.filter((object) => object !== undefined);
    for (const object of there.filter((each) => isUpstreamsFor(owner, each)))
      await removeObject(this.#client, records.resource, object, signal);
    return true;
  }
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
