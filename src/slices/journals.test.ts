// Who is waited for before a free block is given, and what only a journal has.
import { expect, it } from "vitest";

import { journalAnnotation, leaseNodeAnnotation, nodeLeaseName, writeJournalSlices } from "../api/node-lease.ts";
import { ManualClock } from "../kube/manual-clock.ts";
import { parsePrefix } from "../net/prefix.ts";
import { Journals } from "./journals.ts";
import type { SliceWorld } from "./world.ts";

const range = parsePrefix("10.0.0.0/24");
const place = { namespace: "kube-system", network: "blue", range };
const slice = (block: string) => ["kube-system", "blue", "10.0.0.0/24", "blue", block] as const;

function stage(texts: Record<string, string>, known: readonly string[] = []) {
  const clock = new ManualClock();
  let renewals = 0;
  const lease = (node: string, text: string) => ({
    metadata: { name: nodeLeaseName(node), annotations: { [leaseNodeAnnotation]: node, [journalAnnotation]: text } },
    spec: { renewTime: String((renewals += 1)) },
  });
  const leases = new Map(Object.entries(texts).map(([node, text]) => [node, lease(node, text)]));
  const objects = { get: (key: string) => (known.includes(key) ? {} : undefined), byIndex: () => [] };
  const world = {
    leases: { list: () => leases.values(), size: leases.size },
    slices: objects,
    pools: { get: () => undefined },
  };
  const journals = new Journals({
    world: world as unknown as SliceWorld,
    presence: { isFresh: () => true, fenced: () => undefined },
    clock,
  });
  journals.begin();
  return { clock, journals, renew: (node: string, text: string) => journals.heard(lease(node, text)) };
}

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

it("what has no object is some node's still, and what a Lease does not name keeps all back", () => {
  const text = writeJournalSlices([slice("10.0.0.0/28"), slice("10.0.0.16/28")]);
  const { journals } = stage({ a: text }, ["kube-system/blue-a-10.0.0.16-28"]);
  expect([...journals.forgotten()].map(({ node, block, pool }) => `${node} ${block} ${pool}`)).toEqual([
    "a 10.0.0.0/28 kube-system/blue",
  ]);
  expect(journals.within(place).map(({ first, last }) => `${first}-${last}`)).toEqual(["10.0.0.0-10.0.0.15"]);
  expect(journals.within({ ...place, network: "red" })).toEqual([]);
  const { journals: spoilt, renew } = stage({ a: "{" });
  renew("a", "{");
  expect(spoilt.obstacle).toContain("Node a has more slices");
});
