// Which nodes are waited for before a free block is given, and which slices only a journal has.
import { expect, it } from "vitest";

import { journalAnnotation, leaseNodeAnnotation, nodeLeaseName, writeJournalSlices } from "../api/slices/node-lease.ts";
import { ManualClock } from "../kube/testing/manual-clock.ts";
import { parsePrefix } from "../net/prefix.ts";
import type { SliceCaches } from "./caches.ts";
import { RestoredJournals } from "./restored-journals.ts";

const range = parsePrefix("10.0.0.0/24");
const place = { namespace: "kube-system", network: "blue", range };
const slice = (block: string) => ["kube-system", "blue", "10.0.0.0/24", "blue", block] as const;

interface StageOptions {
  /** Keys of objects, and the `without` of their grants. */
  readonly known?: Readonly<Record<string, readonly string[]>>;
  /** Of the nodes' journals; the grants are of the first. */
  readonly generation?: number;
  readonly stale?: readonly string[];
  /** `NODE BLOCK` of the status; undefined: the pool is not there. */
  readonly assigned?: readonly string[];
}

function stage(texts: Record<string, string>, { known = {}, generation = 1, stale = [], assigned }: StageOptions = {}) {
  const clock = new ManualClock();
  const fenced = new Set<string>();
  let renewals = 0;
  let lookups = 0;
  const lease = (node: string, text: string) => ({
    metadata: { name: nodeLeaseName(node), annotations: { [leaseNodeAnnotation]: node, [journalAnnotation]: text } },
    spec: { renewTime: String((renewals += 1)) },
  });
  const leases = new Map(Object.entries(texts).map(([node, text]) => [node, lease(node, text)]));
  const slices = new Map(Object.entries(known).map(([key, without]) => [key, sliceObject(key, without, generation)]));
  const objects = { get: (key: string) => slices.get(key), byIndex: () => ((lookups += 1), [...slices.values()]) };
  const allocations = (assigned ?? [])
    .map((text) => text.split(" "))
    .map(([nodeName, sliceRange]) => ({ nodeName, sliceRange }));
  const pool = { metadata: {}, spec: { range: "10.0.0.0/24", sliceSize: "/28" }, status: { allocations } };
  const caches = {
    leases: { list: () => leases.values(), size: leases.size },
    slices: objects,
    pools: { get: () => (assigned ? pool : undefined) },
  };
  const warnings: string[] = [];
  const journals = new RestoredJournals({
    caches: caches as unknown as SliceCaches,
    presence: { isFresh: (node) => !stale.includes(node), fenced: (node) => (fenced.has(node) ? "off" : undefined) },
    clock,
    log: { warn: (message) => void warnings.push(message) },
  });
  journals.begin();
  const lookupsOf = (work: () => void) => ((lookups = 0), work(), lookups);
  return {
    clock,
    journals,
    fenced,
    leases,
    lookupsOf,
    warnings,
    renew: (node: string, text: string) => {
      const renewed = lease(node, text);
      leases.set(node, renewed);
      return journals.heard(renewed);
    },
  };
}

/** `kube-system/blue-NODE-10.0.0.N-28` */
function sliceObject(key: string, without: readonly string[], generation = 1) {
  const [, node = "", address = ""] = /-system\/blue-(\w+)-([\d.]+)-28$/.exec(key) ?? [];
  const grant = { generation: 1, serial: 1, phase: "active", without };
  const marks = {
    "holdfast.io/node": node,
    "holdfast.io/slice-pool": "blue",
    "holdfast.io/grant": JSON.stringify(grant),
  };
  const said = { "holdfast.io/node-word": JSON.stringify({ journal: "j", generation, serial: 1 }) };
  return {
    metadata: { namespace: "kube-system", annotations: { ...marks, ...said } },
    spec: { range: `${address}/28` },
  };
}

const textOf = ({ journals }: Stage) => journals.within(place).map(({ first, last }) => `${first}-${last}`);

type Stage = ReturnType<typeof stage>;

