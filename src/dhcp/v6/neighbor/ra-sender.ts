// When a pool's router advertisement is sent, and to whom (RFC 4861 sections 6.2.4 to 6.2.6). No timer, no socket: the
// caller asks for what is due, sends it, and asks again at `nextMs`. `nowMs` is of a clock that only goes forward.
//
// Promised: at most one multicast advertisement in three seconds, whatever is solicited; one to each solicitor at a
// time, and no more often than its bucket allows. Where all of that is full, the solicitor is served by the next
// multicast.
import type { IcmpPacket } from "../../../frame/icmp.ts";
import { multicast, multicastMac } from "../../../frame/multicast.ts";
import { macKeyOf } from "../../server/binding.ts";
import { RateLimit, type RateLimitOptions } from "../../server/rate-limit.ts";
import { isUnspecified } from "../bytes.ts";
import type { PoolV6 } from "../server/pool.ts";
import { intervalSecondsMax } from "./router-advertisement.ts";
import type { Solicitation } from "./solicitation.ts";

/** All of section 10 and 6.2.1, in milliseconds. */
const intervalMs = { least: 0.33 * 1000 * intervalSecondsMax, most: 1000 * intervalSecondsMax } as const;
const initial = { count: 3, intervalMsMax: 16_000 } as const;
const multicastGapMs = 3000;
const answerDelayMsMax = 500;
/** Each is answered within half a second: 256 are 512 boots a second. */
const waitingMax = 256;
/** A host sends three solicitations, four seconds apart (section 10), and again when its link comes back. */
const rateLimit: RateLimitOptions = { burst: 6, perSecond: 0.5, clientsMax: 4096 };

interface Waiting {
  readonly atMs: number;
  readonly address: Uint8Array;
  readonly mac: Uint8Array;
}

export class RaSender {
  /** 0 to 1. */
  readonly #random: () => number;
  readonly #rateLimit = new RateLimit(rateLimit);
  /** Key: macKeyOf. In the order of arrival, not of time. */
  readonly #waiting = new Map<number, Waiting>();
  /** When the next multicast is due; undefined until the first call. */
  #multicastMs: number | undefined;
  #lastMs = -Infinity;
  #sent = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** When there is something to ask for: now at first, never later than the next multicast. Infinity: nothing. */
  get nextMs(): number {
    let nextMs = this.#multicastMs ?? -Infinity;
    for (const { atMs } of this.#waiting.values()) nextMs = Math.min(nextMs, atMs);
    return nextMs;
  }

  /** What is due, one packet at a time; undefined where nothing is, or the pool advertises nothing. */
  advertisement({ advertisement }: PoolV6, nowMs: number): IcmpPacket | undefined {
    if (advertisement === undefined) {
      this.#waiting.clear();
      this.#multicastMs = Infinity;
      return undefined;
    }
    const { source, message } = advertisement;
    if (this.#multicastMs === undefined || this.#multicastMs <= nowMs) {
      this.#plan(nowMs);
      // It serves those who wait, too.
      this.#waiting.clear();
      return toAll(source, message);
    }
    for (const [key, { atMs, address, mac }] of this.#waiting) {
      if (atMs > nowMs) continue;
      this.#waiting.delete(key);
      return { source, destination: address, mac, message };
    }
    return undefined;
  }

  /** A host asks. From `::` the answer goes to all; else to it alone, after a random moment (section 6.2.6). */
  solicited({ source, mac }: Extract<Solicitation, { readonly kind: "router-solicitation" }>, nowMs: number): void {
    const atMs = nowMs + this.#random() * answerDelayMsMax;
    const key = macKeyOf(mac);
    if (this.#waiting.has(key) || !this.#rateLimit.take(key, nowMs)) return;
    if (!isUnspecified(source) && this.#waiting.size < waitingMax) {
      this.#waiting.set(key, { atMs, address: source.slice(), mac: mac.slice() });
      return;
    }
    this.#multicastMs = Math.min(this.#multicastMs ?? Infinity, Math.max(atMs, this.#lastMs + multicastGapMs));
  }

  /** What is advertised is new, or was taken back by somebody: to all, soon, and three times as at first. */
  again(nowMs: number, delayMs = 0): void {
    this.#sent = 0;
    if (this.#multicastMs === undefined) return; // the first is due
    this.#multicastMs = Math.min(this.#multicastMs, Math.max(nowMs + delayMs, this.#lastMs + multicastGapMs));
  }

  /** The first three come soon after each other, so that nobody who missed one waits for ten minutes. */
  #plan(nowMs: number): void {
    this.#sent += 1;
    this.#lastMs = nowMs;
    const waitMs = intervalMs.least + this.#random() * (intervalMs.most - intervalMs.least);
    this.#multicastMs = nowMs + (this.#sent < initial.count ? Math.min(waitMs, initial.intervalMsMax) : waitMs);
  }
}

/**
 * The last word, when the pool is served no more; not when another agent of it takes over, nor while another pool names
 * the router. Undefined: it advertises none.
 */
export function finalAdvertisement({ advertisement }: PoolV6): IcmpPacket | undefined {
  if (advertisement?.finalMessage === undefined) return undefined;
  return toAll(advertisement.source, advertisement.finalMessage);
}

function toAll(source: Uint8Array, message: Uint8Array): IcmpPacket {
  const { allNodes } = multicast;
  return { source, destination: allNodes, mac: multicastMac(allNodes), message };
}
