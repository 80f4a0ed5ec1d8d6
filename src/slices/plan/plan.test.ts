import { describe, expect, it } from "vitest";

import { floatingNode, type NodeWord, type SliceGrant } from "../../api/slices/slice-grant.ts";
import { IntervalSet } from "../../net/interval-set.ts";
import { intervalOf, parseBlock } from "../../net/interval.ts";
import { parsePrefix } from "../../net/prefix.ts";
import type { NodeFacts, PoolFacts, SliceFacts, SlicePlan } from "./facts.ts";
import { planSlices } from "./plan.ts";

const range = parsePrefix("10.0.0.0/28");
const at = (node: string, block: string) => ({ node, block: parsePrefix(block) });
const node = (name: string, more: Partial<NodeFacts> = {}): NodeFacts => ({ name, isPresent: true, ...more });

/** Of four addresses each; none is granted unless the story says so. */
function factsOf(parts: Partial<PoolFacts>): PoolFacts {
  const slices = parts.slices ?? [];
  return {
    range,
    sliceLength: 30,
    useful: IntervalSet.of([intervalOf(parts.range ?? range)]),
    wanted: true,
    mayGrant: true,
    allocations: slices.map(({ node: name, block }) => ({ node: name, block })),
    lastGeneration: 9,
    slices,
    nodes: [],
    reserved: [],
    ...parts,
  };
}

interface SliceStory {
  readonly grant?: Partial<SliceGrant>;
  readonly word?: Partial<NodeWord> | false;
}

/** A slice that its node works by, empty unless the story says more. */
function slice(name: string, block: string, { grant, word }: SliceStory = {}): SliceFacts {
  const granted: SliceGrant = { generation: 5, serial: 3, phase: "active", without: [], taken: [], ...grant };
  const { generation, serial } = granted;
  const said = { journal: "j", generation, serial, sealed: false, moved: [], used: 0, free: 4, short: 0 };
  return {
    ...at(name, block),
    grant: granted,
    ...(word !== false && { word: { ...said, ...word } }),
  };
}

/** Two nodes that share a /28 between them, two slices each. */
const full = (word: Partial<NodeWord>): SliceFacts[] => [
  slice("a", "10.0.0.0/30", { word }),
  slice("a", "10.0.0.4/30", { word }),
  slice("b", "10.0.0.8/30", { word: { used: 3, free: 1 } }),
  slice("b", "10.0.0.12/30", { word: { used: 4, free: 0 } }),
];

const lines = (plan: SlicePlan) => plan.allocations.map((each) => `${each.node} ${each.block}`);
const grantOn = (plan: SlicePlan, block: string) => plan.grants.find((each) => String(each.block) === block)?.grant;

describe("joining", () => {
  it("gives each node by name the lowest free slice, with a generation of its own", () => {
    const plan = planSlices(factsOf({ nodes: [node("b"), node("a")] }));
    expect(lines(plan)).toEqual(["a 10.0.0.0/30", "b 10.0.0.4/30"]);
    expect(plan.grants.map(({ grant }) => grant.generation)).toEqual([10, 11]);
    expect(plan).toMatchObject({ lastGeneration: 11, totals: { total: 4n, assigned: 2n, free: 2n } });
  });

  it("changes nothing where all is as it should be, and keeps the very grants", () => {
    const facts = factsOf({ slices: [slice("a", "10.0.0.0/30")], nodes: [node("a")] });
    const plan = planSlices(facts);
    expect(plan.grants[0]!.grant).toBe(facts.slices[0]!.grant);
    expect(plan.lastGeneration).toBe(9);
  });

  it("grants what whereabouts assigned to the same node", () => {
    const plan = planSlices(factsOf({ allocations: [at("b", "10.0.0.8/30")], nodes: [node("a"), node("b")] }));
    expect(lines(plan)).toEqual(["a 10.0.0.0/30", "b 10.0.0.8/30"]);
  });

  it("leaves out slices without useful addresses, and those that are taken whole", () => {
    const useful = IntervalSet.of([parseBlock("10.0.0.6-10.0.0.15")]);
    const reserved = [parseBlock("10.0.0.6-10.0.0.9")];
    const plan = planSlices(factsOf({ useful, reserved, nodes: [node("a")] }));
    expect(lines(plan)).toEqual(["a 10.0.0.8/30"]);
    expect(grantOn(plan, "10.0.0.8/30")?.taken).toEqual(["10.0.0.8-10.0.0.9"]);
    expect(plan.totals.total).toBe(3n);
  });

  it("assigns nothing while it may not, and says why", () => {
    const plan = planSlices(factsOf({ mayGrant: false, nodes: [node("a")] }));
    expect(plan.allocations).toEqual([]);
    expect(plan.waiting.get("a")).toContain("changed over");
  });

  it("carries 5,000 IPv6 slices of a /48 without listing the rest", () => {
    const v6 = parsePrefix("fd00::/48");
    const nodes = Array.from({ length: 5000 }, (_, i) => node(`n${i}`));
    const plan = planSlices(factsOf({ range: v6, sliceLength: 64, nodes }));
    expect(plan.totals).toEqual({ total: 65_536n, assigned: 5000n, free: 60_536n });
  });
});

