import { describe, expect, it } from "vitest";

import { figuresOf } from "../cni/figures.ts";
import { judgeGoals } from "./add-goals.ts";

/** Every call took so long, and so many were made in a second. */
const figures = (ms: number, perSecond: number) => ({ ...figuresOf([ms], 1000), perSecond });
const result = (ms: number, perSecond: number) => ({ add: figures(ms, 1), addAtOnce: figures(1, perSecond) });

describe("the goals of slice-add", () => {
  it("are met by the letter", () => {
    const { met } = judgeGoals({
      ours: [result(5, 150), result(5, 150)],
      hostLocal: [result(5, 100), result(5, 100)],
      whereabouts: result(100, 3),
    });
    expect(met).toEqual({
      noneRefused: true,
      p50OfHostLocal: true,
      rateOfHostLocal: true,
      timesWhereabouts: true,
      timesWhereaboutsAtOnce: true,
    });
  });

  it("are missed by a hair, in either state of the API server", () => {
    const { met } = judgeGoals({
      ours: [{ ...result(5, 149), refusedAtOnce: 1 }, result(5.01, 150)],
      hostLocal: [result(5, 100), result(5, 100)],
      whereabouts: result(99, 3.01),
    });
    expect(Object.values(met)).toEqual([false, false, false, false, false]);
  });

  it("are open where the peer was not there", () => {
    const { met } = judgeGoals({ ours: [result(5, 150), result(5, 150)], hostLocal: [{}, {}], whereabouts: {} });
    expect(met).toEqual({
      noneRefused: true,
      p50OfHostLocal: null,
      rateOfHostLocal: null,
      timesWhereabouts: null,
      timesWhereaboutsAtOnce: null,
    });
  });
});
