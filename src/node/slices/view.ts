// What the journal has of one slice: its holds, what is free, and what cools down.
import type { Hold } from "../../ipam/ledger.ts";
import type { JournalGrant } from "../../ledger/journal/grant.ts";
import type { Journal } from "../../ledger/journal/journal.ts";
import type { IntervalSet } from "../../net/interval-set.ts";
import { contains } from "../../net/prefix.ts";
import { freeOf } from "./free.ts";
import { grantAround } from "./word.ts";

export interface SliceView {
  readonly grant: JournalGrant;
  readonly holds: readonly Hold[];
  readonly free: IntervalSet;
  /** When the last address of it has cooled down; undefined: none cools. */
  readonly coolsUntilMs?: number;
}

export function viewOf(journal: Journal, grant: JournalGrant, nowMs: number): SliceView {
  const { domain, slice } = grant;
  const siblings = journal.grants().filter((each) => each.domain === domain);
  const holds = Array.from(journal.holdsOf(domain)).filter((hold) => grantAround(siblings, hold)?.key === grant.key);
  const cooling = Array.from(journal.coolingOf(domain)).filter(
    ({ address, untilMs }) => untilMs > nowMs && contains(slice, address),
  );
  const busy = [...holds, ...cooling].map(({ address }) => address);
  const free = freeOf(grant, busy);
  return {
    grant,
    holds,
    free,
    ...(cooling.length > 0 && { coolsUntilMs: Math.max(...cooling.map(({ untilMs }) => untilMs)) }),
  };
}
