// The order of whereabouts, exactly: from the first host upwards, over the excluded blocks, the first that is not
// taken. The oracle walks one address at a time, as whereabouts does, in bigints.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { fromBigInt, toBigInt } from "../net/address.ts";
import { intervalOf } from "../net/interval.ts";
import { Prefix } from "../net/prefix.ts";
import { decide } from "./decide.ts";
import type { Owner } from "./owner.ts";
import { Pool } from "./pool.ts";

const owner = (i: number): Owner => ({
  kind: "pod",
  uid: "",
  namespace: "ns",
  name: `pod-${i}`,
  interface: "net1",
  containerId: `c${i}`,
});

interface Case {
  readonly prefix: Prefix;
  readonly start: bigint | undefined;
  readonly end: bigint | undefined;
  readonly excludes: readonly Prefix[];
}

function walk({ prefix, start, end, excludes }: Case, taken: ReadonlySet<bigint>): bigint | undefined {
  const first = toBigInt(prefix.first) + 1n;
  const last = toBigInt(prefix.last) - 1n;
  const inside = (value: bigint | undefined): value is bigint => value !== undefined && value >= first && value <= last;
  const from = inside(start) ? start : first;
  const to = inside(end) && end >= from ? end : last;
  for (let at = from; at <= to; at += 1n) {
    const block = excludes.find((each) => at >= toBigInt(each.first) && at <= toBigInt(each.last));
    if (block === undefined && !taken.has(at)) return at;
  }
  return undefined;
}

const cases: fc.Arbitrary<Case> = fc.constantFrom<4 | 6>(4, 6).chain((family) => {
  const bits = family === 4 ? 32 : 128;
  const base = family === 4 ? 0x0a00_0000n : 0xfd00_0000_0000_0000_0000_0000_ffff_ff00n;
  const near = fc.integer({ min: -20, max: 300 }).map((offset) => base + BigInt(offset));
  return fc.record({
    prefix: fc
      .integer({ min: bits - 8, max: bits - 2 })
      .map((length) => Prefix.around(fromBigInt(family, base), length)),
    start: fc.option(near, { nil: undefined }),
    end: fc.option(near, { nil: undefined }),
    excludes: fc.array(
      fc
        .tuple(near, fc.integer({ min: bits - 6, max: bits }))
        .map(([at, length]) => Prefix.around(fromBigInt(family, at), length)),
      { maxLength: 6 },
    ),
  });
});

describe("lowest free", () => {
  it("is whereabouts' choice through any sequence of ADD and DEL", () => {
    const steps = fc.array(fc.record({ adds: fc.boolean(), pod: fc.nat(60) }), { minLength: 1, maxLength: 80 });
    fc.assert(
      fc.property(cases, steps, (layout, list) => {
        const { prefix, start, end, excludes } = layout;
        const pool = new Pool(
          {
            prefix,
            ...(start === undefined ? {} : { start: fromBigInt(prefix.family, start) }),
            ...(end === undefined ? {} : { end: fromBigInt(prefix.family, end) }),
            outside: "ignore",
            excludes: excludes.map(intervalOf),
            cooldownMs: 0,
          },
          () => 0,
        );
        const held = new Map<number, bigint>();
        for (const step of list) {
          if (!step.adds) {
            pool.releaseOwner(owner(step.pod));
            held.delete(step.pod);
            continue;
          }
          const expected = held.get(step.pod) ?? walk(layout, new Set(held.values()));
          const decision = decide(pool, { owner: owner(step.pod) }, () => 0);
          expect(decision.kind === "grant" ? toBigInt(decision.address) : undefined).toBe(expected);
          if (decision.kind === "refusal") expect(decision.code).toBe("exhausted");
          if (expected === undefined || decision.kind === "refusal") continue;
          pool.take(decision.address, owner(step.pod));
          held.set(step.pod, expected);
        }
      }),
      { numRuns: 300 },
    );
  });
});
