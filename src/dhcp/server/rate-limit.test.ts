// Buckets of tokens against a list of all answers.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { RateLimit } from "./rate-limit.ts";

describe("RateLimit", () => {
  it("lets a burst through, then so many a second", () => {
    const limit = new RateLimit({ burst: 3, perSecond: 2, clientsMax: 10 });
    const taken = (nowMs: number) => limit.take(7, nowMs);
    expect([taken(0), taken(0), taken(0), taken(0)]).toEqual([true, true, true, false]);
    expect([taken(499), taken(500), taken(500)]).toEqual([false, true, false]);
    expect([taken(60_000), taken(60_000), taken(60_000), taken(60_000)]).toEqual([true, true, true, false]);
  });

  it("adds nothing for time that goes backwards", () => {
    const limit = new RateLimit({ burst: 1, perSecond: 1, clientsMax: 10 });
    expect([limit.take(7, 5000), limit.take(7, 0), limit.take(7, 999), limit.take(7, 1000)]).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });

  it("lets nobody have more than a list of all answers allows, and forgets in order not to grow", () => {
    const step = fc.record({ client: fc.nat(20), passedMs: fc.nat(400) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), fc.integer({ min: 50, max: 60 }), (steps, clientsMax) => {
        const limit = new RateLimit({ burst: 4, perSecond: 5, clientsMax });
        const answered = new Map<number, number[]>();
        let nowMs = 0;
        for (const { client, passedMs } of steps) {
          nowMs += passedMs;
          const before = answered.get(client) ?? [];
          // From any answer on, at most the burst and what the time since has brought.
          const mayAnswer = before.every(
            (atMs, index) => before.length - index + 1 <= 4 + ((nowMs - atMs) * 5) / 1000 + 1e-9,
          );
          expect(limit.take(client, nowMs)).toBe(mayAnswer);
          if (mayAnswer) answered.set(client, [...before, nowMs]);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("keeps as many clients as it may, however many there are", () => {
    const limit = new RateLimit({ burst: 1, perSecond: 1, clientsMax: 100 });
    for (let client = 0; client < 10_000; client++) {
      expect(limit.take(client, 0)).toBe(true);
      expect(limit.clients).toBeLessThanOrEqual(100);
    }
    expect(limit.take(9999, 0)).toBe(false);
  });
});
