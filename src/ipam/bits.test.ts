import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { Bits } from "./bits.ts";

/** Sizes around the word, the summary word and the page. */
const sizes = [1, 2, 31, 32, 33, 63, 64, 1023, 1024, 1025, 4095, 4096, 4097, 40_000];

describe("Bits", () => {
  it.each(sizes)("starts empty and ends full at size %i", (size) => {
    const bits = new Bits(size);
    expect(bits.nextClear(0)).toBe(0);
    for (let i = 0; i < size; i++) expect(bits.add(i)).toBe(true);
    expect(bits.full).toBe(true);
    expect(bits.nextClear(0)).toBe(-1);
    expect(bits.delete(size - 1)).toBe(true);
    expect(bits.nextClear(0)).toBe(size - 1);
    expect(bits.full).toBe(false);
  });

  it.each(sizes)("fill equals adding every bit at size %i", (size) => {
    const bits = new Bits(size);
    bits.fill();
    expect(bits.count).toBe(size);
    expect(bits.nextClear(0)).toBe(-1);
    bits.delete(Math.floor(size / 2));
    expect(bits.nextClear(0)).toBe(Math.floor(size / 2));
  });

  it("says nothing is clear past the end", () => {
    const bits = new Bits(64);
    expect(bits.nextClear(64)).toBe(-1);
    expect(bits.nextClear(63)).toBe(63);
  });

  it("agrees with a set of numbers", () => {
    const runs = fc.tuple(
      fc.constantFrom(...sizes),
      fc.array(fc.tuple(fc.boolean(), fc.nat(), fc.nat({ max: 40 })), { maxLength: 60 }),
    );
    fc.assert(
      fc.property(runs, ([size, steps]) => {
        const bits = new Bits(size);
        const oracle = new Set<number>();
        for (const [adds, start, length] of steps) {
          for (let i = start % size; i < Math.min(size, (start % size) + length); i++) {
            if (adds) expect(bits.add(i)).toBe(!oracle.has(i));
            else expect(bits.delete(i)).toBe(oracle.has(i));
            if (adds) oracle.add(i);
            else oracle.delete(i);
          }
          expect(bits.count).toBe(oracle.size);
          const from = start % size;
          let clear = from;
          while (clear < size && oracle.has(clear)) clear += 1;
          expect(bits.nextClear(from)).toBe(clear === size ? -1 : clear);
          expect(bits.has(from)).toBe(oracle.has(from));
        }
      }),
      { numRuns: 300 },
    );
  });
});