describe("leaving", () => {
  it.each<[string, readonly NodeFacts[], SliceStory, string]>([
    ["gone and not fenced: untouched", [], {}, "active"],
    ["gone while its daemon lives: drained", [node("a", { isLeaving: true })], {}, "draining"],
    ["fenced by the node", [node("a", { isPresent: false, fenced: "taint" })], {}, "removed"],
    ["sealed", [node("z", { isPresent: false })], { word: { sealed: true } }, "removed"],
    ["sealed in an earlier generation", [], { word: { sealed: true, generation: 4 } }, "active"],
  ])("%s", (_, nodes, story, fate) => {
    const plan = planSlices(factsOf({ slices: [slice("a", "10.0.0.0/30", story)], nodes }));
    expect(plan.removals).toHaveLength(fate === "removed" ? 1 : 0);
    expect(plan.allocations).toHaveLength(fate === "removed" ? 0 : 1);
    if (fate !== "removed") expect(grantOn(plan, "10.0.0.0/30")?.phase).toBe(fate);
  });

  it("gives a removed block away only when its object is gone", () => {
    const sealed = slice("a", "10.0.0.0/30", { word: { sealed: true } });
    expect(lines(planSlices(factsOf({ slices: [sealed], nodes: [node("b")] })))).toEqual(["b 10.0.0.4/30"]);
    expect(lines(planSlices(factsOf({ nodes: [node("b")] })))).toEqual(["b 10.0.0.0/30"]);
  });
});

describe("what does not fit together", () => {
  it("adopts an object that the status lost", () => {
    const plan = planSlices(factsOf({ allocations: [], slices: [slice("a", "10.0.0.0/30")], nodes: [node("b")] }));
    expect(lines(plan)).toEqual(["a 10.0.0.0/30", "b 10.0.0.4/30"]);
  });

  it("drains an object that overlaps what the status has", () => {
    const slices = [slice("a", "10.0.0.0/30"), slice("b", "10.0.0.0/30")];
    const plan = planSlices(factsOf({ allocations: [at("b", "10.0.0.0/30")], slices }));
    expect(lines(plan)).toEqual(["b 10.0.0.0/30"]);
    expect(plan.grants.map((each) => [each.node, each.grant.phase])).toEqual([
      ["a", "draining"],
      ["b", "active"],
    ]);
    expect(plan.conflicts).toHaveLength(1);
  });

  it("drains the later of two allocations that overlap, and grants nothing new from there", () => {
    const slices = [slice("a", "10.0.0.0/29"), slice("b", "10.0.0.4/30")];
    const plan = planSlices(factsOf({ sliceLength: 29, slices, nodes: [node("c")] }));
    expect(grantOn(plan, "10.0.0.4/30")?.phase).toBe("draining");
    expect(lines(plan)).toContain("c 10.0.0.8/29");
  });

  it("numbers a grant anew where the journal is ahead of a restored object", () => {
    const plan = planSlices(factsOf({ slices: [slice("a", "10.0.0.0/30", { word: { generation: 20 } })] }));
    expect(grantOn(plan, "10.0.0.0/30")).toMatchObject({ generation: 21, serial: 4 });
  });
});

