// Both implementations against a plain array of booleans, at both ends of both address spaces.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { type Address, parseAddress, plus } from "../net/address.ts";
import { type Interval, interval } from "../net/interval.ts";
import { BitmapOccupancy, IntervalOccupancy, type Occupancy, occupancyOf } from "./occupancy.ts";

function run(first: string, size: number): Interval {
  const from = parseAddress(first);
  return interval(from, plus(from, size - 1)!);
}

const spans: readonly [string, Interval][] = [
  ["one address", run("10.0.0.1", 1)],
  ["a /24's hosts", run("10.0.0.1", 254)],
  ["several pages", run("10.0.0.1", 3 * 4096 + 17)],
  ["the end of IPv4", run("255.255.255.0", 256)],
  ["the start of IPv4", run("0.0.0.0", 256)],
  ["across a carry of IPv6", run("fd00::ffff:ffff:ffff:ff80", 300)],
  ["the end of IPv6", run("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ff00", 256)],
];

const implementations: readonly [string, (span: Interval) => Occupancy][] = [
  ["bitmap", (span) => new BitmapOccupancy(span)],
  ["intervals", (span) => new IntervalOccupancy(span)],
];

describe.each(implementations)("occupancy as %s", (_name, create) => {
  it.each(spans)("agrees with an array of booleans over %s", (_span, span) => {
    const size = Number(occupancyOf(span).free());
    const at = (offset: number): Address => plus(span.first, offset)!;
    const steps = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant("add" as const), from: fc.nat(size - 1) }),
        fc.record({ kind: fc.constant("delete" as const), from: fc.nat(size - 1) }),
        fc.record({ kind: fc.constant("all" as const), from: fc.nat(size - 1), to: fc.nat(size - 1) }),
      ),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(steps, (list) => {
        const occupancy = create(span);
        const oracle = Array<boolean>(size).fill(false);
        for (const step of list) {
          if (step.kind === "all") {
            const [low, high] = [Math.min(step.from, step.to), Math.max(step.from, step.to)];
            occupancy.addAll(interval(at(low), at(high)));
            oracle.fill(true, low, high + 1);
          } else {
            if (step.kind === "add") occupancy.add(at(step.from));
            else occupancy.delete(at(step.from));
            oracle[step.from] = step.kind === "add";
          }
          for (const from of [0, step.from, size - 1]) {
            const free = oracle.indexOf(false, from);
            expect(String(occupancy.nextFree(at(from)))).toBe(String(free < 0 ? undefined : at(free)));
          }
          expect(occupancy.free()).toBe(BigInt(oracle.filter((taken) => !taken).length));
        }
      }),
      { numRuns: 60 },
    );
  });

  it("ignores what lies outside, and begins at its start when asked from below", () => {
    const occupancy = create(run("10.0.0.10", 10));
    occupancy.add(parseAddress("10.0.0.9"));
    occupancy.add(parseAddress("10.0.0.20"));
    occupancy.delete(parseAddress("10.0.0.20"));
    occupancy.addAll(interval(parseAddress("10.0.0.1"), parseAddress("10.0.0.11")));
    expect(occupancy.free()).toBe(8n);
    expect(String(occupancy.nextFree(parseAddress("10.0.0.1")))).toBe("10.0.0.12");
    expect(occupancy.nextFree(parseAddress("10.0.0.20"))).toBeUndefined();
  });
});

describe("occupancyOf", () => {
  it("takes a bitmap up to 2^32 addresses and intervals beyond", () => {
    const all = interval(parseAddress("0.0.0.0"), parseAddress("255.255.255.255"));
    expect(occupancyOf(all)).toBeInstanceOf(BitmapOccupancy);
    expect(occupancyOf(interval(parseAddress("fd00::"), parseAddress("fd00::1:0:0")))).toBeInstanceOf(
      IntervalOccupancy,
    );
  });

  it("has the whole IPv4 space in one, and finds its last free address", () => {
    const all = interval(parseAddress("0.0.0.0"), parseAddress("255.255.255.255"));
    const occupancy = occupancyOf(all);
    occupancy.addAll(all);
    expect(occupancy.free()).toBe(0n);
    expect(occupancy.nextFree(all.first)).toBeUndefined();
    occupancy.delete(all.last);
    expect(String(occupancy.nextFree(all.first))).toBe("255.255.255.255");
  });
});