it("nothing free is given until the last that is known has spoken, or its time is over", async () => {
  const none = writeJournalSlices([]);
  const { journals, renew } = stage({ a: none, b: none });
  expect([journals.isWhole, renew("a", none), journals.isWhole]).toEqual([false, false, false]);
  expect(journals.obstacle).toContain("1 of the nodes");
  expect([renew("b", none), journals.isWhole, journals.obstacle]).toEqual([true, true, ""]);
  const other = stage({ a: none, b: none });
  other.renew("b", none);
  await other.clock.advance(80_041);
  expect(other.journals.isWhole).toBe(true);
});

it("time alone is no word: while no daemon of before has spoken, nobody could have told of a restore", async () => {
  const none = writeJournalSlices([]);
  const made = stage({ a: none, b: none }, { stale: ["a", "b"] });
  expect(made.journals.isWhole).toBe(true);
  const { journals, fenced, clock } = stage({ a: none, b: none });
  await clock.advance(3_600_000);
  expect([journals.isWhole, journals.obstacle]).toEqual([false, expect.stringContaining("start a daemon")]);
  fenced.add("a").add("b");
  expect(journals.isWhole).toBe(true);
});

it("one that was asleep could not have told of a restore: others have their time, unless one of them speaks", async () => {
  const [none, woke] = [writeJournalSlices([]), writeJournalSlices([], { woke: true })];
  const { journals, renew, clock } = stage({ a: none });
  expect([renew("a", woke), journals.isWhole, journals.obstacle]).toEqual([
    false,
    false,
    expect.stringContaining("all nodes"),
  ]);
  await clock.advance(80_021);
  expect(journals.isWhole).toBe(true);
  const other = stage({ a: none, b: none });
  expect([other.renew("a", woke), other.renew("b", none), other.journals.isWhole]).toEqual([false, true, true]);
});

it("a copy of before the slices grew: the larger block is its node's all the same", () => {
  const made = stage({ a: writeJournalSlices([slice("10.0.0.0/26")]) }, { assigned: [] });
  expect(textOf(made)).toEqual([]);
  made.journals.restored();
  expect(textOf(made)).toEqual(["10.0.0.0-10.0.0.63"]);
});

it("a restore that one has noticed is waited out, for nodes of which nobody knows", async () => {
  const { journals, renew, clock } = stage({ a: writeJournalSlices([]) });
  await clock.advance(60_000);
  expect([renew("a", writeJournalSlices([], { restored: true })), journals.isWhole]).toEqual([false, false]);
  await clock.advance(60_000);
  expect(journals.isWhole).toBe(false);
  await clock.advance(30_000);
  expect(journals.isWhole).toBe(true);
});

it.each([
  ["speaks", ({ renew }: Stage) => renew("b", writeJournalSlices([]))],
  ["is fenced", ({ fenced }: Stage) => fenced.add("b")],
  ["has no Lease any more", ({ leases }: Stage) => leases.delete("b")],
])("a node that sleeps through a restore is waited for until it %s, however long", async (_, end) => {
  const none = writeJournalSlices([]);
  for (const stale of [[], ["b"]]) {
    const made = stage({ a: none, b: none }, { stale });
    made.renew("a", writeJournalSlices([], { restored: true }));
    await made.clock.advance(3_600_000);
    expect([made.journals.hasWaited, made.journals.isWhole]).toEqual([true, false]);
    expect(made.journals.obstacle).toMatch(/node b has not said .* holdfast slices release b/);
    end(made);
    expect([made.journals.isWhole, made.journals.obstacle]).toEqual([true, ""]);
  }
});

it("a node that was silent before the term is not waited for where nothing was restored", () => {
  const none = writeJournalSlices([]);
  const { journals, renew } = stage({ a: none, b: none }, { stale: ["b"] });
  expect([renew("a", none), journals.isWhole]).toEqual([true, true]);
});

it("what has no object is some node's still, and what a Lease does not name keeps all back", () => {
  const text = writeJournalSlices([slice("10.0.0.0/28"), slice("10.0.0.16/28")]);
  const { journals } = stage({ a: text }, { known: { "kube-system/blue-a-10.0.0.16-28": [] } });
  expect([...journals.forgotten()].map(({ node, block, pool }) => `${node} ${block} ${pool}`)).toEqual([
    "a 10.0.0.0/28 kube-system/blue",
  ]);
  expect(journals.within(place).map(({ first, last }) => `${first}-${last}`)).toEqual(["10.0.0.0-10.0.0.15"]);
  expect(journals.within({ ...place, network: "red" })).toEqual([]);
});

