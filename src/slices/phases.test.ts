// How ranges open and close, as stories, and a model of daemons that work by what they have seen.
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";

import { noSlicedRanges, type SlicedRanges } from "../ledger/sliced-ranges.ts";
import { parsePrefix } from "../net/prefix.ts";
import { isSharedOver, nextSliced, type PhaseFacts, type PoolBlocks, type WantedRange } from "./phases.ts";

const place = { namespace: "kube-system", network: "blue", range: parsePrefix("10.0.0.0/24"), pool: "blue" };
const wanted: WantedRange = { ...place, wasNeverShared: false };
const blocks = (...texts: string[]): PoolBlocks => ({ ...place, blocks: texts.map((text) => parsePrefix(text)) });

function step(current: SlicedRanges, facts: Partial<PhaseFacts>) {
  return nextSliced({ current, wanted: [], pools: [], seen: [], isListed: false, ...facts });
}
const phases = ({ sliced }: { sliced: SlicedRanges }) => sliced.ranges.map(({ phase }) => phase);

describe("stories", () => {
  it("one that was never shared opens at once", () => {
    const next = step(noSlicedRanges, { wanted: [{ ...wanted, wasNeverShared: true }] });
    expect([next.sliced.version, phases(next)]).toEqual([1, ["open"]]);
  });

  it("one that was shared closes, waits for all that live, for the list, and opens", () => {
    const closing = step(noSlicedRanges, { wanted: [wanted], seen: [0, 0] });
    expect([closing.sliced.version, phases(closing)]).toEqual([1, ["closing"]]);
    const waits = [
      [1, 0],
      [1, undefined],
    ].map((seen) => step(closing.sliced, { wanted: [wanted], seen, isListed: true }));
    for (const each of waits) expect(each.sliced).toBe(closing.sliced);
    const asks = step(closing.sliced, { wanted: [wanted], seen: [1, 1] });
    expect([asks.sliced === closing.sliced, asks.needsList]).toEqual([true, true]);
    const open = step(closing.sliced, { wanted: [wanted], seen: [1, 1], isListed: true });
    expect([open.sliced.version, phases(open), open.needsList]).toEqual([2, ["open"], false]);
  });

  it("back to shared: what is still a slice is said until nothing is", () => {
    const open = step(noSlicedRanges, { wanted: [{ ...wanted, wasNeverShared: true }] }).sliced;
    const opening = step(open, { pools: [blocks("10.0.0.0/26", "10.0.0.64/26")] });
    expect(opening.sliced.ranges[0]).toMatchObject({
      phase: "opening",
      blocks: [parsePrefix("10.0.0.0/26"), parsePrefix("10.0.0.64/26")],
    });
    const fewer = step(opening.sliced, { pools: [blocks("10.0.0.64/26")] });
    expect(fewer.sliced.version).toBe(3);
    expect(step(fewer.sliced, { pools: [blocks()] }).sliced).toEqual({ version: 4, ranges: [] });
  });

  it("wanted again while it opens: it is closed first", () => {
    const opening = step(noSlicedRanges, { pools: [blocks("10.0.0.0/26")] });
    expect(phases(opening)).toEqual(["opening"]);
    const pools = [blocks("10.0.0.0/26")];
    expect(phases(step(opening.sliced, { wanted: [{ ...wanted, wasNeverShared: true }], pools }))).toEqual(["closing"]);
  });

  it("the state is an older one, restored: it gets a version that daemons have not seen, and nothing opens before they have", () => {
    const closing = step(noSlicedRanges, { wanted: [wanted], seen: [0, 0] }).sliced;
    const facts = { wanted: [wanted], isListed: true };
    const written = step(closing, { ...facts, seen: [57, 1] });
    expect([written.sliced.version, phases(written), written.needsList]).toEqual([58, ["closing"], false]);
    expect(phases(step(written.sliced, { ...facts, seen: [57, 58] }))).toEqual(["closing"]);
    expect(phases(step(written.sliced, { ...facts, seen: [58, 58] }))).toEqual(["open"]);
  });

  it("the state is lost: versions go on after what daemons have seen, and slices that are there are not shared", () => {
    const pools = [blocks("10.0.0.0/26")];
    const next = step(noSlicedRanges, { wanted: [{ ...wanted, wasNeverShared: true }], pools, seen: [7, 9] });
    expect([next.sliced.version, phases(next)]).toEqual([10, ["closing"]]);
    expect(phases(step(noSlicedRanges, { pools }))).toEqual(["opening"]);
  });

  it("a floating part that is named later is a change of its own", () => {
    const open = step(noSlicedRanges, { wanted: [{ ...wanted, wasNeverShared: true }] }).sliced;
    const floating = parsePrefix("10.0.0.128/25");
    const named = step(open, { wanted: [{ ...wanted, floating }] }).sliced;
    expect([named.version, named.ranges[0]?.floating]).toEqual([2, floating]);
    expect(step(named, { wanted: [{ ...wanted, floating }] }).sliced).toBe(named);
  });
});

test("a shared pool is over a range of the same namespace and network only", () => {
  const shared = { namespace: "kube-system", network: "blue", range: parsePrefix("10.0.0.128/25") };
  expect(isSharedOver(wanted, [shared])).toBe(true);
  expect(
    isSharedOver(wanted, [
      { ...shared, network: "" },
      { ...shared, namespace: "shop" },
    ]),
  ).toBe(false);
  expect(isSharedOver(wanted, [{ ...shared, range: parsePrefix("10.0.1.0/24") }])).toBe(false);
});

/**
 * Daemons work by the state that they saw last. Whatever happens in whatever order: while one may take from the range as a shared one,
 * no slice of it is granted. A slice is granted only while the leader's state is open, and stays until it is sealed.
 */
test("no daemon takes from a shared range while there is a slice in it", () => {
  const events = fc.constantFrom("want", "drop", "see 0", "see 1", "lead", "list", "grant", "seal", "lose the state");
  fc.assert(
    fc.property(fc.array(events, { minLength: 30, maxLength: 80, size: "max" }), (story) => {
      let current: SlicedRanges = noSlicedRanges;
      let isWanted = false;
      let hasSlice = false;
      let listedAt = -1;
      const seen: SlicedRanges[] = [noSlicedRanges, noSlicedRanges];
      const mayShare = ({ ranges: [entry] }: SlicedRanges) =>
        entry === undefined || (entry.phase === "opening" && entry.blocks.length === 0);
      for (const event of story) {
        if (event === "want") isWanted = true;
        if (event === "drop") isWanted = false;
        if (event === "see 0") seen[0] = current;
        if (event === "see 1") seen[1] = current;
        if (event === "list") listedAt = current.version;
        if (event === "grant" && current.ranges[0]?.phase === "open" && isWanted) hasSlice = true;
        if (event === "seal") hasSlice = false;
        if (event === "lose the state" && !hasSlice) current = noSlicedRanges;
        if (event === "lead") {
          const pools = [blocks(...(hasSlice ? ["10.0.0.0/26"] : []))];
          const versions = seen.map(({ version }) => version);
          const facts = {
            current,
            wanted: isWanted ? [wanted] : [],
            pools,
            seen: versions,
            isListed: listedAt === current.version,
          };
          current = nextSliced(facts).sliced;
        }
        if (hasSlice) for (const each of seen) expect(mayShare(each)).toBe(false);
      }
    }),
    { numRuns: 2000 },
  );
});
