// The behaviours, and their names, are those of client-go's workqueue tests.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { ManualClock, settle } from "../testing/manual-clock.ts";
import { controllerRateLimiter, perItemExponential, TokenBucket } from "./ratelimit.ts";
import { QueueFullError, Workqueue } from "./workqueue.ts";

function queue(options: { maxKeys?: number } = {}) {
  const clock = new ManualClock();
  return { clock, queue: new Workqueue({ clock, rateLimiter: perItemExponential(10, 1000), ...options }) };
}

describe("queue", () => {
  test("basic: many producers, several workers, each key at a time with one of them", async () => {
    const { queue: q } = queue();
    const running = new Set<string>();
    const processed = new Map<string, number>();
    const worker = async () => {
      for (let key = await q.take(); key !== undefined; key = await q.take()) {
        expect(running.has(key)).toBe(false);
        running.add(key);
        processed.set(key, (processed.get(key) ?? 0) + 1);
        await settle(1);
        running.delete(key);
        q.done(key);
      }
    };
    const workers = [worker(), worker(), worker()];
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 10; i++) q.add(`k${i}`);
      if (round % 5 === 0) await settle(1);
    }
    await q.drain();
    await Promise.all(workers);
    expect(processed.size).toBe(10);
    for (const count of processed.values()) expect(count).toBeLessThan(20);
  });

  test("add while processing: the key is handed out again, after done", async () => {
    const { queue: q } = queue();
    q.add("foo");
    expect(await q.take()).toBe("foo");
    q.add("foo");
    expect(q.length).toBe(0);
    q.done("foo");
    expect(await q.take()).toBe("foo");
    q.done("foo");
    expect(q.length).toBe(0);
  });

  test("len: a key with a worker is not counted", async () => {
    const { queue: q } = queue();
    q.add("foo");
    q.add("bar");
    q.add("foo");
    expect(q.length).toBe(2);
    await q.take();
    expect(q.length).toBe(1);
  });

  test("collapse: a key added many times is handed out once", async () => {
    const { queue: q } = queue();
    for (let i = 0; i < 5; i++) q.add("bar");
    expect(await q.take()).toBe("bar");
    q.done("bar");
    expect(q.length).toBe(0);
  });

  test("collapse while processing: many adds are one more round", async () => {
    const { queue: q } = queue();
    q.add("foo");
    await q.take();
    for (let i = 0; i < 5; i++) q.add("foo");
    q.done("foo");
    expect(await q.take()).toBe("foo");
    q.done("foo");
    expect(q.length).toBe(0);
  });

  test("reinsert: added after done, it comes again", async () => {
    const { queue: q } = queue();
    for (let round = 0; round < 2; round++) {
      q.add("foo");
      expect(await q.take()).toBe("foo");
      q.done("foo");
    }
  });

  test("fair: a key that is added over and over does not starve the others", async () => {
    const { queue: q } = queue();
    q.add("loud");
    q.add("quiet");
    const order: (string | undefined)[] = [];
    for (let i = 0; i < 4; i++) {
      const key = await q.take();
      order.push(key);
      q.add("loud");
      q.done(key!);
      q.add("quiet");
    }
    expect(order).toEqual(["loud", "quiet", "loud", "quiet"]);
  });

  test("behind: what changed goes first, and takes its key along", async () => {
    const { queue: q } = queue();
    for (const key of ["settled1", "settled2", "moved"]) q.addBehind(key);
    q.add("changed");
    q.add("moved");
    expect(q.length).toBe(4);
    const order: (string | undefined)[] = [];
    for (let i = 0; i < 4; i++) {
      order.push(await q.take());
      q.addBehind("settled2");
    }
    expect(order).toEqual(["changed", "moved", "settled1", "settled2"]);
    expect(q.length).toBe(0);
  });

  test("behind: it comes in the end, however much changes", async () => {
    const { queue: q } = queue();
    q.add("k0");
    q.addBehind("settled");
    let taken = 0;
    for (let key: string | undefined = ""; key !== "settled"; taken++) {
      key = await q.take();
      q.done(key!);
      q.add(`k${taken + 1}`);
    }
    expect(taken).toBeLessThan(20);
  });

  test("behind: a key that is with a worker is handed out again, and what is left is drained", async () => {
    const { queue: q } = queue();
    q.addBehind("a");
    expect(await q.take()).toBe("a");
    q.addBehind("a");
    q.addBehind("b");
    q.done("a");
    const drained = q.drain();
    expect(await q.take()).toBe("a");
    q.done("a");
    expect(await q.take()).toBe("b");
    q.done("b");
    await drained;
    expect(await q.take()).toBeUndefined();
  });

  test("a taker waits for the next add", async () => {
    const { queue: q } = queue();
    const taken = q.take();
    q.add("late");
    expect(await taken).toBe("late");
  });

  test("too many keys are refused with words", () => {
    const { queue: q } = queue({ maxKeys: 2 });
    q.add("a");
    q.add("b");
    q.add("a");
    expect(() => q.add("c")).toThrow(QueueFullError);
  });
});

