// Gives a whole random run to one seed: who moves next, which answer and watch event arrives, how time goes by, what is
// drawn. The programs are the real ones, on an embedded API in this process; only what lies between them is ours.
//
// How: every request, every answer and every part of a watch waits for its turn. When nothing moves (no promise, file
// or socket), the seed picks one that waits, in an order that does not depend on arrival; if none waits, time goes on
// to the next timer. Promised: the same seed gives the same trace. Not promised: across versions of Node or code.
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";

import { vi } from "vitest";

import type { ApiResponse, Transport } from "../../src/kube/transport/transport.ts";
import { Chance } from "./random-source.ts";

/** One after the other with nothing to do: a call to a daemon takes three turns from end to end of its socket. */
const calmTurns = 8;
/** Under way in the kernel or Node's threads, as Node names it; not waits for a connection or part of a stream. */
const underWay = /^(FSReq|CloseReq|Immediate|PipeConnect|WriteWrap|ShutdownWrap)/;
const beginning = Date.parse("2026-11-15T12:00:00Z");
const real = { setImmediate, createHash: crypto.createHash };

interface Waiting {
  readonly who: string;
  readonly what: string;
  readonly go: () => void;
}

export class Schedule {
  /** A line for everything that had its turn: the time, whose it is, and what. */
  readonly trace: string[] = [];
  readonly #chance: Chance;
  readonly #waiting = new Set<Waiting>();
  readonly #stop: (() => void)[] = [];

  constructor(seed: number) {
    this.#chance = new Chance(seed);
  }

  /** The story, with nobody moving but by the schedule. */
  async play<T>(story: () => Promise<T>): Promise<T> {
    this.#takeOver();
    try {
      let isOver = false;
      const told = story().finally(() => void (isOver = true));
      told.catch(() => {}); // told by the return
      for (;;) {
        await quiet();
        // oxlint-disable-next-line typescript/no-unnecessary-condition -- changes while it is waited
        if (isOver) return await told;
        this.#next();
      }
    } finally {
      for (const stop of this.#stop.splice(0).toReversed()) stop();
    }
  }

  /** A line to the server. */
  line(who: string, transport: Transport): Transport {
    let streams = 0;
    return async (request) => {
      const { method, path, signal } = request;
      const sent = `${method} ${path}`;
      await this.#turn(who, `${sent} ${digest(request.body)}`, signal);
      const response = await transport(request);
      if (method === "GET" && /[?&]watch=true/.test(path)) {
        return { ...response, body: this.#stream(who, `stream ${(streams += 1)} of ${path}`, response, signal) };
      }
      await this.#turn(who, `${response.status} for ${sent}`, signal);
      return response;
    };
  }

  async *#stream(
    who: string,
    what: string,
    { body }: ApiResponse,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array> {
    for await (const part of body) {
      await this.#turn(who, `${what}: ${digest(part)}`, signal);
      yield part;
    }
  }

  #turn(who: string, what: string, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      this.#waiting.delete(waiting);
      signal?.removeEventListener("abort", onAbort);
    };
    const onAbort = () => {
      leave();
      reject(signal?.reason as Error);
    };
    const go = () => {
      leave();
      resolve();
    };
    const waiting = { who, what, go };
    this.#waiting.add(waiting);
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
    return promise;
  }

  #next(): void {
    if (this.#waiting.size === 0) {
      if (vi.getTimerCount() === 0) throw new Error(`nobody moves any more, after ${this.trace.slice(-20).join("\n")}`);
      const before = Date.now();
      vi.advanceTimersToNextTimer();
      // Who waits for the rest of a millisecond is called at once, and asks again: without this, for ever.
      if (Date.now() === before) vi.advanceTimersByTime(1);
      return;
    }
    const order = [...this.#waiting].toSorted((a, b) => compare(a.who, b.who) || compare(a.what, b.what));
    const { who, what, go } = this.#chance.pick(order);
    this.trace.push(`${Date.now() - beginning} ${who} ${what}`);
    go();
    if (this.#chance.percent(30)) vi.advanceTimersByTime(1);
  }

  /** Time, chance and random bytes are the schedule's until it has ended. */
  #takeOver(): void {
    vi.useFakeTimers({
      now: beginning,
      toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"],
    });
    this.#stop.push(() => vi.useRealTimers());
    const bytes = this.#chance.branch();
    const draw = (size: number) => Buffer.from(Array.from({ length: size }, () => bytes.below(256)));
    this.#replace(Math, "random", this.#chance.branch().next);
    this.#replace(AbortSignal, "timeout", timeoutSignal);
    this.#replace(crypto, "randomBytes", draw);
    this.#replace(crypto, "randomUUID", (() => uuid(draw(16).toString("hex"))) as typeof crypto.randomUUID);
    this.#replace(timers, "setTimeout", pause as typeof timers.setTimeout);
    syncBuiltinESMExports();
    this.#stop.unshift(syncBuiltinESMExports);
  }

  #replace<T extends object, K extends keyof T>(owner: T, key: K, value: T[K]): void {
    const before = owner[key];
    owner[key] = value;
    this.#stop.push(() => void (owner[key] = before));
  }
}

async function quiet(): Promise<void> {
  for (let calm = 0; calm < calmTurns; calm++) {
    await new Promise<void>((resolve) => real.setImmediate(resolve));
    if (process.getActiveResourcesInfo().some((each) => underWay.test(each))) calm = 0;
  }
}

function pause<T>(delayMs: number, value: T, { signal }: { signal?: AbortSignal } = {}): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => resolve(value), delayMs);
  const onAbort = () => {
    clearTimeout(timer);
    reject(new DOMException("The operation was aborted", "AbortError"));
  };
  if (signal?.aborted === true) onAbort();
  else signal?.addEventListener("abort", onAbort, { once: true });
  return promise;
}

function timeoutSignal(delayMs: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new DOMException("The operation timed out", "TimeoutError")), delayMs);
  return controller.signal;
}

function digest(bytes: Uint8Array | string | undefined): string {
  return bytes === undefined ? "" : real.createHash("sha256").update(bytes).digest("hex").slice(0, 12);
}

function uuid(hex: string): string {
  return [8, 12, 16, 20, 32].map((end, index, ends) => hex.slice(ends[index - 1] ?? 0, end)).join("-");
}

const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));