describe("after a restore", () => {
  it("lets the later grant of a block count, whatever the status says of the earlier one", () => {
    const slices = [slice("a", "10.0.0.0/30"), slice("b", "10.0.0.0/30", { grant: { generation: 7 } })];
    const plan = planSlices(factsOf({ allocations: [at("a", "10.0.0.0/30")], slices }));
    expect(lines(plan)).toEqual(["b 10.0.0.0/30"]);
    expect(plan.grants.map((each) => [each.node, each.grant.phase])).toEqual([
      ["a", "draining"],
      ["b", "active"],
    ]);
  });

  it("takes a later grant inside a slice for a piece that was lent: the slice goes on without it", () => {
    const slices = [slice("a", "10.0.0.0/30"), slice("b", "10.0.0.2/31", { grant: { generation: 7 } })];
    const plan = planSlices(factsOf({ allocations: [at("a", "10.0.0.0/30")], slices }));
    expect(lines(plan)).toEqual(["a 10.0.0.0/30", "b 10.0.0.2/31"]);
    expect(grantOn(plan, "10.0.0.0/30")).toMatchObject({ phase: "active", without: ["10.0.0.2/31"] });
    expect([grantOn(plan, "10.0.0.2/31")?.phase, plan.conflicts]).toEqual(["active", []]);
  });

  it("opens no floating part over a slice that was granted there since, by its object or by its journal", () => {
    const before = { floatingLength: 30, allocations: [at(floatingNode, "10.0.0.12/30")], floatingInUse: [] };
    expect(planSlices(factsOf(before)).floating).toEqual(parsePrefix("10.0.0.12/30"));
    const forgotten = [parseBlock("10.0.0.12/30")];
    for (const since of [{ slices: [slice("a", "10.0.0.12/30")] }, { forgotten }]) {
      const plan = planSlices(factsOf({ ...since, ...before }));
      expect([plan.floating, lines(plan)[0]?.split(" ")[1]]).toEqual([undefined, "10.0.0.12/30"]);
    }
  });

  it("numbers by the clock, so that nothing is numbered as what was forgotten", () => {
    const of = (lastGeneration: number) =>
      planSlices(factsOf({ nodes: [node("a"), node("b")], lastGeneration, nowMs: 5000.5 }));
    expect(of(9).grants.map(({ grant }) => grant.generation)).toEqual([5000, 5001]);
    expect(of(7000).grants.map(({ grant }) => grant.generation)).toEqual([7001, 7002]);
  });

  it("widens nothing while daemons have not said what they have: their records may be missing", () => {
    const known = { grant: { taken: ["10.0.0.1", "no address"] } };
    const slices = [
      slice("a", "10.0.0.0/30", known),
      slice("b", "10.0.0.4/30", { word: { generation: 20 } }),
      slice("c", "10.0.0.8/30", { word: { generation: 20 }, grant: { phase: "draining" } }),
      slice("d", "10.0.0.12/30", { word: { serial: 20, gives: { ask: 1, block: "10.0.0.14/31" } } }),
    ];
    const reserved = [parseBlock("10.0.0.2")];
    const waiting = planSlices(factsOf({ slices, reserved, mayGrant: false, isWaiting: true }));
    expect(grantOn(waiting, "10.0.0.0/30")?.taken).toEqual(["10.0.0.1-10.0.0.2"]);
    expect(grantOn(waiting, "10.0.0.4/30")).toBe(slices[1]!.grant);
    expect(grantOn(waiting, "10.0.0.8/30")).toMatchObject({ generation: 21, phase: "draining" });
    expect(grantOn(waiting, "10.0.0.12/30"), "its journal may leave out more").toBe(slices[3]!.grant);
    const plan = planSlices(factsOf({ slices, reserved }));
    expect(grantOn(plan, "10.0.0.0/30")?.taken).toEqual(["10.0.0.2"]);
    expect(grantOn(plan, "10.0.0.4/30")).toMatchObject({ generation: 21, phase: "active" });
    expect(grantOn(plan, "10.0.0.12/30")).toMatchObject({ serial: 21, without: ["10.0.0.14/31"] });
  });

  it("numbers a change after the serial that the journal has: it takes nothing older", () => {
    const behind = slice("a", "10.0.0.0/30", { grant: { serial: 3 }, word: { serial: 7 } });
    const plan = planSlices(factsOf({ slices: [behind], nodes: [node("a")] }));
    expect(plan.grants[0]!.grant).toMatchObject({ generation: 5, serial: 8 });
  });

  it("leaves out what was given up, whoever asked for it, and no more than once", () => {
    const gives = { ask: 2, block: "10.0.0.2/31" };
    const story = (without: string[]) => [slice("a", "10.0.0.0/30", { grant: { without }, word: { gives } })];
    const first = planSlices(factsOf({ slices: story([]), nodes: [node("a")] }));
    expect(first.grants[0]!.grant).toMatchObject({ serial: 4, without: [gives.block] });
    const again = story([gives.block]);
    expect(planSlices(factsOf({ slices: again, nodes: [node("a")] })).grants[0]!.grant).toBe(again[0]!.grant);
  });
});

