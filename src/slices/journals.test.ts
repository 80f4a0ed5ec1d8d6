// Who is waited for before a free block is given, and what only a journal has.
import { expect, it } from "vitest";

import { journalAnnotation, leaseNodeAnnotation, nodeLeaseName, writeJournalSlices } from "../api/slices/node-lease.ts";
import { ManualClock } from "../kube/manual-clock.ts";
import { parsePrefix } from "../net/prefix.ts";
import { Journals } from "./journals.ts";
import type { SliceWorld } from "./world.ts";

const range = parsePrefix("10.0.0.0/24");
const place = { namespace: "kube-system", network: "blue", range };
const slice = (block: string) => ["kube-system", "blue", "10.0.0.0/24", "blue", block] as const;

interface StageOptions {
  readonly known?: readonly string[];
  readonly stale?: readonly string[];
}

function stage(texts: Record<string, string>, { known = [], stale = [] }: StageOptions = {}) {
  const clock = new ManualClock();
  const fenced = new Set<string>();
  let renewals = 0;
  let lookups = 0;
  const lease = (node: string, text: string) => ({
    metadata: { name: nodeLeaseName(node), annotations: { [leaseNodeAnnotation]: node, [journalAnnotation]: text } },
    spec: { renewTime: String((renewals += 1)) },
  });
  const leases = new Map(Object.entries(texts).map(([node, text]) => [node, lease(node, text)]));
  const objects = { get: (key: string) => (known.includes(key) ? {} : undefined), byIndex: () => ((lookups += 1), []) };
  const world = {
    leases: { list: () => leases.values(), size: leases.size },
    slices: objects,
    pools: { get: () => undefined },
  };
  const journals = new Journals({
    world: world as unknown as SliceWorld,
    presence: { isFresh: (node) => !stale.includes(node), fenced: (node) => (fenced.has(node) ? "off" : undefined) },
    clock,
  });
  journals.begin();
  const lookupsOf = (work: () => void) => ((lookups = 0), work(), lookups);
  return {
    clock,
    journals,
    fenced,
    leases,
    lookupsOf,
    renew: (node: string, text: string) => journals.heard(lease(node, text)),
  };
}

type Stage = ReturnType<typeof stage>;

it("nothing free is given until the last that is known has spoken, or its time is over", async () => {
  const none = writeJournalSlices([]);
  const { journals, renew } = stage({ a: none, b: none });
  expect([journals.isWhole, renew("a", none), journals.isWhole]).toEqual([false, false, false]);
  expect(journals.obstacle).toContain("1 of the nodes");
  expect([renew("b", none), journals.isWhole, journals.obstacle]).toEqual([true, true, ""]);
  const other = stage({ a: none });
  await other.clock.advance(80_021);
  expect(other.journals.isWhole).toBe(true);
});

it("a restore that one has noticed is waited out, for nodes of which nobody knows", async () => {
  const { journals, renew, clock } = stage({ a: writeJournalSlices([]) });
  await clock.advance(60_000);
  expect([renew("a", writeJournalSlices([], true)), journals.isWhole]).toEqual([false, false]);
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
    made.renew("a", writeJournalSlices([], true));
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
  const { journals } = stage({ a: text }, { known: ["kube-system/blue-a-10.0.0.16-28"] });
  expect([...journals.forgotten()].map(({ node, block, pool }) => `${node} ${block} ${pool}`)).toEqual([
    "a 10.0.0.0/28 kube-system/blue",
  ]);
  expect(journals.within(place).map(({ first, last }) => `${first}-${last}`)).toEqual(["10.0.0.0-10.0.0.15"]);
  expect(journals.within({ ...place, network: "red" })).toEqual([]);
  const { journals: spoilt, renew } = stage({ a: "{" });
  renew("a", "{");
  expect(spoilt.obstacle).toContain("Node a has more slices");
});

it("the slices of a pool are read as often for a hundred that are lost as for one", () => {
  const named = (count: number) => writeJournalSlices(Array.from({ length: count }, (_, i) => slice(`10.0.0.${i}/32`)));
  const [one, hundred] = [1, 100].map((count) => {
    const { journals, lookupsOf } = stage({ a: named(count) });
    return lookupsOf(() => void journals.within(place));
  });
  expect(hundred).toBe(one);
});
