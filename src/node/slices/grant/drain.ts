// Moves what a draining slice holds to the reservation ledger: an object per address, its owner unchanged. Running pods are not touched.
//
// Promised: at every instant the address is recorded, in one ledger or in both, whatever crashes between. A hold that is given back or
// gets another sandbox meanwhile is seen: the record that was made is taken back, or made again for the newer one.
import { ensurePool } from "../../../cluster/pool-object.ts";
import { describeDomain, type Domain, type Hold, type Ledger } from "../../../ipam/ledger.ts";
import { describeOwner, ownerKey } from "../../../ipam/owner.ts";
import type { KubeClient } from "../../../kube/rest.ts";
import type { JournalGrant } from "../../../ledger/journal/grant.ts";
import type { Journal } from "../../../ledger/journal/journal.ts";
import type { SharedPlace } from "./slice-object.ts";

export interface DrainParts {
  readonly journal: Pick<Journal, "get" | "move">;
  readonly ledger: Ledger;
  readonly shared: SharedPlace;
  readonly namespace: string;
  /** The hold is in the reservation ledger now: DEL and CHECK look there too. */
  readonly onMoved: (namespace: string, hold: Hold) => void;
}

/** A pod that gets a new sandbox in the midst of a move, several times in a row, is met at the next look. */
const triesMax = 3;

/** Empty, or in a sentence why it is still here. */
export async function moveHold(parts: DrainParts, hold: Hold, signal: AbortSignal): Promise<string> {
  const { journal, ledger, shared, namespace, onMoved } = parts;
  const { domain, address } = hold;
  let from = journal.get(domain, address);
  for (let tries = 1; from !== undefined; tries++) {
    const { owner, note } = from;
    const taken = await ledger.take(
      { domain: shared.domain, address, owner, early: true, note: { ...note, pool: shared.pool } },
      { signal },
    );
    if (taken.outcome === "held") {
      return `${address} of ${describeOwner(owner)} is recorded for ${describeOwner(taken.hold.owner)} in ${describeDomain(shared.domain)}: one of the two must go`;
    }
    if (taken.outcome === "cooling") return `${address} still cools down in ${describeDomain(shared.domain)}`;
    const now = journal.get(domain, address);
    if (now?.version === from.version) {
      onMoved(namespace, taken.hold);
      await journal.move(domain, address);
      return "";
    }
    if (now === undefined || ownerKey(now.owner) !== ownerKey(owner)) {
      const made = { domain: shared.domain, address, owner: ownerKey(owner), version: taken.hold.version };
      await ledger.release({ ...made, cooldownMs: 0 }, { signal });
    }
    if (tries === triesMax && now !== undefined) return `${address} changes hands while it is moved`;
    from = now;
  }
  return "";
}

/** The shared pool is marked with the domain before anything is recorded there: whoever shares the range later uses the same records. */
export async function settledPlace(
  { client, signal }: { readonly client: KubeClient; readonly signal: AbortSignal },
  { namespace, network, range }: JournalGrant,
  wanted: Domain,
): Promise<SharedPlace> {
  const identity = { range, network, node: "" };
  const { domain = wanted, name } = await ensurePool(client, { namespace, identity, domain: wanted, signal });
  return { domain, pool: `${namespace}/${name}` };
}
