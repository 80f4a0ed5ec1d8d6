import { getEventListeners } from "node:events";

import { describe, expect, test, vi } from "vitest";

import { orAborted } from "./abort.ts";
import { type Clock, deadline, realClock, sleep } from "./clock.ts";
import { Backoff } from "./queue/backoff.ts";
import { ManualClock } from "./testing/manual-clock.ts";

describe.each<[string, Clock]>([
  ["the real clock", realClock],
  ["the manual clock", new ManualClock()],
])("%s", (_name, clock) => {
  /** Lets time pass, whoever owns it. */
  const pass = (ms: number) =>
    clock instanceof ManualClock ? clock.advance(ms) : new Promise<void>((resolve) => setTimeout(resolve, ms + 20));

  test("calls back once, after the delay, and not when cancelled", async () => {
    const told: string[] = [];
    clock.after(10, () => told.push("kept"));
    const cancel = clock.after(10, () => told.push("cancelled"));
    cancel();
    cancel();
    expect(told).toEqual([]);
    await pass(10);
    expect(told).toEqual(["kept"]);
  });

  test("sleep tells whether it slept, and leaves no listener", async () => {
    const stop = new AbortController();
    const slept = sleep(clock, 5, stop.signal);
    await pass(5);
    expect(await slept).toBe(true);
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
    const woken = sleep(clock, 3_600_000, stop.signal);
    stop.abort();
    expect(await woken).toBe(false);
    expect(await sleep(clock, 1, stop.signal)).toBe(false);
  });
});

test("the real clock takes delays beyond what a timer takes", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    const fortyDaysMs = 40 * 86_400_000;
    let fired = false;
    realClock.after(fortyDaysMs, () => (fired = true));
    vi.advanceTimersByTime(fortyDaysMs - 1000);
    expect(fired).toBe(false);
    vi.advanceTimersByTime(1000);
    expect(fired).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});

describe("deadline", () => {
  test("expires after its time; extending starts it anew; disposing ends it", async () => {
    const clock = new ManualClock();
    {
      using limit = deadline(clock, 100);
      await clock.advance(90);
      limit.extend();
      await clock.advance(90);
      expect(limit.signal.aborted).toBe(false);
      await clock.advance(10);
      expect([limit.signal.aborted, limit.expired]).toEqual([true, true]);
      limit.extend();
    }
    expect(clock.pending).toBe(0);
  });

  test("follows the caller's signal, and says that it was not the time", () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    using limit = deadline(clock, 100, stop.signal);
    stop.abort(new Error("enough"));
    expect([limit.signal.aborted, limit.expired]).toEqual([true, false]);
    expect((limit.signal.reason as Error).message).toBe("enough");
    expect(clock.pending).toBe(0);
    using late = deadline(clock, 100, stop.signal);
    expect(late.signal.aborted).toBe(true);
  });

  test("leaves no listener on the caller's signal", () => {
    const stop = new AbortController();
    for (let i = 0; i < 3; i++) {
      using limit = deadline(new ManualClock(), 100, stop.signal);
      expect(limit.expired).toBe(false);
    }
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  });
});

test("orAborted: whichever comes first, and no listener is left", async () => {
  const stop = new AbortController();
  expect(await orAborted(Promise.resolve(1), stop.signal)).toBe(1);
  await vi.waitFor(() => expect(getEventListeners(stop.signal, "abort")).toEqual([]));
  const pending = orAborted(new Promise(() => {}), stop.signal);
  stop.abort("a reason that is no Error");
  await expect(pending).rejects.toThrow("a reason that is no Error");
});

test("timers of the manual clock fire in the order of their times, then of their making", async () => {
  const clock = new ManualClock();
  const told: string[] = [];
  clock.after(20, () => told.push("late"));
  clock.after(10, () => {
    told.push("early");
    clock.after(5, () => told.push("made meanwhile"));
  });
  clock.after(10, () => told.push("early, second"));
  await clock.advance(20);
  expect(told).toEqual(["early", "early, second", "made meanwhile", "late"]);
});

test("backoff: doubles to its limit, with jitter on top, and begins again after a healthy while", async () => {
  const clock = new ManualClock();
  let random = 0;
  const backoff = new Backoff({ firstMs: 100, maxMs: 300, jitter: 1, resetAfterMs: 1000 }, clock, () => random);
  expect([backoff.next(), backoff.next(), backoff.next(), backoff.next()]).toEqual([100, 200, 300, 300]);
  random = 0.5;
  expect(backoff.next()).toBe(450);
  await clock.advance(1000);
  expect(backoff.next()).toBe(150);
});
