// All that a journal knows at one moment, as the lines of a new file. Holds and grants never change, so that only the lists are copied.
import type { RestClock } from "./cooldown-clock.ts";
import { encodeRecord, type JournalRecord } from "./record.ts";
import type { Snapshot } from "./rewrite.ts";
import type { State } from "./state.ts";

export function snapshotOf(state: State, clock: RestClock, id: string, doubt: number): Snapshot {
  const nowMs = clock.now();
  const wallMs = clock.toWall(nowMs);
  const { books, versions, renewedMs } = state;
  const dropped = [...state.dropped];
  const domains = books.domains();
  const grants = state.grantsNow();
  const holds = domains.flatMap((domain) => [...books.of(domain)]);
  const rests = domains.flatMap((domain) => [...books.rests(domain, nowMs)].map((rest) => ({ ...rest, domain })));
  const lines = dropped.length + grants.size + holds.length + rests.length + (renewedMs === undefined ? 0 : 1);
  function* records(next: number): Generator<JournalRecord> {
    yield { op: "head", id, lines, next, versions, doubt };
    if (renewedMs !== undefined) yield { op: "renewed", wallMs: renewedMs };
    for (const [domain, generation] of dropped) yield { op: "dropped", domain, generation };
    for (const grant of grants.values()) yield { op: "grant", grant };
    for (const hold of holds) yield { op: "hold", hold };
    for (const { domain, address, untilMs, lastOwner } of rests) {
      // What is left of its rest, from now: so it is not longer than that, however the clock jumps.
      yield { op: "free", domain, address, atMs: wallMs, cooldownMs: untilMs - nowMs, lastOwner };
    }
  }
  return { lines: (next) => records(next).map(encodeRecord), count: lines + 1, settle: () => state.settle(grants) };
}
