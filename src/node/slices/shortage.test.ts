import { expect, it } from "vitest";

import { ManualClock, settle } from "../../kube/testing/manual-clock.ts";
import { Shortage } from "./shortage.ts";

it("counts until there is more", () => {
  const shortage = new Shortage(new ManualClock());
  shortage.sized("net", 8n);
  expect([shortage.add("net"), shortage.add("net"), shortage.count("net")]).toEqual([true, false, 2]);
  shortage.sized("net", 4n);
  expect(shortage.count("net")).toBe(2);
  shortage.sized("net", 5n);
  expect(shortage.count("net")).toBe(0);
});

it("forgets after a minute without a new one", async () => {
  const clock = new ManualClock();
  const shortage = new Shortage(clock);
  shortage.add("net");
  await clock.advance(40_000);
  shortage.add("net");
  expect(shortage.forgetsInMs("net")).toBe(60_000);
  await clock.advance(59_999);
  expect(shortage.count("net")).toBe(2);
  await clock.advance(1);
  expect([shortage.count("net"), shortage.forgetsInMs("net")]).toEqual([0, undefined]);
});

it("wakes who waits for this range, once there is more or something was given back, and nobody else", async () => {
  const shortage = new Shortage(new ManualClock());
  const woken: string[] = [];
  const stop = new AbortController();
  shortage.sized("a", 2n);
  void shortage.grown("a", stop.signal).then(() => woken.push("a"));
  const other = shortage.grown("b", stop.signal);
  shortage.sized("a", 1n);
  await settle();
  expect(woken).toEqual([]);
  shortage.sized("a", 2n);
  await settle();
  expect(woken).toEqual(["a"]);
  shortage.held("b", 2);
  shortage.held("b", 3);
  const third = shortage.grown("b", stop.signal);
  shortage.held("b", 2);
  await third;
  await other;
  stop.abort(new Error("over"));
  await expect(shortage.grown("b", stop.signal)).rejects.toThrow("over");
});
