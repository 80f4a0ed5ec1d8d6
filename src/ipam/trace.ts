// Why an address was passed over: the lines that `holdfast explain` prints. Made only when asked for, and bounded.
import { type Address, compare, equal, next } from "../net/address.ts";
import { formatInterval, includes, type Interval } from "../net/interval.ts";
import { describeOwner } from "./owner.ts";
import type { AddressState, Pool } from "./pool.ts";

export interface TraceLine {
  /** The addresses the line is about; undefined in the last line of a trace that was cut. */
  readonly interval?: Interval;
  readonly state: AddressState["state"] | "more";
  /** For people: "held by pod default/web-0 (eth0)". */
  readonly text: string;
}

const traceLimit = 16;

/**
 * What the walk upwards from the lowest usable address meets before `granted`, run by run. It ends at the first free
 * address that was passed over by choice, with the reason: from there on the choice explains everything.
 */
export function tracePassedOver(
  pool: Pool,
  granted: Address | undefined,
  choice: string,
  limit = traceLimit,
): TraceLine[] {
  const lines: TraceLine[] = [];
  const { usable } = pool;
  let at: Address | undefined = usable.first;
  while (at !== undefined && includes(usable, at)) {
    if (granted !== undefined && equal(at, granted)) break;
    if (lines.length >= limit) return [...lines, { state: "more", text: `and so on from ${at}` }];
    const line = lineFor(pool, at);
    if (line.state === "free") return [...lines, { ...line, text: `free, passed over: ${choice}` }];
    lines.push(line);
    at = next(line.interval!.last);
  }
  return lines;
}

/** The states of the listed addresses, one line each. */
export function traceListed(pool: Pool, addresses: readonly Address[], limit = traceLimit): TraceLine[] {
  const lines = addresses.slice(0, limit).map((address) => {
    const { state, text } = lineFor(pool, address);
    return { interval: { first: address, last: address }, state, text };
  });
  const rest = addresses.length - lines.length;
  return rest === 0 ? lines : [...lines, { state: "more", text: `and ${rest} more` }];
}

/** One address's state in words, with the run of neighbours that share it where that is known without a search. */
function lineFor(pool: Pool, address: Address): TraceLine {
  const state = pool.stateOf(address);
  const single = { first: address, last: address };
  switch (state.state) {
    case "free":
      return { interval: single, state: "free", text: "free" };
    case "excluded":
      return { interval: cut(pool, address, pool.excluded.around(address)), state: "excluded", text: "excluded" };
    case "reserved": {
      const run = pool.reservations.find(({ interval }) => includes(interval, address))?.interval;
      return { interval: cut(pool, address, run), state: "reserved", text: `reserved: ${state.reason}` };
    }
    case "allocated":
      return { interval: single, state: "allocated", text: `held by ${describeOwner(state.owner)}` };
    case "quarantined":
      return {
        interval: single,
        state: "quarantined",
        text: `cooling down until ${formatTime(state.untilMs)}`,
      };
    case "outside":
      return { interval: single, state: "outside", text: "none of the pool's usable addresses" };
  }
}

/** From the address to the end of the run, inside the pool. Held addresses in it are passed over with it. */
function cut(pool: Pool, from: Address, run: Interval | undefined): Interval {
  const end = run === undefined || compare(run.last, pool.usable.last) > 0 ? pool.usable.last : run.last;
  return { first: from, last: end };
}

/** The last millisecond that a Date can show. */
const timeMaxMs = 8.64e15;

/** A cooldown may be configured to last for ever. */
export function formatTime(ms: number): string {
  return ms <= timeMaxMs ? new Date(ms).toISOString() : "the end of time";
}

export function formatTrace(lines: readonly TraceLine[]): string[] {
  return lines.map(({ interval, text }) => (interval === undefined ? text : `${formatInterval(interval)}  ${text}`));
}
