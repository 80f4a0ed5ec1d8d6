// Decides what becomes of an event before it is sent, as client-go's correlator does: repeated ones are counted in one object, many
// similar ones are combined, and one object may not flood.
import { Recent } from "../cache/recent.ts";
import type { Clock } from "../clock.ts";
import { TokenBucket } from "../queue/ratelimit.ts";

interface EventKey {
  /** The uid of the object, or its kind and name. */
  readonly about: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

interface CorrelatedEvent {
  readonly id: string;
  readonly message: string;
  readonly count: number;
  readonly firstMs: number;
}

/** client-go's: 4,096 memories of some hundred bytes; more than 10 different messages in 10 minutes are combined. */
const memories = 4096;
const similarLimit = 10;
const similarWindowMs = 600_000;
/** And 25 at once per object and source, then one in five minutes. */
const burst = 25;
const perSecond = 1 / 300;

interface Similar {
  readonly sinceMs: number;
  readonly messages: Set<string>;
}

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #similar = new Recent<Similar>(memories);
  readonly #counts = new Recent<{ count: number; readonly firstMs: number }>(memories);
  readonly #floods = new Recent<TokenBucket>(memories);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined: the event is dropped. */
  judge({ about, type, reason, message }: EventKey): CorrelatedEvent | undefined {
    const flood = this.#floods.get(about) ?? new TokenBucket(perSecond, burst, this.#clock);
    this.#floods.set(about, flood);
    if (!flood.take()) return undefined;
    const group = `${about}\n${type}\n${reason}`;
    const combined = this.#isMany(group, message);
    const id = combined ? group : `${group}\n${message}`;
    const known = this.#counts.get(id) ?? { count: 0, firstMs: this.#clock.wallMs() };
    known.count++;
    this.#counts.set(id, known);
    const words = combined ? `(combined from similar events): ${message}` : message;
    return { id, message: words, count: known.count, firstMs: known.firstMs };
  }

  #isMany(group: string, message: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    let similar = this.#similar.get(group);
    if (similar === undefined || nowMs - similar.sinceMs > similarWindowMs) {
      similar = { sinceMs: nowMs, messages: new Set() };
      this.#similar.set(group, similar);
    }
    if (similar.messages.size <= similarLimit) similar.messages.add(message);
    return similar.messages.size > similarLimit;
  }
}