describe("shutdown", () => {
  test("close: takers hear the end, later adds are dropped", async () => {
    const { queue: q, clock } = queue();
    const taken = q.take();
    q.addAfter("delayed", 1000);
    q.close();
    expect(await taken).toBeUndefined();
    q.add("late");
    q.addAfter("late", 5);
    expect(await q.take()).toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  test("drain: waits for what is queued and what is processed", async () => {
    const { queue: q } = queue();
    q.add("a");
    q.add("b");
    const first = await q.take();
    let drained = false;
    const drain = q.drain().then(() => (drained = true));
    await settle();
    expect(drained).toBe(false);
    const second = await q.take();
    q.done(first!);
    await settle();
    expect(drained).toBe(false);
    q.done(second!);
    await drain;
    expect(await q.take()).toBeUndefined();
  });

  test("drain: a key added while processed, before the end, is still handed out", async () => {
    const { queue: q } = queue();
    q.add("a");
    await q.take();
    q.add("a");
    const drain = q.drain();
    const again = q.take();
    q.done("a");
    expect(await again).toBe("a");
    q.done("a");
    await drain;
  });

  test("drain: nothing to do, nothing to wait for", async () => {
    await queue().queue.drain();
  });

  test("abandon: what no worker has is forgotten", async () => {
    const { queue: q } = queue();
    q.add("a");
    q.add("b");
    await q.take();
    q.add("a");
    q.abandon();
    q.done("a");
    expect(await q.take()).toBeUndefined();
  });

  test("abandon: ends a drain whose worker is between two keys", async () => {
    const { queue: q } = queue();
    q.add("a");
    q.add("b");
    q.done((await q.take())!);
    const drain = q.drain();
    q.abandon();
    await drain;
    expect(await q.take()).toBeUndefined();
  });
});

describe("delayed adds", () => {
  test("simple: not before its time", async () => {
    const { queue: q, clock } = queue();
    q.addAfter("foo", 50);
    await clock.advance(49);
    expect(q.length).toBe(0);
    await clock.advance(1);
    expect(q.length).toBe(1);
  });

  test("deduping: the earliest of several delays counts", async () => {
    const { queue: q, clock } = queue();
    q.addAfter("foo", 50);
    q.addAfter("foo", 20);
    q.addAfter("foo", 70);
    await clock.advance(20);
    expect(await q.take()).toBe("foo");
    q.done("foo");
    await clock.advance(100);
    expect(q.length).toBe(0);
    expect(clock.pending).toBe(0);
  });

  test("a delay that is not a number is refused: it would hold up all the others", () => {
    const { queue: q } = queue();
    expect(() => q.addAfter("a", Number.NaN)).toThrow(RangeError);
  });

  test("delayed keys count as keys; what was let in once, due or to be retried, is never refused", async () => {
    const { queue: q, clock } = queue({ maxKeys: 2 });
    q.addAfter("later", 1000);
    q.add("now");
    expect(() => q.add("too many")).toThrow(QueueFullError);
    expect(() => q.addAfter("too many", 1000)).toThrow(QueueFullError);
    q.addAfter("later", 500);
    expect(await q.take()).toBe("now");
    q.add("another");
    q.addRateLimited("now");
    q.done("now");
    await clock.advance(500);
    expect([await q.take(), await q.take(), await q.take()]).toEqual(["another", "now", "later"]);
  });

  test("copy shifting: many delays come out in the order of their times", async () => {
    const delays = fc.uniqueArray(fc.integer({ min: 1, max: 10_000 }), { minLength: 1, maxLength: 50 });
    await fc.assert(
      fc.asyncProperty(delays, async (times) => {
        const { queue: q, clock } = queue();
        for (const time of times) q.addAfter(String(time), time);
        await clock.advance(10_000);
        const order: number[] = [];
        while (q.length > 0) order.push(Number(await q.take()));
        expect(order).toEqual([...times].sort((a, b) => a - b));
        expect(clock.pending).toBe(0);
      }),
      { numRuns: 50 },
    );
  });
});

describe("rate limits", () => {
  test("item exponential: doubles up to its limit, per key, and forgets", () => {
    const limiter = perItemExponential(1, 8);
    expect([1, 2, 3, 4, 5].map(() => limiter.when("one"))).toEqual([1, 2, 4, 8, 8]);
    expect(limiter.when("two")).toBe(1);
    expect(limiter.failures("one")).toBe(5);
    limiter.forget("one");
    expect(limiter.failures("one")).toBe(0);
    expect(limiter.when("one")).toBe(1);
  });

  test("item exponential: does not overflow after many failures", () => {
    const limiter = perItemExponential(5, 1_000_000);
    for (let i = 0; i < 2000; i++) limiter.when("x");
    expect(limiter.when("x")).toBe(1_000_000);
  });

  test("token bucket: a burst, then the rate, then the burst again after rest", async () => {
    const clock = new ManualClock();
    const bucket = new TokenBucket(10, 2, clock);
    expect([1, 2, 3, 4].map(() => bucket.reserve())).toEqual([0, 0, 100, 200]);
    await clock.advance(10_000);
    expect([1, 2, 3].map(() => bucket.reserve())).toEqual([0, 0, 100]);
  });

  test("the controllers' default: the longer wait of the key's own and of all keys'", () => {
    const limiter = controllerRateLimiter(new ManualClock());
    for (let i = 0; i < 100; i++) limiter.when(`k${i}`);
    expect([1, 2, 3, 4, 5, 6, 7, 8].map(() => limiter.when("one"))).toEqual([100, 200, 300, 400, 500, 600, 700, 800]);
    expect([9, 10].map(() => limiter.when("one"))).toEqual([1280, 2560]);
    expect(limiter.failures("one")).toBe(10);
  });

  test("the controllers' default lets the first hundred failures pass at their own pace", () => {
    const limiter = controllerRateLimiter(new ManualClock());
    for (let i = 0; i < 100; i++) expect(limiter.when(`k${i}`)).toBe(5);
    expect(limiter.when("k100")).toBe(100);
  });

  test("add rate limited: waits longer each time until forgotten", async () => {
    const { queue: q, clock } = queue();
    for (const delayMs of [10, 20, 40]) {
      q.addRateLimited("foo");
      await clock.advance(delayMs - 1);
      expect(q.length).toBe(0);
      await clock.advance(1);
      expect(await q.take()).toBe("foo");
      q.done("foo");
    }
    expect(q.failures("foo")).toBe(3);
    q.forget("foo");
    q.addRateLimited("foo");
    await clock.advance(10);
    expect(q.length).toBe(1);
  });
});