describe("changes of shape", () => {
  it.each<[string, Partial<PoolFacts>]>([
    ["a new size", { sliceLength: 29 }],
    ["a new range", { range: parsePrefix("10.0.0.16/28"), useful: IntervalSet.of([parseBlock("10.0.0.16/28")]) }],
    ["a floating part where it lies", { floatingLength: 29, slices: [slice("a", "10.0.0.12/30")] }],
  ])("%s: the node gets a new slice first, then the old one drains", (_, change) => {
    const first = planSlices(factsOf({ slices: [slice("a", "10.0.0.0/30")], nodes: [node("a")], ...change }));
    expect(first.grants.map(({ grant }) => grant.phase)).toEqual(["active", "active"]);
    const slices = first.grants.map((each) => slice("a", String(each.block), { grant: each.grant }));
    const second = planSlices(factsOf({ nodes: [node("a")], ...change, slices }));
    expect(second.grants.map(({ grant }) => grant.phase).sort()).toEqual(["active", "draining"]);
  });

  it("drains at once where no slice of the new size is free", () => {
    const slices = ["0", "4", "8", "12"].map((last, i) => slice(`n${i}`, `10.0.0.${last}/30`));
    const nodes = slices.map((each) => node(each.node));
    const plan = planSlices(factsOf({ sliceLength: 29, slices, nodes }));
    expect(plan.grants.every(({ grant }) => grant.phase === "draining")).toBe(true);
  });

  it("drains everything when nobody wants slices", () => {
    const plan = planSlices(factsOf({ wanted: false, slices: full({}), nodes: [node("a"), node("b")] }));
    expect(plan.grants.map(({ grant }) => grant.phase)).toEqual(Array(4).fill("draining"));
    expect(plan.blocks).toHaveLength(4);
  });

  it("assigns the floating part once no slice is in it, and keeps an old one until no daemon uses it", () => {
    const plan = planSlices(factsOf({ floatingLength: 29 }));
    expect(lines(plan)).toEqual([`${floatingNode} 10.0.0.8/29`]);
    expect(String(plan.floating)).toBe("10.0.0.8/29");
    const { allocations } = plan;
    expect(lines(planSlices(factsOf({ allocations })))).toEqual([`${floatingNode} 10.0.0.8/29`]);
    expect(planSlices(factsOf({ allocations })).floating).toBeUndefined();
    expect(lines(planSlices(factsOf({ allocations, floatingInUse: [] })))).toEqual([]);
  });
});

