import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { overlaps, parsePrefix, type Prefix } from "../../net/prefix.ts";
import { type SubnetPool, tellingsOf } from "./assignments.ts";
import { parseNetwork } from "./cluster-network.ts";
import type { NodeFacts } from "./node-facts.ts";

const four = parseNetwork({ subnets: ["10.244.0.0/16"], joinSubnets: ["100.64.0.0/16"], mtu: 1400, masks: true });
const both = parseNetwork({
  subnets: ["10.244.0.0/16", "fd10:244::/48"],
  joinSubnets: ["100.64.0.0/16", "fd98::/64"],
  mtu: 1400,
  masks: true,
});

function node(name: string, more: Partial<Pick<NodeFacts, "id" | "subnets" | "createdMs">> = {}): NodeFacts {
  const base = { chassis: undefined, gateway: undefined, managementMac: undefined };
  return { name, createdMs: Number(name.slice(1)), id: undefined, subnets: [], ...base, ...more };
}

/** `n1 10.244.0.0/24` */
function pool(range: string, ...lines: readonly string[]): SubnetPool {
  const assigned = lines.map((line) => {
    const [name, block] = line.split(" ") as [string, string];
    return { node: name, block: parsePrefix(block) };
  });
  return { range: parsePrefix(range), assigned };
}

const words = (nodes: readonly NodeFacts[], pools: readonly SubnetPool[], network = four) =>
  tellingsOf(nodes, pools, network).map(({ node: name, id, subnets }) => `${name} id=${id} subnets=${subnets?.join()}`);

describe("numbers", () => {
  it("go up from 2; 1 is the cluster router's", () => {
    expect(words([node("n2"), node("n1")], [])).toEqual(["n2 id=3 subnets=undefined", "n1 id=2 subnets=undefined"]);
  });

  it("stay with their node; of two with one the younger gets another", () => {
    const nodes = [node("n1", { id: 7 }), node("n2", { id: 7 }), node("n3", { id: 2 })];
    expect(words(nodes, [])).toEqual(["n2 id=3 subnets=undefined"]);
  });
});

describe("subnets", () => {
  const whole = { id: 2 };

  it("are those that are granted, both families at once", () => {
    const v4 = pool("10.244.0.0/16", "n1 10.244.3.0/24");
    expect(words([node("n1", whole)], [v4], both)).toEqual([]);
    expect(words([node("n1", whole)], [v4, pool("fd10:244::/48", "n1 fd10:244:0:5::/64")], both)).toEqual([
      "n1 id=undefined subnets=10.244.3.0/24,fd10:244:0:5::/64",
    ]);
  });

  it("do not change while they are granted; of several the node keeps its own, else it gets the lowest whole one", () => {
    const granted = pool("10.244.0.0/16", "n1 10.244.9.0/24", "n1 10.244.4.0/24", "n1 10.244.2.0/25");
    expect(words([node("n1", { ...whole, subnets: [parsePrefix("10.244.9.0/24")] })], [granted])).toEqual([]);
    expect(words([node("n1", whole)], [granted])).toEqual(["n1 id=undefined subnets=10.244.4.0/24"]);
  });

  it("that are another's go, those of nobody stay: somebody else wrote them, and no pool cuts them", () => {
    const subnets = [parsePrefix("10.244.9.0/24")];
    expect(words([node("n1", { ...whole, subnets })], [pool("10.244.0.0/16", "n2 10.244.9.0/24")])).toEqual([
      "n1 id=undefined subnets=",
    ]);
    expect(words([node("n1", { ...whole, subnets })], [pool("10.244.0.0/16")])).toEqual([]);
    expect(words([node("n1", { ...whole, subnets })], [])).toEqual([]);
  });
});

it("whatever nodes say: where a pool has assigned a block, no other node is left with it", () => {
  const names = ["n1", "n2", "n3"];
  const block = fc.integer({ min: 0, max: 5 }).map((at): Prefix => parsePrefix(`10.244.${at}.0/24`));
  const said = fc.array(block, { maxLength: 1 });
  const assigned = fc.uniqueArray(block, { selector: String, maxLength: 5 });
  fc.assert(
    fc.property(
      fc.tuple(said, said, said),
      assigned,
      fc.array(fc.constantFrom(...names, "n9"), { minLength: 5 }),
      (says, blocks, owners) => {
        const nodes = names.map((name, at) => node(name, { id: at + 2, subnets: says[at]! }));
        const lines = blocks.map((each, at) => ({ node: owners[at]!, block: each }));
        const told = tellingsOf(nodes, [{ range: parsePrefix("10.244.0.0/16"), assigned: lines }], four);
        for (const { name, subnets } of nodes) {
          const now = told.find((each) => each.node === name)?.subnets ?? subnets;
          for (const { node: owner, block: theirs } of lines)
            if (owner !== name) expect(now.some((each) => overlaps(each, theirs))).toBe(false);
          const own = lines.filter(({ node: owner }) => owner === name);
          if (own.length > 0) expect(own.map((each) => `${each.block}`)).toContain(now.join());
        }
      },
    ),
  );
});
