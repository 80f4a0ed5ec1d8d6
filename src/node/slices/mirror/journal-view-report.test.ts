import fc from "fast-check";
import { expect, it } from "vitest";

import { writeAllocations } from "../../../api/pools/allocations.ts";
import { nodeWordAnnotation, readNodeWord, writeNodeWord } from "../../../api/slices/slice-grant.ts";
import type { Hold } from "../../../ipam/ledger.ts";
import type { JournalGrant } from "../../../ledger/journal/grant.ts";
import { parseAddress, plus } from "../../../net/address.ts";
import { IntervalSet } from "../../../net/interval-set.ts";
import { intervalOf } from "../../../net/interval.ts";
import { parsePrefix } from "../../../net/prefix.ts";
import { grantAround, showing, type Shown, wordOf } from "./journal-view.ts";

const range = "10.0.0.0/28";
const grant: JournalGrant = {
  key: "ns/a",
  domain: "slice:ns/net",
  namespace: "ns",
  network: "net",
  range: parsePrefix("10.0.0.0/24"),
  slice: parsePrefix(range),
  generation: 3,
  serial: 5,
  phase: "active",
  without: [],
  taken: [],
  sealed: false,
  moved: [parseAddress("10.0.0.9")],
};
const facts = { journal: "j", grant, used: 2, free: IntervalSet.of([intervalOf(grant.slice)]), short: 0 };

it("says what the journal works by, and reads back", () => {
  const word = wordOf({ ...facts, grant: { ...grant, gives: { ask: 7, block: parsePrefix("10.0.0.8/29") } } });
  expect(readNodeWord({ annotations: { [nodeWordAnnotation]: writeNodeWord(word) } })).toEqual({
    journal: "j",
    generation: 3,
    serial: 5,
    sealed: false,
    moved: ["10.0.0.9"],
    gives: { ask: 7, block: "10.0.0.8/29" },
    used: 2,
    free: 16,
    short: 0,
  });
});

it("counts no more than JSON can say", () => {
  const wide = IntervalSet.of([intervalOf(parsePrefix("fd00::/64"))]);
  expect(wordOf({ ...facts, free: wide }).free).toBe(Number.MAX_SAFE_INTEGER);
});

it("an address is of the narrowest grant around it", () => {
  const piece = { ...grant, key: "ns/b", slice: parsePrefix("10.0.0.8/30") };
  const other = { ...grant, key: "ns/c", domain: "slice:ns/other", slice: parsePrefix("10.0.0.8/32") };
  const sealed = { ...grant, key: "ns/d", sealed: true, slice: parsePrefix("10.0.0.9/32") };
  const at = (text: string) =>
    grantAround([sealed, grant, piece, other], { domain: grant.domain, address: parseAddress(text) });
  expect([at("10.0.0.9")?.key, at("10.0.0.1")?.key, at("10.0.1.1")?.key, at("fd00::1")?.key]).toEqual([
    "ns/b",
    "ns/a",
    undefined,
    undefined,
  ]);
});

const owner = fc.record({
  kind: fc.constant("pod" as const),
  uid: fc.constantFrom("", "u1", "u2"),
  namespace: fc.constant("ns"),
  name: fc.constantFrom("a", "b"),
  interface: fc.constantFrom("net1", "net2"),
  containerId: fc.constantFrom("c1", "c2"),
});
const held = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 0, max: 15 }), owner), { selector: ([offset]) => offset, maxLength: 16 })
  .map((each) =>
    each.map(([offset, who]): Hold => ({
      domain: grant.domain,
      address: plus(grant.slice.first, offset)!,
      owner: who,
      version: "1",
    })),
  );

it("the patch brings any object to the holds and the word, and a second one is not needed", () => {
  fc.assert(
    fc.property(held, held, fc.boolean(), (before, after, hasStray) => {
      const stray = hasStray ? { "not an offset": { id: "x", podref: "y" } } : {};
      const present: Shown = {
        metadata: { annotations: { other: "kept" } },
        spec: { range, allocations: { ...writeAllocations(range, before), ...stray } },
      };
      const word = wordOf(facts);
      const patched = merged(present, showing(present, after, word)!) as Shown;
      expect(patched.spec.allocations).toEqual({ ...writeAllocations(range, after), ...stray });
      expect(patched.metadata.annotations).toEqual({ other: "kept", [nodeWordAnnotation]: writeNodeWord(word) });
      expect(showing(patched, after, word)).toBeUndefined();
    }),
  );
});

/** RFC 7386, section 2. */
function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null) return patch;
  const result: Record<string, unknown> = { ...(typeof target === "object" ? target : {}) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}
