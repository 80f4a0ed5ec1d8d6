import { describe, expect, it } from "vitest";

import { ManualClock } from "../kube/manual-clock.ts";
import { Making } from "./making.ts";

describe("claims that are being made", () => {
  const clock = new ManualClock();
  const cached = new Set<string>();
  const making = new Making(clock, (key) => cached.has(key));

  it("count once, in their namespace, until the cache shows them", () => {
    making.begin("a/1");
    making.begin("a/1");
    making.begin("a/2");
    making.begin("b/1");
    expect([making.count("a"), making.count("b"), making.count("c")]).toEqual([2, 1, 0]);
    cached.add("a/1");
    expect(making.count("a")).toBe(1);
  });

  it("do not count where they were not made", () => {
    making.drop("a/2");
    expect(making.count("a")).toBe(0);
  });

  it("are forgotten after a while, whatever the cache shows", async () => {
    await clock.advance(60_000);
    expect(making.count("b")).toBe(0);
  });
});
