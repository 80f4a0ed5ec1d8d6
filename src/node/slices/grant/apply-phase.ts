// What a grant asks of its node beside handing out: to lend a piece, to return the slice when it is empty, to drain it. Each step is durable
// in the journal before the next; a crash repeats at most the last.
import type { JournalGrant } from "../../../ledger/journal/grant.ts";
import { pieceOf, viewOf } from "../mirror/journal-view.ts";
import { moveHold, settledPlace } from "./drain.ts";
import type { SliceParts } from "./slice-state.ts";

export type ActParts = Pick<
  SliceParts,
  "key" | "state" | "signal" | "client" | "journal" | "clock" | "log" | "ledgerOf" | "onMoved"
>;

/** An address that another has recorded is asked for again when its pod may have gone. */
const stuckMs = 10_000;

/** When to act again; undefined: not before something changes. */
export async function act(parts: ActParts): Promise<number | undefined> {
  const { journal, state, key } = parts;
  const grant = journal.grant(key);
  const asked = state.granted?.grant;
  // A grant that is held back, or is of another generation than the object, is asked for nothing.
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
  // The journal shows takes as soon as they are decided, and no later one gets into the piece: the put is in force at once.
  if (block !== undefined) await journal.put({ ...grant, gives: { ask: asked.ask, block } });
}

/** Only what is empty; what cools down would be given at once by the next node. */
async function seal({ journal, clock, key }: ActParts, grant: JournalGrant): Promise<number | undefined> {
  const { holds, coolsUntilMs } = viewOf(journal, grant, clock.wallMs());
  if (holds.length > 0) return undefined;
  if (coolsUntilMs !== undefined) return Math.max(coolsUntilMs - clock.wallMs(), 0) + 1;
  await journal.put({ ...journal.grant(key)!, sealed: true });
  return undefined;
}

async function drain(parts: ActParts, grant: JournalGrant): Promise<number | undefined> {
  const { journal, state, ledgerOf, onMoved, signal, log, key, clock } = parts;
  const { namespace } = grant;
  if (state.shared === undefined) return undefined;
  const ledger = ledgerOf(namespace);
  let isStuck = false;
  const { holds } = viewOf(journal, grant, clock.wallMs());
  const shared = holds.length === 0 ? state.shared : await settledPlace(parts, grant, state.shared.domain);
  for (const hold of holds) {
    const why = await moveHold({ journal, ledger, shared, namespace, onMoved }, hold, signal);
    if (why !== "") log.error(`an address cannot be moved out of slice ${key}: ${why}`, { slice: key });
    isStuck ||= why !== "";
  }
  if (isStuck) return stuckMs;
  const waitMs = await seal(parts, grant);
  return journal.grant(key)?.sealed === true ? undefined : (waitMs ?? stuckMs);
}
