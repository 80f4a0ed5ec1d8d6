// Brings a slice's IPPool to the journal's state: entries and word, in one merge patch of the daemon's own keys.
import { parseObject } from "../../../api/kind.ts";
import { type IPPool, ipPoolKind } from "../../../api/pools/ip-pool.ts";
import { sliceUseKey } from "../../../api/slices/node-lease.ts";
import { grantAnnotation, type NodeWord } from "../../../api/slices/slice-grant.ts";
import { ipPools } from "../../../cluster/resources.ts";
import { parseKey } from "../../../kube/meta.ts";
import { unless } from "../../../kube/unless.ts";
import type { JournalGrant } from "../../../ledger/journal/grant.ts";
import type { Journal } from "../../../ledger/journal/journal.ts";
import { IntervalSet } from "../../../net/interval-set.ts";
import type { SliceParts } from "../grant/slice-object.ts";
import { showing, type SliceView, viewOf, wordOf } from "./journal-view.ts";

type ShowParts = Pick<SliceParts, "key" | "state" | "signal" | "client" | "journal" | "clock" | "shortage" | "onHeard">;

/** 5,000 nodes with ten busy slices each would write 50,000 times a second; pods come some per second and node. */
export const writeEveryMs = 1000;
/** A call that waits so long in a busy server's queues is worth its answer: asked again it would wait as long again. */
const callMs = 30_000;

/** When to show again; undefined: the object says it all. */
export async function show(parts: ShowParts): Promise<number | undefined> {
  const { key, state, journal, clock, signal } = parts;
  const grant = journal.grant(key);
  const { present } = state;
  if (grant === undefined || present === undefined) return undefined;
  // After a failed sync the journal goes on as if it was done; other nodes may act on this only when it is.
  if (grant.sealed || grant.gives !== undefined) await journal.settled(signal);
  const view = viewOf(journal, grant, clock.wallMs());
  const body = showing(present, view.holds, wordIn(parts, view, grant));
  if (body === undefined) {
    state.dirtySinceMs = undefined;
    state.isUrgent = false;
    return parts.shortage.forgetsInMs(sliceUseKey(grant));
  }
  const nowMs = clock.monotonicMs();
  const sinceMs = (state.dirtySinceMs ??= nowMs);
  const waitMs = state.lastWriteMs + writeEveryMs - nowMs;
  if (waitMs > 0 && !state.isUrgent) return waitMs;
  state.lastWriteMs = nowMs;
  state.isUrgent = false;
  state.dirtySinceMs = undefined;
  try {
    return await write(parts, present, body);
  } catch (error) {
    state.dirtySinceMs = sinceMs;
    throw error;
  }
}

async function write(parts: ShowParts, present: IPPool, body: object): Promise<number> {
  const { key, state, signal, client, onHeard } = parts;
  // Until the answer is there the object's state is not known.
  state.present = undefined;
  const patch = client.patch(ipPools, parseKey(key), { type: "merge", body }, { signal, timeoutMs: callMs });
  const written = await unless(["not-found"], patch);
  if (written === undefined) return 0;
  onHeard();
  state.present = parseObject(ipPoolKind, written);
  // The answer to a write shows the controller's writes meanwhile.
  const grantOf = ({ metadata }: IPPool) => metadata.annotations?.[grantAnnotation];
  if (grantOf(present) === grantOf(state.present)) return writeEveryMs;
  state.token = undefined;
  return 0;
}

/** Requests found nothing: definitions exclude the rest. Their count is on the first active slice, else the first. */
function wordIn({ journal, key, shortage }: ShowParts, { holds, free }: SliceView, grant: JournalGrant): NodeWord {
  const count = shortage.count(sliceUseKey(grant));
  // In powers of two: a thousand requests that find nothing are ten writes.
  const short = count === 0 || carrierOf(journal, grant.domain) !== key ? 0 : 2 ** Math.floor(Math.log2(count));
  const left = count === 0 ? free : new IntervalSet();
  return wordOf({ journal: journal.id, grant, used: holds.length, free: left, short });
}

function carrierOf(journal: Pick<Journal, "grants">, domain: string): string | undefined {
  const own = journal.grants().filter((each) => each.domain === domain && !each.sealed);
  const active = own.filter(({ phase }) => phase === "active");
  return (active.length > 0 ? active : own).map(({ key }) => key).sort()[0];
}
