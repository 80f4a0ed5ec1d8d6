// Addresses that no definition hands out are taken in every grant: as free they would be lent, and hide a shortage.
import { expect, test } from "vitest";

import { IntervalSet } from "../../net/interval-set.ts";
import { parseBlock } from "../../net/interval.ts";
import { parsePrefix } from "../../net/prefix.ts";
import type { PoolFacts } from "./facts.ts";
import { planSlices } from "./plan.ts";

function factsOf(useful: readonly string[], reserved: readonly string[] = []): PoolFacts {
  return {
    range: parsePrefix("10.0.0.0/29"),
    sliceLength: 30,
    useful: IntervalSet.of(useful.map((each) => parseBlock(each))),
    wanted: true,
    mayGrant: true,
    allocations: [],
    lastGeneration: 0,
    slices: [],
    nodes: ["a", "b"].map((name) => ({ name, isPresent: true })),
    reserved: reserved.map((each) => parseBlock(each)),
  };
}
const takenOf = (facts: PoolFacts) =>
  planSlices(facts).grants.map(({ node, grant }) => `${node} ${grant.taken.join()}`);

test.each([
  ["network and broadcast address", factsOf(["10.0.0.1-10.0.0.6"]), ["a 10.0.0.0", "b 10.0.0.7"]],
  ["beside what is reserved", factsOf(["10.0.0.1-10.0.0.6"], ["10.0.0.1"]), ["a 10.0.0.0-10.0.0.1", "b 10.0.0.7"]],
  ["nothing where all is of use", factsOf(["10.0.0.0/29"]), ["a ", "b "]],
])("%s", (_, facts, wanted) => {
  expect(takenOf(facts)).toEqual(wanted);
});
