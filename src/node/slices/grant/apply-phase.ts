// A grant's tasks for its node beside handing out: lend a piece, return the slice when it is empty, drain it. Each step
// is durable in the journal before the next; a crash repeats at most the last.
import { domainUnder } from "../../../api/pools/pool-domain.ts";
import { settlePool } from "../../../cluster/pool-object.ts";
import { describeDomain, type Domain, type Hold } from "../../../ipam/ledger.ts";
import { describeOwner, ownerKey } from "../../../ipam/owner.ts";
import type { JournalGrant } from "../../../ledger/journal/grant.ts";
import { pieceOf, viewOf } from "../mirror/journal-view.ts";
import type { SharedPlace, SliceParts } from "./slice-object.ts";

export type ActParts = Pick<
  SliceParts,
  "key" | "state" | "signal" | "client" | "journal" | "clock" | "log" | "ledgerOf" | "onMoved"
>;

type MoveParts = Pick<SliceParts, "journal" | "ledgerOf" | "onMoved" | "signal">;

/** An address that another owner has recorded is asked for again when its pod may have gone. */
const stuckMs = 10_000;

/** When to act again; undefined: not before something changes. */
export async function act(parts: ActParts): Promise<number | undefined> {
  const { journal, state, key } = parts;
  const grant = journal.grant(key);
  const asked = state.granted?.grant;
  // A grant that is held back, or is of another generation than the object, has no tasks.
  if (grant === undefined || grant.sealed || asked?.generation !== grant.generation) return undefined;
  if (asked.serial !== grant.serial || asked.phase !== grant.phase) return undefined;
  switch (grant.phase) {
    case "active":
      await lend(parts, grant);
      return undefined;
    case "returning":
      return seal(parts, grant);
    case "draining":
      return drain(parts, grant);
  }
}

async function lend({ journal, state, clock }: ActParts, grant: JournalGrant): Promise<void> {
  const asked = state.granted?.grant.lend;
  if (asked === undefined || grant.gives !== undefined) return;
  const block = pieceOf(viewOf(journal, grant, clock.wallMs()).free, asked.addresses);
  // The journal shows takes when they are decided, and the put is in force at once: no later take gets into the piece.
  if (block !== undefined) await journal.put({ ...grant, gives: { ask: asked.ask, block } });
}

/** Only an empty slice; the next node would give a cooling address at once. */
async function seal({ journal, clock, key }: ActParts, grant: JournalGrant): Promise<number | undefined> {
  const { holds, coolsUntilMs } = viewOf(journal, grant, clock.wallMs());
  if (holds.length > 0) return undefined;
  if (coolsUntilMs !== undefined) return Math.max(coolsUntilMs - clock.wallMs(), 0) + 1;
  await journal.put({ ...journal.grant(key)!, sealed: true });
  return undefined;
}

async function drain(parts: ActParts, grant: JournalGrant): Promise<number | undefined> {
  const { journal, state, log, key, clock } = parts;
  if (state.shared === undefined) return undefined;
  let isStuck = false;
  const { holds } = viewOf(journal, grant, clock.wallMs());
  const shared = holds.length === 0 ? state.shared : await settledPlace(parts, grant, state.shared.domain);
  for (const hold of holds) {
    const why = await moveHold(parts, grant.namespace, shared, hold);
    if (why !== "") log.error(`an address cannot be moved out of slice ${key}: ${why}`, { slice: key });
    isStuck ||= why !== "";
  }
  if (isStuck) return stuckMs;
  const waitMs = await seal(parts, grant);
  return journal.grant(key)?.sealed === true ? undefined : (waitMs ?? stuckMs);
}

/** A pod that gets a new sandbox in the midst of a move, several times in a row, is met at the next look. */
const triesMax = 3;

/**
 * Moves a slice's holds to the reservation ledger: an object per address, its owner unchanged. Running pods are not
 * touched. Promised: at every instant the address is recorded, in one ledger or in both, whatever crashes. A hold that
 * is given back or gets another sandbox is seen: its record goes, or is made anew. Empty, or why it stays.
 */
export async function moveHold(parts: MoveParts, namespace: string, shared: SharedPlace, hold: Hold): Promise<string> {
  const { journal, ledgerOf, onMoved, signal } = parts;
  const ledger = ledgerOf(namespace);
  const { domain, address } = hold;
  let from = journal.get(domain, address);
  for (let tries = 1; from !== undefined; tries++) {
    const { owner, note } = from;
    const place = describeDomain(shared.domain);
    const request = { domain: shared.domain, address, owner, early: true, note: { ...note, pool: shared.pool } };
    const taken = await ledger.take(request, { signal });
    if (taken.outcome === "held")
      return `${address} of ${describeOwner(owner)} is recorded for ${describeOwner(taken.hold.owner)} in ${place}: one of the two must go`;
    if (taken.outcome === "cooling") return `${address} still cools down in ${place}`;
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

/** The shared pool's domain is on record before anything is moved: later sharers of the range use the same records. */
export async function settledPlace(
  { client, signal }: Pick<SliceParts, "client" | "signal">,
  { namespace, network, range }: JournalGrant,
  wanted: Domain,
): Promise<SharedPlace> {
  const identity = { range, network, node: "" };
  const under = (pool: string) => domainUnder(wanted, { namespace, name: pool });
  const { domain, name } = await settlePool(client, { namespace, identity, wanted: under, signal });
  return { domain, pool: `${namespace}/${name}` };
}
