// When a node looks in stripes, and when at the lowest address; when it goes on to another stripe.
import { beforeEach, describe, expect, it } from "vitest";

import { parseAddress } from "../../net/address.ts";
import { CandidateSpread } from "./candidate-spread.ts";

let nowMs: number;
beforeEach(() => void (nowMs = 1000));

const spreadOf = (daemons: number, seed = "node-1 network:") =>
  new CandidateSpread({ seed, now: () => nowMs, daemons: () => daemons });
/** An address of the first stripe, and one of another. */
const inStripe = ({ first, stripes }: CandidateSpread, ahead = 0) => {
  const size = 2 ** Math.ceil(Math.log2(stripes));
  return parseAddress(`10.0.${((first + ahead) & (size - 1)) >> 8}.${(first + ahead) & (size - 1) & 255}`);
};

describe("stripes", () => {
  it.each([
    [0, 1, 1024],
    [1, 1, 1],
    [3, 1, 24],
    [64, 1, 512],
    [65, 520, 520],
    [1000, 8000, 8000],
  ])(
    "with %d daemons there are %d at rest and after two lost takes, and %d for half a minute after a third",
    (daemons, atRest, after) => {
      const spread = spreadOf(daemons);
      expect(spread.stripes).toBe(atRest);
      for (const lost of ["10.0.0.1", "10.0.0.2"]) spread.met(parseAddress(lost));
      expect(spread.stripes).toBe(atRest);
      spread.met(parseAddress("10.0.0.3"));
      expect(spread.stripes).toBe(after);
      nowMs += 29_999;
      expect(spread.stripes).toBe(after);
      nowMs += 1;
      expect(spread.stripes).toBe(atRest);
    },
  );

  it.each([
    ["3 daemons, 6 takes", 3, 6, 24],
    ["3 daemons, 5 takes: few enough for the lowest", 3, 5, 1],
    ["20 daemons, 2 takes", 20, 2, 160],
    ["20 daemons, one take", 20, 1, 1],
    ["one daemon alone, whose takes know of each other", 1, 300, 1],
  ])("%s under way here, and as many elsewhere", (_name, daemons, takes, expected) => {
    const spread = spreadOf(daemons);
    for (let take = 0; take < takes; take++) spread.begin();
    expect(spread.stripes).toBe(expected);
    for (let take = 0; take < takes; take++) spread.end();
    expect(spread.stripes).toBe(1);
  });

  it("begin elsewhere on each node and in each domain", () => {
    const seeds = Array.from({ length: 100 }, (_, index) => `node-${index % 50} network:${Math.floor(index / 50)}`);
    expect(new Set(seeds.map((seed) => spreadOf(50, seed).first & 0xffff)).size).toBeGreaterThan(95);
  });
});

describe("a conflict", () => {
  it("in the stripe of this node sends it to another, once for all that were lost there", () => {
    const spread = spreadOf(100);
    const [lost, before] = [inStripe(spread), spread.first];
    spread.met(lost);
    expect(spread.first - before).toBe(spread.step);
    spread.met(lost);
    expect(spread.first - before).toBe(spread.step);
  });

  it("elsewhere leaves it where it is", () => {
    const spread = spreadOf(100);
    const before = spread.first;
    spread.met(inStripe(spread, 1));
    expect(spread.first).toBe(before);
  });

  it("at rest is about the lowest address, not about the stripe", () => {
    const spread = spreadOf(3);
    const before = spread.first;
    spread.met(inStripe(spread));
    expect(spread.first).toBe(before);
  });
});
