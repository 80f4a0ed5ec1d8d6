import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { fromBigInt, parseAddress, toBigInt } from "./address.ts";
import { drawFrom } from "./draw.ts";
import { includes, interval } from "./interval.ts";

const ends = (family: 4 | 6) => {
  const max = family === 4 ? 2n ** 32n - 1n : 2n ** 128n - 1n;
  const near = fc.oneof(fc.bigInt(0n, max), fc.bigInt(0n, 300n), fc.bigInt(max - 300n, max));
  return fc
    .tuple(near, near)
    .map(([a, b]) => interval(fromBigInt(family, a < b ? a : b), fromBigInt(family, a < b ? b : a)));
};

describe("drawFrom", () => {
  it("stays inside, whatever the ends and the random numbers", () => {
    const numbers = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
      minLength: 1,
      maxLength: 9,
    });
    fc.assert(
      fc.property(fc.oneof(ends(4), ends(6)), numbers, (where, list) => {
        let i = 0;
        expect(
          includes(
            where,
            drawFrom(where, () => list[i++ % list.length]!),
          ),
        ).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["10.0.0.250", "10.0.1.5"],
    ["fd00::ffff:fffa", "fd00::1:0:5"],
    ["ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff4", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ])("gives every address of %s-%s about the same chance", (first, last) => {
    const where = interval(parseAddress(first), parseAddress(last));
    const counts = new Map<bigint, number>();
    for (let i = 0; i < 12_000; i++) {
      const offset = toBigInt(drawFrom(where, Math.random)) - toBigInt(where.first);
      counts.set(offset, (counts.get(offset) ?? 0) + 1);
    }
    expect(counts.size).toBe(12);
    // 1,000 expected each; a standard deviation is 30, so beyond ten of them something is wrong.
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(300);
  });
});
