// Work that many wait for: done once, tried again after a failure, ended when nobody waits any more.
import { expect, it } from "vitest";

import { SingleFlight } from "./single-flight.ts";

const never = new AbortController().signal;

it("is done once, and its result kept; a failure is not", async () => {
  const shared = new SingleFlight<number>();
  let calls = 0;
  const work = async () => {
    calls += 1;
    if (calls === 1) throw new Error("first");
    return calls;
  };
  const both = await Promise.allSettled([shared.get("k", never, work), shared.get("k", never, work)]);
  expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect([await shared.get("k", never, work), await shared.get("k", never, work), calls]).toEqual([2, 2, 2]);
});

it("goes on while one of those who wait is left, and ends with the last", async () => {
  const shared = new SingleFlight<string>({ keep: false });
  const seen: AbortSignal[] = [];
  const gate = Promise.withResolvers<string>();
  const work = (signal: AbortSignal) => {
    seen.push(signal);
    return gate.promise;
  };
  const [a, b] = [new AbortController(), new AbortController()];
  const first = shared.get("k", a.signal, work);
  const second = shared.get("k", b.signal, work);
  a.abort(new Error("a left"));
  await expect(first).rejects.toThrow("a left");
  expect(seen.map(({ aborted }) => aborted)).toEqual([false]);
  b.abort(new Error("b left"));
  await expect(second).rejects.toThrow("b left");
  expect(seen.map(({ aborted }) => aborted)).toEqual([true]);
});
