// A node's decisions on a slice, as stories: the journal, the API server, what follows.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { NodeSlicePool } from "../../../api/slices/node-slice-pool.ts";
import { grantAnnotation, nodeWordAnnotation, writeNodeWord } from "../../../api/slices/slice-grant.ts";
import { type JournalGrant, usableOf } from "../../../ledger/journal/grant.ts";
import { parseAddress } from "../../../net/address.ts";
import { difference } from "../../../net/interval-set.ts";
import { parseBlock } from "../../../net/interval.ts";
import { parsePrefix } from "../../../net/prefix.ts";
import { judgeAbsence, judgeObject } from "./judge-grant.ts";
import { readSliceObject } from "./slice-object.ts";

const known: JournalGrant = {
  key: "ns/net-n1-10.0.0.0-26",
  domain: "slice:ns/net",
  namespace: "ns",
  network: "net",
  range: parsePrefix("10.0.0.0/24"),
  slice: parsePrefix("10.0.0.0/26"),
  generation: 4,
  serial: 7,
  phase: "active",
  without: [],
  taken: [],
  sealed: false,
  moved: [],
};
const block = parsePrefix("10.0.0.48/28");
const gives = { ask: 2, block };
const lend = { ask: 2, addresses: 16 };
const word = { journal: "before", generation: 4, serial: 7, sealed: false, moved: [], used: 0, free: 0, short: 0 };