it("a slice that the copy gives to another is its own node's still, and a piece is where its lender left it out", () => {
  const known = { "kube-system/blue-x-10.0.0.0-28": ["10.0.0.8/29"] };
  const say = (...blocks: string[]) => ({ y: writeJournalSlices(blocks.map(slice)) });
  const made = stage(say("10.0.0.8/30", "10.0.0.0/30", "10.0.0.16/28"), { known, assigned: ["x 10.0.0.16/28"] });
  expect([...made.journals.forgotten()]).toHaveLength(3);
  // The lender's own blocks are not taken from it; a block that was only assigned to another node is.
  expect(textOf(made)).toEqual(["10.0.0.8-10.0.0.11", "10.0.0.16-10.0.0.31"]);
  expect(textOf(stage(say("10.0.0.16/28"), { assigned: ["y 10.0.0.16/28"] }))).toEqual([]);
  // The lender's journal is ahead of its object, which lacks the pieces lent since.
  expect(textOf(stage(say("10.0.0.0/30"), { known, generation: 2 }))).toEqual(["10.0.0.0-10.0.0.3"]);
});

it("what no controller granted is not believed, and told once for each word of the node", () => {
  const wrong = [
    slice("10.0.0.0/27"),
    slice("10.0.1.0/28"),
    ["kube-system", "red", "10.0.0.0/24", "blue", "10.0.0.0/28"] as const,
  ];
  const made = stage({ a: writeJournalSlices([...wrong, slice("10.0.0.32/28")]) }, { assigned: [] });
  // The pool does not name its network: any may be its own.
  for (let looks = 0; looks < 2; looks++) expect(textOf(made)).toEqual(["10.0.0.32-10.0.0.47"]);
  expect(made.warnings).toEqual([expect.stringMatching(/Lease of node a names 2 slices .* ignored/)]);
  const gone = stage({ a: writeJournalSlices([slice("10.0.0.0/27"), slice("10.0.1.0/28")]) });
  expect(textOf(gone), "of a pool that is gone").toEqual(["10.0.0.0-10.0.0.31"]);
});

it("a word that cannot be read is none: what was said before counts, and its node is waited for as if it slept", async () => {
  const made = stage({ a: writeJournalSlices([slice("10.0.0.0/28")]), b: writeJournalSlices([]) });
  expect(textOf(made)).toEqual(["10.0.0.0-10.0.0.15"]);
  made.renew("b", writeJournalSlices([]));
  expect([made.renew("a", "{"), made.journals.isWhole, textOf(made)]).toEqual([false, false, ["10.0.0.0-10.0.0.15"]]);
  expect(made.warnings).toEqual([expect.stringContaining("node a")]);
  await made.clock.advance(80_041);
  expect(made.journals.isWhole).toBe(true);
});

it("what a Lease does not name keeps free blocks back until its objects had time to be made again", async () => {
  const text = (more: number) => JSON.stringify({ slices: [], more });
  const made = stage({ a: text(10), b: text(1e9) });
  for (const node of ["a", "b"]) made.renew(node, text(node === "a" ? 10 : 1e9));
  expect(made.journals.obstacle).toContain("Node a has more slices");
  await made.clock.advance(82_000);
  expect(made.journals.obstacle).toContain("Node b has more slices");
  await made.clock.advance(410_000);
  expect(made.journals.obstacle).toBe("");
});

it("the slices of a pool are read as often for a hundred that are lost as for one", () => {
  const named = (count: number) => writeJournalSlices(Array.from({ length: count }, (_, i) => slice(`10.0.0.${i}/32`)));
  const [one, hundred] = [1, 100].map((count) => {
    const { journals, lookupsOf } = stage({ a: named(count) });
    return lookupsOf(() => void journals.within(place));
  });
  expect(hundred).toBe(one);
});
