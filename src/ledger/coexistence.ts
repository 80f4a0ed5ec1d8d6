// What a hold needs beside its object while whereabouts is active: the old IPv6 name and the pool's entry, in this order. A
// release takes them away in the opposite one, so that whatever a crash leaves behind still holds the address.
import { ApiError as BadObject } from "../api/error.ts";
import { type Hold, LedgerError, type TakeRequest } from "../ipam/ledger.ts";
import type { KubeClient } from "../kube/rest.ts";
import { claimAlias, dropAlias } from "./alias.ts";
import { claimEntry, dropEntry, entryPlace } from "./pool-entry.ts";
import type { Records } from "./records.ts";

export interface Beside {
  /** Undefined: all of it is the hold's owner's now. Else whose it is, and nothing is left of what was claimed here. */
  claim(hold: Hold): Promise<Hold | undefined>;
}

/** Refuses, before anything is written, what whereabouts could not read. */
export async function besideUpstream(
  client: KubeClient,
  records: Records,
  { domain, address, note, loose = false }: Omit<TakeRequest, "owner">,
  signal: AbortSignal | undefined,
): Promise<Beside> {
  const place = loose ? undefined : await entryPlace(client, { domain, address, pool: note?.pool }, signal);
  return {
    claim: async (hold) => {
      const older = await claimAlias(client, records, hold, signal);
      if (older !== undefined || place === undefined) return older;
      const entered = await claimEntry(place, hold.owner, signal);
      if (entered !== undefined) await dropAlias(client, records, hold, signal);
      return entered;
    },
  };
}

export async function withdrawFromUpstream(
  client: KubeClient,
  records: Records,
  hold: Hold,
  signal: AbortSignal | undefined,
): Promise<void> {
  const pool = hold.note?.pool;
  if (pool !== undefined) {
    const place = await entryPlace(client, { ...hold, pool }, signal).catch(nowhere);
    if (place !== undefined) await dropEntry(place, hold.owner, signal);
  }
  await dropAlias(client, records, hold, signal);
}

/** The pool is gone, or has no key for the address: then there is no entry, and the release goes on. */
function nowhere(error: unknown): undefined {
  if (!(error instanceof LedgerError) && !(error instanceof BadObject)) throw error;
}
