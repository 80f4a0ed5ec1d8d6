// All that a journal knows at one moment, as the lines of a new file. Holds and grants never change, so that only the lists are copied.
import type { Cooling } from "../../ipam/cooling.ts";
import type { Domain, Hold } from "../../ipam/ledger.ts";
import type { JournalGrant } from "./grant.ts";
import { encodeRecord } from "./record.ts";
import type { RestClock } from "./rest-clock.ts";
import type { Snapshot } from "./rewrite.ts";
import type { State } from "./state.ts";

interface Rest extends Cooling {
  readonly domain: Domain;
}

interface Copy {
  readonly renewedMs: number | undefined;
  readonly grants: readonly JournalGrant[];
  readonly holds: readonly Hold[];
  readonly rests: readonly Rest[];
  /** By the wall clock, and by the clock of rests. */
  readonly wallMs: number;
  readonly nowMs: number;
}

export function snapshotOf(state: State, clock: RestClock, id: string, doubt: number): Snapshot {
  const nowMs = clock.now();
  const domains = state.books.domains();
  const grants = state.grantsNow();
  const copy: Copy = {
    renewedMs: state.renewedMs,
    grants: [...grants.values()],
    holds: domains.flatMap((domain) => [...state.books.of(domain)]),
    rests: domains.flatMap((domain) => [...state.books.rests(domain, nowMs)].map((rest) => ({ ...rest, domain }))),
    wallMs: clock.toWall(nowMs),
    nowMs,
  };
  const count = copy.grants.length + copy.holds.length + copy.rests.length + (copy.renewedMs === undefined ? 0 : 1);
  const { versions } = state;
  return {
    head: (next) => encodeRecord({ op: "head", id, lines: count, next, versions, doubt }),
    lines: () => linesOf(copy),
    count,
    settle: () => state.settle(grants),
  };
}

function* linesOf({ renewedMs, grants, holds, rests, wallMs, nowMs }: Copy): IterableIterator<string> {
  if (renewedMs !== undefined) yield encodeRecord({ op: "renewed", wallMs: renewedMs });
  for (const grant of grants) yield encodeRecord({ op: "grant", grant });
  for (const hold of holds) yield encodeRecord({ op: "hold", hold });
  for (const { domain, address, untilMs, lastOwner } of rests) {
    // What is left of its rest, from now: so it is not longer than that, however the clock jumps.
    yield encodeRecord({ op: "free", domain, address, atMs: wallMs, cooldownMs: untilMs - nowMs, lastOwner });
  }
}
