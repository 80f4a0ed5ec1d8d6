// Many writes, few at a time.
import { expect, it } from "vitest";

import { AdaptiveLimiter } from "./adaptive-limiter.ts";

const items = Array.from({ length: 50 }, (_, index) => index);

it("does each once, never more at a time than the limit, also for two callers", async () => {
  const limiter = new AdaptiveLimiter({ limit: 4 });
  const done: number[] = [];
  let running = 0;
  let most = 0;
  const work = async (item: number) => {
    most = Math.max(most, (running += 1));
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    done.push(item);
  };
  const { signal } = new AbortController();
  await Promise.all([limiter.each(items.slice(0, 25), work, signal), limiter.each(items.slice(25), work, signal)]);
  expect(done.toSorted((a, b) => a - b)).toEqual(items);
  expect(most).toBe(4);
});

it("goes on after a failure, and throws the first", async () => {
  const done: number[] = [];
  const work = async (item: number) => {
    if (item % 10 === 3) throw new Error(`no ${item}`);
    done.push(item);
  };
  await expect(new AdaptiveLimiter({ limit: 1 }).each(items, work, new AbortController().signal)).rejects.toThrow(
    "no 3",
  );
  expect(done).toHaveLength(45);
});

it("begins nothing more once the signal aborts", async () => {
  const stop = new AbortController();
  const done: number[] = [];
  const work = async (item: number) => {
    done.push(item);
    if (item === 5) stop.abort(new Error("stopped"));
  };
  await expect(new AdaptiveLimiter({ limit: 1 }).each(items, work, stop.signal)).rejects.toThrow("stopped");
  expect(done).toEqual([0, 1, 2, 3, 4, 5]);
});

it("asks a server that answers slowly for less at a time, and for more when it is quick again", async () => {
  let nowMs = 0;
  let tookMs = 1000;
  let running = 0;
  let most = 0;
  const limiter = new AdaptiveLimiter({ limit: 16, nowMs: () => nowMs });
  const work = async () => {
    most = Math.max(most, (running += 1));
    await new Promise((resolve) => setImmediate(resolve));
    nowMs += tookMs;
    running -= 1;
  };
  const { signal } = new AbortController();
  await limiter.each(items, work, signal);
  expect(limiter.limit).toBe(2);
  most = 0;
  await limiter.each(items.slice(0, 10), work, signal);
  expect(most).toBe(2);
  tookMs = 1;
  await limiter.each(
    Array.from({ length: 300 }, () => 0),
    work,
    signal,
  );
  expect(limiter.limit).toBe(16);
});
