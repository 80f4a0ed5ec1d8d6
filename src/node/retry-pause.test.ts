// When a server that failed is asked again.
import { expect, it } from "vitest";

import { ApiError } from "../kube/errors.ts";
import { ManualClock } from "../kube/testing/manual-clock.ts";
import { RetryPause } from "./retry-pause.ts";

const never = new AbortController().signal;

/** When it was asked, in seconds, by somebody who asks again at once; every answer is the same failure. */
async function asked(failure: Error, forMs: number, random: number): Promise<number[]> {
  const clock = new ManualClock();
  const pace = new RetryPause(clock, () => random);
  const startMs = clock.monotonicMs();
  const times: number[] = [];
  const stop = new AbortController();
  const asking = (async () => {
    while (!stop.signal.aborted) {
      const work = () => {
        times.push((clock.monotonicMs() - startMs) / 1000);
        return Promise.reject(failure);
      };
      await pace.run(stop.signal, work).catch(() => {});
    }
  })();
  for (let leftMs = forMs; leftMs > 0; leftMs -= 500) await clock.advance(500);
  stop.abort();
  await asking;
  return times;
}

it("pauses grow, up to a minute at most", async () => {
  expect(await asked(new Error("away"), 100_000, 0)).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
  expect(await asked(new Error("away"), 100_000, 1)).toEqual([0, 2, 6, 14, 30, 62]);
});

it("what the server asks for is the least, and no two daemons come back at once", async () => {
  const busy = new ApiError("too-many-requests", "later", { retryAfterMs: 10_000 });
  expect(await asked(busy, 35_000, 0)).toEqual([0, 10, 20, 30]);
  expect(await asked(busy, 35_000, 0.5)).toEqual([0, 15, 30]);
});

it("a success ends it, and who is called off waits no longer", async () => {
  const clock = new ManualClock();
  const pace = new RetryPause(clock, () => 0);
  await expect(pace.run(never, () => Promise.reject(new Error("away")))).rejects.toThrow("away");
  expect(pace.leftMs).toBeGreaterThan(0);
  const stop = new AbortController();
  const waiting = pace.run(stop.signal, () => Promise.resolve(1));
  stop.abort(new Error("called off"));
  await expect(waiting).rejects.toThrow("called off");
  await clock.advance(1000);
  expect(await pace.run(never, () => Promise.resolve(2))).toBe(2);
  expect(pace.leftMs).toBeLessThanOrEqual(0);
});
