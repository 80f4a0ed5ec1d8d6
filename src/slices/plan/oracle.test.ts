// Any facts, however damaged, against a slow oracle that goes address by address and knows nothing of prefix order.
import * as fc from "fast-check";
import { expect, it } from "vitest";

import type { NodeWord, SliceGrant } from "../../api/slices/slice-grant.ts";
import { parseAddress } from "../../net/address.ts";
import { IntervalSet } from "../../net/interval-set.ts";
import { parseBlock } from "../../net/interval.ts";
import { contains, parsePrefix } from "../../net/prefix.ts";
import type { Allocation, NodeFacts, PoolFacts, SliceFacts } from "./facts.ts";
import { planSlices } from "./plan.ts";
import { addressesOf } from "./testing/universe.ts";

const range = parsePrefix("10.0.0.0/26");
const universe = addressesOf([parseBlock("10.0.0.0/26")]).map((each) => parseAddress(each));

const block = fc
  .tuple(fc.integer({ min: 27, max: 32 }), fc.nat({ max: 63 }))
  .map(([length, last]) => `10.0.0.${last - (last % 2 ** (32 - length))}/${length}`);
const nodeName = fc.constantFrom("a", "b", "c", "d");
const place = fc.record({ node: nodeName, block }).map((each) => ({ node: each.node, block: parsePrefix(each.block) }));
const few = fc.nat({ max: 4 });

const grant: fc.Arbitrary<SliceGrant> = fc.record({
  generation: fc.integer({ min: 1, max: 4 }),
  serial: fc.integer({ min: 1, max: 4 }),
  phase: fc.constantFrom("active", "active", "returning", "draining"),
  without: fc.array(block, { maxLength: 2 }),
  taken: fc.constant([]),
});
const word: fc.Arbitrary<NodeWord> = fc.record({
  journal: fc.constant("j"),
  generation: fc.integer({ min: 1, max: 4 }),
  serial: fc.integer({ min: 1, max: 4 }),
  sealed: fc.boolean(),
  moved: fc.array(fc.constantFrom("10.0.0.3", "10.0.0.40"), { maxLength: 1 }),
  used: few,
  free: few,
  short: few,
});
const slice: fc.Arbitrary<SliceFacts> = fc
  .tuple(place, fc.option(grant), fc.option(word))
  .map(([at, granted, said]) => ({
    ...at,
    ...(granted !== null && { grant: granted }),
    ...(said !== null && { word: said }),
  }));
const node: fc.Arbitrary<NodeFacts> = fc
  .tuple(nodeName, fc.boolean(), fc.integer({ min: 0, max: 9 }))
  .map(([name, isPresent, chance]) => ({
    name,
    isPresent,
    ...(chance === 0 && { fenced: "off" }),
    ...(chance === 1 && { isLeaving: true }),
    ...(chance === 2 && { isSilent: true }),
  }));

const keyOf = (each: Allocation) => `${each.node} ${each.block}`;
const facts: fc.Arbitrary<PoolFacts> = fc
  .record({
    sliceLength: fc.integer({ min: 28, max: 30 }),
    wanted: fc.constantFrom(true, true, true, false),
    mayGrant: fc.constantFrom(true, true, true, false),
    allocations: fc.uniqueArray(place, { maxLength: 6, selector: keyOf }),
    slices: fc.uniqueArray(slice, { maxLength: 6, selector: keyOf }),
    areAssigned: fc.boolean(),
    nodes: fc.uniqueArray(node, { maxLength: 4, selector: ({ name }) => name }),
    reserved: fc.array(fc.nat({ max: 63 }), { maxLength: 3 }),
    lastGeneration: few,
  })
  .map(({ areAssigned, reserved, allocations, ...rest }) => ({
    ...rest,
    range,
    useful: IntervalSet.of([parseBlock("10.0.0.2-10.0.0.61")]),
    allocations: areAssigned ? rest.slices.map((each) => ({ node: each.node, block: each.block })) : allocations,
    reserved: reserved.map((last) => parseBlock(`10.0.0.${last}`)),
  }));

/** Who may hand the address out by this grant. */
function owns(at: Allocation, without: readonly string[], address: (typeof universe)[number]): boolean {
  return contains(at.block, address) && !without.some((each) => contains(parsePrefix(each), address));
}

it("grants anew only what nobody could hand out before, to each address at most once", () => {
  fc.assert(
    fc.property(facts, (given) => {
      const plan = planSlices(given);
      const before = new Map(given.slices.map((each) => [keyOf(each), each.grant]));
      // This plan grants what the status has without an object.
      const planned = new Map(plan.grants.map((each) => [keyOf(each), each.grant.without]));
      const assigned = new Set(given.allocations.map(keyOf));
      const fresh = plan.grants.filter((each) => before.get(keyOf(each)) === undefined && !assigned.has(keyOf(each)));
      const known = fresh.filter((each) => !given.slices.some((other) => keyOf(other) === keyOf(each)));
      for (const address of universe) {
        const owners = known.filter((each) => owns(each, each.grant.without, address));
        const olds = [
          ...given.slices.filter((each) => owns(each, each.grant?.without ?? planned.get(keyOf(each)) ?? [], address)),
          ...given.allocations.filter(
            (each) => !before.has(keyOf(each)) && owns(each, planned.get(keyOf(each)) ?? [], address),
          ),
        ];
        expect(owners.length).toBeLessThanOrEqual(olds.length > 0 ? 0 : 1);
      }
    }),
    { numRuns: 3000 },
  );
});

it("says the same again of the same facts, and numbers every change", () => {
  fc.assert(
    fc.property(facts, (given) => {
      const plan = planSlices(given);
      const shuffled = { ...given, slices: given.slices.toReversed(), nodes: given.nodes.toReversed() };
      expect(planSlices({ ...shuffled, allocations: given.allocations.toReversed() })).toEqual(plan);
      for (const each of plan.grants) {
        const old = given.slices.find((other) => keyOf(other) === keyOf(each))?.grant;
        if (old === undefined || old === each.grant) continue;
        expect(each.grant.serial).toBeGreaterThan(old.serial);
        expect(each.grant.generation).toBeGreaterThanOrEqual(old.generation);
        expect(each.grant.without).toEqual(expect.arrayContaining(old.without));
      }
      const generations = plan.grants
        .filter(({ grant: each }) => each.serial === 1)
        .map(({ grant: each }) => each.generation);
      expect(plan.lastGeneration).toBeGreaterThanOrEqual(Math.max(0, given.lastGeneration, ...generations));
      expect(plan.totals.assigned + plan.totals.free).toBe(plan.totals.total);
    }),
    { numRuns: 1000 },
  );
});