function object(annotations: Record<string, string | object>, node = "n1") {
  const texts = Object.entries(annotations).map(([key, value]) => [
    key,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return readSliceObject({
    apiVersion: "whereabouts.cni.cncf.io/v1alpha1",
    kind: "IPPool",
    metadata: {
      namespace: "ns",
      name: "net-n1-10.0.0.0-26",
      annotations: {
        "holdfast.io/node": node,
        "holdfast.io/network-name": "net",
        "holdfast.io/slice-pool": "net",
        "holdfast.io/sliced-range": "10.0.0.0/24",
        ...Object.fromEntries(texts),
      },
    },
    spec: { range: "10.0.0.0/26", allocations: {} },
  })!;
}
const granted = (grant: object, more: Record<string, string> = {}) =>
  object({ [grantAnnotation]: { generation: 4, serial: 7, phase: "active", ...grant }, ...more });
const said = (more: object) => ({ [nodeWordAnnotation]: writeNodeWord({ ...word, ...more }) });

describe("the journal does not know it", () => {
  it.each([
    ["a grant is taken", granted({}), { kind: "accept", grant: known }],
    [
      "another node's is not",
      object({ [grantAnnotation]: { generation: 4, serial: 7, phase: "active" } }, "n2"),
      { kind: "nothing" },
    ],
    ["one that whereabouts made, without a grant, is not", object({}), { kind: "nothing" }],
    ["one with a block that cannot be read is not", granted({ without: ["10.0.0.48/2x"] }), { kind: "nothing" }],
    ["one with a block outside is not", granted({ without: ["10.0.1.0/28"] }), { kind: "nothing" }],
    ["one with a taken address that cannot be read is not", granted({ taken: ["10.0.0"] }), { kind: "nothing" }],
    [
      "what the journal before it sealed stays sealed",
      granted({}, said({ sealed: true, moved: ["10.0.0.9"] })),
      { kind: "accept", grant: { ...known, sealed: true, moved: [parseAddress("10.0.0.9")] } },
    ],
    [
      "what it sealed of an earlier grant does not count",
      granted({}, said({ sealed: true, generation: 3 })),
      { kind: "accept", grant: known },
    ],
    [
      "what it gave up stays given up",
      granted({ lend }, said({ gives: { ask: 2, block: String(block) } })),
      { kind: "accept", grant: { ...known, gives } },
    ],
    [
      "what it gave up to an ask that is over, too: the controller may have taken it before a restore",
      granted({}, said({ gives: { ask: 2, block: String(block) } })),
      { kind: "accept", grant: { ...known, gives } },
    ],
  ])("%s", (_, slice, expected) => {
    expect(judgeObject("n1", slice, undefined)).toEqual(expected);
  });
});

describe("the journal knows it", () => {
  const taken = [parseBlock("10.0.0.1-10.0.0.2")];
  it.each([
    ["nothing changed", known, granted({}), { kind: "nothing" }],
    [
      "a newer serial",
      known,
      granted({ serial: 8, taken: ["10.0.0.1-10.0.0.2"] }),
      { kind: "change", grant: { ...known, serial: 8, taken } },
    ],
    [
      "an older serial, from an older copy of etcd",
      { ...known, without: [block] },
      granted({ serial: 6, phase: "draining", without: [String(block)], taken: ["10.0.0.1"] }),
      { kind: "nothing" },
    ],
    [
      "an older copy that does not know what was lent: it is told again",
      { ...known, without: [block] },
      granted({ serial: 6 }),
      { kind: "change", grant: { ...known, without: [block], gives: { ask: 6, block } } },
    ],
    [
      "a newer serial after a restore that does not know it: it stays lent",
      { ...known, without: [block] },
      granted({ serial: 8 }),
      { kind: "change", grant: { ...known, serial: 8, without: [block], gives: { ask: 8, block } } },
    ],
    [
      "what was told again is left out",
      { ...known, without: [block], gives: { ask: 6, block } },
      granted({ serial: 8, without: [String(block)] }),
      { kind: "change", grant: { ...known, serial: 8, without: [block] } },
    ],
    [
      "an older generation",
      known,
      granted({ generation: 3 }),
      { kind: "hold-back", grant: { ...known, phase: "returning" } },
    ],
    [
      "an older generation, held back already",
      { ...known, phase: "returning" as const },
      granted({ generation: 3 }),
      { kind: "nothing" },
    ],
    [
      "a newer generation without a seal in between, by a controller that does not know what was lent and moved",
      { ...known, without: [block], moved: [parseAddress("10.0.0.9")] },
      granted({ generation: 5, serial: 1 }),
      {
        kind: "accept",
        grant: { ...known, generation: 5, serial: 1, without: [block], moved: [parseAddress("10.0.0.9")] },
      },
    ],
    [
      "a newer generation after a seal is a grant of its own",
      { ...known, sealed: true, without: [block] },
      granted({ generation: 5, serial: 1 }),
      { kind: "accept", grant: { ...known, generation: 5, serial: 1 } },
    ],
    ["another's", known, object({}, "n2"), { kind: "drop" }],
    ["no grant", known, object({}), { kind: "hold-back", grant: { ...known, phase: "returning" } }],
    [
      "held back, and the grant is there again",
      { ...known, phase: "returning" as const },
      granted({}),
      { kind: "change", grant: known },
    ],
    [
      "returning",
      known,
      granted({ serial: 8, phase: "returning" }),
      { kind: "change", grant: { ...known, serial: 8, phase: "returning" } },
    ],
    [
      "in use again",
      { ...known, phase: "returning" as const },
      granted({ serial: 9 }),
      { kind: "change", grant: { ...known, serial: 9 } },
    ],
    [
      "sealed, and in use again: it stays sealed",
      { ...known, sealed: true },
      granted({ serial: 9 }),
      { kind: "change", grant: { ...known, serial: 9, sealed: true } },
    ],
    ["a piece is asked for: that is for another step", known, granted({ serial: 7, lend }), { kind: "nothing" }],
    ["a piece is given up, and the ask stands", { ...known, gives }, granted({ lend }), { kind: "nothing" }],
    [
      "the piece is lent",
      { ...known, gives },
      granted({ serial: 8, without: [String(block)] }),
      { kind: "change", grant: { ...known, serial: 8, without: [block] } },
    ],
    [
      "the ask is gone, and the piece was not lent: it is given up all the same",
      { ...known, gives },
      granted({ serial: 8 }),
      { kind: "change", grant: { ...known, serial: 8, gives } },
    ],
    [
      "another ask",
      { ...known, gives },
      granted({ serial: 8, lend: { ask: 3, addresses: 4 } }),
      { kind: "change", grant: { ...known, serial: 8, gives } },
    ],
  ])("%s", (_, journal, slice, expected) => {
    expect(judgeObject("n1", slice, journal)).toMatchObject(expected);
    const decision = judgeObject("n1", slice, journal);
    if (decision.kind === "change")
      expect("gives" in decision.grant).toBe("gives" in (expected as { grant: object }).grant);
  });
});

it("a grant of a generation that the journal has dropped since is of a restored copy: it is sealed, not handed out of", () => {
  const sealed = { kind: "accept", grant: { ...known, sealed: true } };
  expect(judgeObject("n1", granted({}), undefined, 4)).toEqual(sealed);
  expect(judgeObject("n1", granted({}), undefined, 3)).toEqual({ kind: "accept", grant: known });
  expect(judgeObject("n1", granted({}), known, 4)).toEqual({ kind: "nothing" });
  // Its holds in it may be in use.
  expect(judgeObject("n1", granted({}), { ...known, generation: 3 }, 4)).toMatchObject({ grant: { sealed: false } });
});

describe("the object is gone", () => {
  const pool = (lastGeneration: number, ...allocations: [string, string][]): Pick<NodeSlicePool, "status"> => ({
    status: { lastGeneration, allocations: allocations.map(([nodeName, sliceRange]) => ({ nodeName, sliceRange })) },
  });
  it.each([
    ["it was sealed", { ...known, sealed: true }, pool(4, ["n1", "10.0.0.0/26"]), "drop"],
    ["it is still assigned to this node: a hand deleted it", known, pool(9, ["n1", "10.0.0.0/26"]), "make-again"],
    ["it is another's", known, pool(9, ["n2", "10.0.0.0/26"]), "drop"],
    ["a part of it is another's", known, pool(9, ["n2", "10.0.0.0/28"]), "drop"],
    ["it is inside another's", known, pool(4, ["n2", "10.0.0.0/25"]), "drop"],
    ["a restored status gives it to whom it was before", known, pool(3, ["n2", "10.0.0.0/26"]), "make-again"],
    ["a restored status does not know that it was lent", known, pool(3, ["n2", "10.0.0.0/25"]), "make-again"],
    [
      "a piece of the lender's slice that is this node's",
      { ...known, slice: block },
      pool(9, ["n2", "10.0.0.0/26"], ["n1", String(block)]),
      "make-again",
    ],
    [
      "the piece that it lent is another's, as it should be",
      { ...known, without: [block] },
      pool(3, ["n2", String(block)]),
      "make-again",
    ],
    ["the controller let it go", known, pool(4), "drop"],
    ["the controller has forgotten the grant: etcd was restored", known, pool(3), "make-again"],
    ["the pool is gone too", known, undefined, "make-again"],
  ] as const)("%s", (_, journal, found, expected) => {
    expect(judgeAbsence("n1", journal, found)).toBe(expected);
  });
});

const phase = fc.constantFrom("active" as const, "returning" as const, "draining" as const);
const pieces = fc.subarray(["10.0.0.0/28", "10.0.0.16/28", "10.0.0.48/28"]);
const counts = { generation: fc.integer({ min: 3, max: 5 }), serial: fc.integer({ min: 6, max: 8 }), phase };
const ask = fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined });

it("nothing is widened by what is not newer, no seal is undone, and no piece that was given up comes back without one", () => {
  const journal = fc.record({ ...counts, without: pieces, sealed: fc.boolean(), ask });
  const shown = fc.record({ ...counts, without: pieces, ask });
  fc.assert(
    fc.property(journal, shown, ({ without, ask: given, ...rest }, { ask: asked, ...grant }) => {
      const before: JournalGrant = {
        ...known,
        ...rest,
        without: without.map((each) => parsePrefix(each)),
        ...(given !== undefined && { gives: { ask: given, block: parsePrefix("10.0.0.32/28") } }),
      };
      const lending = asked === undefined ? {} : { lend: { ask: asked, addresses: 16 } };
      const decision = judgeObject("n1", granted({ ...grant, ...lending }), before);
      const after = "grant" in decision ? decision.grant : before;
      const isNewGrant = grant.generation > before.generation;
      const isNewer = isNewGrant || (grant.generation === before.generation && grant.serial > before.serial);
      const isSame = grant.generation === before.generation && grant.serial === before.serial;
      // At the journal's serial, the contents are the same but for blocks that the node itself held back.
      if (!isNewer && !isSame) expect([...difference(usableOf([after]), usableOf([before]))]).toEqual([]);
      if (!isNewGrant && before.sealed) expect(after.sealed).toBe(true);
      const gone = [...before.without, ...(before.gives ? [before.gives.block] : [])];
      const isGoingOn = !isNewGrant || !before.sealed;
      if (isGoingOn) for (const { first } of gone) expect(usableOf([after]).has(first)).toBe(false);
      expect(decision.kind === "accept").toBe(isNewGrant);
    }),
    { numRuns: 2000 },
  );
});