describe("rebalancing", () => {
  it.each<[string, Partial<NodeWord>, number]>([
    ["an eighth is free", { used: 7, free: 1 }, 1],
    ["less than that", { used: 8, free: 1 }, 2],
    ["requests found nothing", { used: 1, free: 3, short: 1 }, 2],
  ])("%s", (_, word, count) => {
    const plan = planSlices(factsOf({ slices: [slice("a", "10.0.0.0/30", { word })], nodes: [node("a")] }));
    expect(plan.allocations).toHaveLength(count);
  });

  it("waits until the node has taken up what it was given", () => {
    const slices = [
      slice("a", "10.0.0.0/30", { word: { used: 4, free: 0, short: 5 } }),
      slice("a", "10.0.0.4/30", { word: false }),
    ];
    expect(planSlices(factsOf({ slices, nodes: [node("a")] })).allocations).toHaveLength(2);
  });

  it("asks the node with most free for half of it, when nothing else is free", () => {
    const plan = planSlices(factsOf({ slices: full({ used: 1, free: 3 }), nodes: [node("a"), node("b"), node("c")] }));
    expect(grantOn(plan, "10.0.0.0/30")).toMatchObject({ serial: 4, lend: { ask: 4, addresses: 2 } });
    expect(plan.grants.filter(({ grant }) => grant.lend !== undefined)).toHaveLength(1);
    expect(plan.waiting.get("c")).toContain("asked for a part");
  });

  it("moves what was given up to `without`, and assigns it in the next plan", () => {
    const nodes = [node("a"), node("b"), node("c")];
    const lend = { ask: 3, addresses: 2 };
    const gives = { ask: 3, block: "10.0.0.2/31" };
    const rest = full({ used: 1, free: 3 }).slice(1);
    const given = slice("a", "10.0.0.0/30", { grant: { lend }, word: { used: 1, free: 1, gives } });
    const first = planSlices(factsOf({ slices: [given, ...rest], nodes }));
    const grant = grantOn(first, "10.0.0.0/30")!;
    expect(grant).toEqual({ generation: 5, serial: 4, phase: "active", without: ["10.0.0.2/31"], taken: [] });
    expect(lines(first)).not.toContain("c 10.0.0.2/31");
    const second = planSlices(factsOf({ slices: [slice("a", "10.0.0.0/30", { grant }), ...rest], nodes }));
    expect(lines(second)).toContain("c 10.0.0.2/31");
  });

  it.each<[string, NodeFacts, Partial<NodeWord>]>([
    ["is silent", node("a", { isSilent: true }), { used: 1, free: 3 }],
    ["has nothing free", node("a"), { used: 4, free: 0 }],
  ])("does not ask a node that %s", (_, a, word) => {
    const plan = planSlices(factsOf({ slices: full(word), nodes: [a, node("b"), node("c")] }));
    expect(grantOn(plan, "10.0.0.8/30")?.lend).toEqual({ ask: 4, addresses: 1 });
  });

  it("says that it is exhausted where nobody has anything to lend", () => {
    const slices = full({ used: 4, free: 0, short: 1 }).map((each) => ({
      ...each,
      word: { ...each.word!, used: 4, free: 0 },
    }));
    const plan = planSlices(factsOf({ slices, nodes: [node("a"), node("b"), node("c")] }));
    expect(plan.exhausted).toContain("10.0.0.0/28");
    expect(plan.waiting.get("c")).toBe(plan.exhausted);
    expect(grantOn(plan, "10.0.0.0/30")?.exhausted).toBe(plan.exhausted);
    expect(grantOn(plan, "10.0.0.8/30")?.exhausted).toBeUndefined();
  });

  it.each<[string, Partial<NodeWord>, string]>([
    ["half a slice is free beside it", { used: 2, free: 2 }, "returning"],
    ["less than half", { used: 3, free: 1 }, "active"],
    ["all of another is free beside it", { used: 0, free: 4 }, "returning"],
  ])("an empty slice, %s", (_, word, phase) => {
    const slices = [slice("a", "10.0.0.0/30", { word }), slice("a", "10.0.0.4/30")];
    expect(grantOn(planSlices(factsOf({ slices, nodes: [node("a")] })), "10.0.0.4/30")?.phase).toBe(phase);
  });

  it("keeps what returns if a pod was faster", () => {
    const returning = slice("a", "10.0.0.4/30", { grant: { phase: "returning" }, word: { used: 1, free: 3 } });
    const plan = planSlices(factsOf({ slices: [slice("a", "10.0.0.0/30"), returning], nodes: [node("a")] }));
    expect(grantOn(plan, "10.0.0.4/30")).toMatchObject({ phase: "active", serial: 4 });
  });

  it("gives out once, and keeps, what two neighbours given up make together", () => {
    const without = ["10.0.0.2/32", "10.0.0.3/32"];
    const rest = full({ used: 4, free: 0 }).slice(1);
    const lender = slice("a", "10.0.0.0/30", { grant: { without }, word: { used: 2, free: 0 } });
    const nodes = [node("a"), node("b"), node("c"), node("d")];
    const first = planSlices(factsOf({ slices: [lender, ...rest], nodes }));
    expect(lines(first).filter((each) => each.endsWith("/31"))).toEqual(["c 10.0.0.2/31"]);
    const given = slice("c", "10.0.0.2/31", { word: { free: 2 } });
    const second = planSlices(factsOf({ slices: [lender, given, ...rest], nodes }));
    expect(grantOn(second, "10.0.0.2/31")?.phase).toBe("active");
    expect(second.conflicts).toEqual([]);
  });

  it("gives out once what was lent on as a whole", () => {
    const lent = { grant: { without: ["10.0.0.3/32"] }, word: { free: 0 } };
    const slices = [
      slice("a", "10.0.0.0/30", { ...lent, word: { used: 3, free: 0 } }),
      slice("b", "10.0.0.3/32", lent),
      ...["4", "8", "12"].map((last) => slice("a", `10.0.0.${last}/30`, { word: { used: 4, free: 0 } })),
    ];
    const plan = planSlices(factsOf({ slices, nodes: [node("a"), node("b"), node("c"), node("d")] }));
    expect(lines(plan).filter((each) => each.endsWith("/32"))).toEqual(["b 10.0.0.3/32", "c 10.0.0.3/32"]);
    expect(plan.conflicts).toEqual([]);
  });
});

it("around a slice that only a journal has no slice is laid, whatever its size, and no floating part", () => {
  const forgotten = [parseBlock("10.0.0.1")];
  const plan = planSlices(factsOf({ nodes: [node("a")], reserved: forgotten, forgotten }));
  expect(lines(plan)).toEqual(["a 10.0.0.4/30"]);
  const last = [parseBlock("10.0.0.13")];
  const floats = planSlices(factsOf({ floatingLength: 30, reserved: last, forgotten: last }));
  expect([lines(floats), floats.floating]).toEqual([[], undefined]);
});
