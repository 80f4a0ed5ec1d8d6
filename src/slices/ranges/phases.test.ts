// How ranges open and close, as stories, and a model of daemons that work by the state they have seen.
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";

import { noSlicedRanges, type SlicedPhase, type SlicedRanges } from "../../cluster/sliced-ranges.ts";
import { parsePrefix } from "../../net/prefix.ts";
import {
  isSharedOver,
  keyOf,
  nextSliced,
  type PhaseFacts,
  type PoolBlocks,
  toldAgain,
  type WantedRange,
} from "./phases.ts";

const place = { namespace: "kube-system", network: "blue", range: parsePrefix("10.0.0.0/24"), pool: "blue" };
const wanted: WantedRange = { ...place, wasNeverShared: false };
const pool = (phase: SlicedPhase | undefined, ...texts: string[]): PoolBlocks => ({
  ...place,
  phase,
  blocks: texts.map((text) => parsePrefix(text)),
});

function step(told: SlicedRanges | undefined, facts: Partial<PhaseFacts>) {
  return nextSliced({ told, wanted: [], pools: [], seen: [], isListed: false, ...facts });
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
    const opening = step(open, { pools: [pool("open", "10.0.0.0/26", "10.0.0.64/26")] });
    expect(opening.sliced.ranges[0]).toMatchObject({
      phase: "opening",
      blocks: [parsePrefix("10.0.0.0/26"), parsePrefix("10.0.0.64/26")],
    });
    const fewer = step(opening.sliced, { pools: [pool("opening", "10.0.0.64/26")] });
    expect(fewer.sliced.version).toBe(3);
    expect(step(fewer.sliced, { pools: [pool("opening")] }).sliced).toEqual({ version: 4, ranges: [] });
  });

  it("without its arbiter on record nothing new is told: it stays as it was told, and is closed where nothing was", () => {
    const key = keyOf(place);
    const unsettled = new Set([key]);
    const open = step(noSlicedRanges, { wanted: [{ ...wanted, wasNeverShared: true }] }).sliced;
    const pools = [pool("open", "10.0.0.0/26")];
    expect(step(open, { pools, unsettled }).sliced).toBe(open);
    expect(phases(step(undefined, { pools, unsettled }))).toEqual(["closing"]);
    expect(phases(step(undefined, { pools }))).toEqual(["opening"]);
    const floating = parsePrefix("10.0.0.192/26");
    const parted = { wanted: [{ ...wanted, floating }], pools: [pool("open")] };
    expect(step(open, { ...parted, unsettled }).sliced).toBe(open);
    expect(step(open, parted).sliced.ranges[0]).toMatchObject({ phase: "open", floating });
  });

  it("wanted again while it opens: it is closed first", () => {
    const opening = step(noSlicedRanges, { pools: [pool("open", "10.0.0.0/26")] });
    expect(phases(opening)).toEqual(["opening"]);
    const pools = [pool("opening", "10.0.0.0/26")];
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

  it.each<[string, SlicedPhase | undefined, string[], string]>([
    ["it was open, and is again, with nothing drained", "open", ["10.0.0.0/26"], "open"],
    ["it was open before anybody had a slice", "open", [], "open"],
    ["it was closing: all must see it again", "closing", [], "closing"],
    ["it was opening: it is closed first", "opening", ["10.0.0.0/26"], "closing"],
    ["nobody knows, and there are slices: it is closed first", undefined, ["10.0.0.0/26"], "closing"],
  ])("the state is lost: %s", (_, phase, blocks, expected) => {
    const pools = [pool(phase, ...blocks)];
    const next = step(undefined, { wanted: [wanted], pools, seen: [7, 9], isListed: true });
    expect([next.sliced.version, phases(next)]).toEqual([10, [expected]]);
    const unwanted = step(undefined, { pools, seen: [7, 9] });
    expect(phases(unwanted)).toEqual(blocks.length === 0 ? [] : ["opening"]);
    const again = toldAgain({ told: undefined, pools, seen: [7, 9] });
    expect(again).toMatchObject({ version: 10, ranges: phase === undefined ? [] : [{ phase }] });
  });

  it("a phase that is on record and was not told yet: nobody has seen it, and what was to open is looked at again", () => {
    const told: SlicedRanges = { version: 4, ranges: [] };
    const facts = { wanted: [wanted], seen: [4, 4], isListed: true };
    for (const phase of ["closing", "open"] as const) {
      const next = step(told, { ...facts, pools: [pool(phase)] });
      expect([next.sliced.version, phases(next)]).toEqual([5, ["closing"]]);
    }
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
 * Daemons work by the state that they saw last, and share nothing while it is gone or older than that. Whatever happens
 * in any order (state deleted, leader killed between its writes, pool deleted by a slip): while a daemon may take from
 * the range as shared, no slice of it is granted. A grant needs the told phase open, and stays until sealed.
 */
test("no daemon takes from a shared range while there is a slice in it", () => {
  const events = fc.constantFrom(
    "want",
    "drop",
    "see 0",
    "see 1",
    "lead",
    "lead and die",
    "list",
    "grant",
    "seal",
    "lose the state",
    "lose the pool",
  );
  fc.assert(
    fc.property(fc.array(events, { minLength: 30, maxLength: 80, size: "max" }), (story) => {
      let told: SlicedRanges | undefined = noSlicedRanges;
      let recorded: SlicedPhase | undefined;
      let isWanted = false;
      let hasSlice = false;
      let listedAt = -1;
      const daemons = [noSlicedRanges, noSlicedRanges].map((seen) => ({ seen, isKnown: true }));
      const mayShare = ({ seen: { ranges }, isKnown }: (typeof daemons)[number]) =>
        isKnown && (ranges.length === 0 || (ranges[0]!.phase === "opening" && ranges[0]!.blocks.length === 0));
      const see = (daemon: (typeof daemons)[number]) => {
        daemon.isKnown = told !== undefined && told.version >= daemon.seen.version;
        if (daemon.isKnown) daemon.seen = told!;
      };
      for (const event of story) {
        if (event === "want") isWanted = true;
        if (event === "drop") isWanted = false;
        if (event === "see 0") see(daemons[0]!);
        if (event === "see 1") see(daemons[1]!);
        if (event === "list") listedAt = told?.version ?? -1;
        if (event === "grant" && told?.ranges[0]?.phase === "open" && isWanted) hasSlice = true;
        if (event === "seal") hasSlice = false;
        if (event === "lose the state") told = undefined;
        if (event === "lose the pool") recorded = undefined;
        if (event.startsWith("lead")) {
          const lost = hasSlice ? (isWanted ? "closing" : "opening") : undefined;
          const next = nextSliced({
            told,
            wanted: isWanted ? [wanted] : [],
            pools: [pool(recorded ?? lost, ...(hasSlice ? ["10.0.0.0/26"] : []))],
            seen: daemons.map(({ seen }) => seen.version),
            isListed: told !== undefined && listedAt === told.version,
          });
          recorded = next.sliced.ranges[0]?.phase ?? (hasSlice ? recorded : undefined);
          if (event === "lead") told = next.sliced;
        }
        if (hasSlice) for (const each of daemons) expect(mayShare(each)).toBe(false);
      }
    }),
    { numRuns: 5000 },
  );
});
