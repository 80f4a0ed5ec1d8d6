// Who counts as off, as stories and against an oracle.
import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";

import { nodeLeaseName } from "../api/slices/node-lease.ts";
import type { Lease } from "../kube/lease.ts";
import * as fencing from "./fencing.ts";
import { defaultRules, fencedWhy, freshMs, type NodeSigns, nodeOfLease, noteOn, standingOf } from "./fencing.ts";
import type { Node } from "./resources.ts";

const [minuteMs, hourMs] = [60_000, 3_600_000];
const nowMs = Date.UTC(2026, 0, 10);
const renewTime = "2026-01-01T00:00:00.000000Z";
const taint = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute" };

function node(ready: string, ...taints: { key: string; effect: string }[]): Node {
  return { metadata: { name: "n" }, spec: { taints }, status: { conditions: [{ type: "Ready", status: ready }] } };
}

interface Said {
  readonly goneHours?: number;
  readonly off?: string;
  readonly renewed?: string;
  readonly authorityHours?: number;
}

/** What is noted was noted when `renewTime` stood on it. */
function lease({ goneHours, off, renewed = renewTime, authorityHours = 12 }: Said = {}): Lease {
  const before: Lease = { metadata: { name: nodeLeaseName("n") }, spec: { renewTime } };
  const since = goneHours === undefined ? undefined : new Date(nowMs - goneHours * hourMs).toISOString();
  return {
    metadata: {
      ...before.metadata,
      annotations: {
        ...(since !== undefined && { [fencing.goneSinceAnnotation]: noteOn(before, since) }),
        ...(off !== undefined && { [fencing.offAnnotation]: noteOn(before, off) }),
      },
    },
    spec: { renewTime: renewed, leaseDurationSeconds: authorityHours * 3600 },
  };
}

const signs = (parts: Partial<NodeSigns>): NodeSigns => ({
  node: undefined,
  lease: lease(),
  silentMs: 5 * minuteMs,
  isAlone: false,
  wallMs: nowMs,
  ...parts,
});
const cloud = { ...defaultRules, deletionFences: true };

test.each<[string, Partial<NodeSigns>, fencing.FenceRules, "fenced" | "not"]>([
  ["silent, and nobody says more", { node: node("Unknown") }, defaultRules, "not"],
  ["silent for a month, and nobody says more", { node: node("Unknown"), silentMs: 720 * hourMs }, defaultRules, "not"],
  ["tainted and silent", { node: node("Unknown", taint) }, defaultRules, "fenced"],
  ["tainted, its daemon heard a second ago", { node: node("Unknown", taint), silentMs: 1000 }, defaultRules, "not"],
  ["tainted, silent but for a second", { node: node("Unknown", taint), silentMs: 299_999 }, defaultRules, "not"],
  ["tainted, but its kubelet reports", { node: node("True", taint) }, defaultRules, "not"],
  ["another taint", { node: node("Unknown", { ...taint, key: "unreachable" }) }, defaultRules, "not"],
  ["declared off and silent", { node: node("Unknown"), lease: lease({ off: "jo" }) }, defaultRules, "fenced"],
  ["declared off, no Node", { lease: lease({ off: "jo" }) }, defaultRules, "fenced"],
  ["declared off, and heard", { lease: lease({ off: "jo" }), silentMs: 1000 }, defaultRules, "not"],
  ["declared off, and renewed since", { lease: lease({ off: "jo", renewed: "later" }) }, defaultRules, "not"],
  ["declared off, but its kubelet reports", { node: node("True"), lease: lease({ off: "jo" }) }, defaultRules, "not"],
  ["deleted and silent", {}, defaultRules, "not"],
  ["deleted, where a deletion fences", {}, cloud, "fenced"],
  ["deleted, where a deletion fences, its daemon heard", { silentMs: 1000 }, cloud, "not"],
  ["deleted, noted 23 hours ago", { lease: lease({ goneHours: 23 }) }, defaultRules, "not"],
  ["deleted, noted a day ago", { lease: lease({ goneHours: 24 }) }, defaultRules, "fenced"],
  ["noted a day ago, and heard", { lease: lease({ goneHours: 24 }), silentMs: 1000 }, defaultRules, "not"],
  ["noted, and renewed since", { lease: lease({ goneHours: 48, renewed: "later" }) }, defaultRules, "not"],
  ["a daemon with more authority", { lease: lease({ goneHours: 30, authorityHours: 24 }) }, defaultRules, "not"],
  ["no Lease, listened to for 23 hours", { lease: undefined, silentMs: 23 * hourMs }, defaultRules, "not"],
  ["no Lease, listened to for a day", { lease: undefined, silentMs: 24 * hourMs }, defaultRules, "fenced"],
  [
    "no Lease and a short quarantine: twice the usual authority",
    { lease: undefined, silentMs: 23 * hourMs },
    { ...defaultRules, quarantineMs: hourMs },
    "not",
  ],
])("%s", (_about, parts, rules, expected) => {
  expect(fencedWhy(signs(parts), rules) === undefined ? "not" : "fenced").toBe(expected);
});

describe("the standing", () => {
  it("ready, unreachable, fenced", () => {
    const of = (parts: Partial<NodeSigns>) => standingOf(signs(parts), defaultRules);
    expect([of({ node: node("True") }), of({ node: node("Unknown") }), of({ node: node("Unknown", taint) })]).toEqual([
      "ready",
      "unreachable",
      "fenced",
    ]);
  });

  it("a machine of its own, without any Node, is ready while its daemon is heard", () => {
    const of = (parts: Partial<NodeSigns>) => standingOf(signs({ isAlone: true, ...parts }), defaultRules);
    expect([of({ silentMs: freshMs - 1 }), of({ silentMs: freshMs }), of({ silentMs: 0, lease: undefined })]).toEqual([
      "ready",
      "unreachable",
      "unreachable",
    ]);
  });

  it("a deletion that was seen counts for what its pods held after five minutes of silence since, and not for its slices", () => {
    const of = (parts: Partial<NodeSigns>) => standingOf(signs(parts), defaultRules);
    const long = { silentMs: hourMs, deletedMs: hourMs };
    expect(of(long)).toBe("fenced");
    expect(fencedWhy(signs(long), defaultRules)).toBeUndefined();
    expect(of({ ...long, deletedMs: 299_999 })).toBe("unreachable");
    expect(of({ ...long, silentMs: 299_999 })).toBe("unreachable");
    expect(of({ silentMs: hourMs })).toBe("unreachable");
    expect([of({ ...long, node: node("Unknown") }), of({ ...long, node: node("True") })]).toEqual([
      "unreachable",
      "ready",
    ]);
  });

  it("by the leader's note alone only the whole quarantine counts", () => {
    const of = (its: Lease | undefined, object?: Node) =>
      fencing.standingByNote({ node: object, lease: its, isAlone: false, wallMs: nowMs });
    expect(of(lease({ goneHours: 24 }))).toBe("fenced");
    expect([of(lease({ off: "jo" })), of(undefined), of(lease(), node("Unknown", taint))]).toEqual([
      "unreachable",
      "unreachable",
      "unreachable",
    ]);
  });
});

describe("an oracle that knows the machine", () => {
  /** A living machine: renews every minute while it reaches the server; hands out for its authority otherwise. */
  const story = fc.record({
    heardMs: fc.integer({ min: 0, max: 60 * hourMs }),
    isTainted: fc.boolean(),
    isDeleted: fc.boolean(),
    isOff: fc.boolean(),
    deletionFences: fc.boolean(),
    notedMs: fc.option(fc.integer({ min: 0, max: 60 * hourMs })),
  });

  it("nobody is fenced who was heard within five minutes, nor on silence alone, nor within twice its authority on a deletion alone", () => {
    fc.assert(
      fc.property(story, ({ heardMs, isTainted, isDeleted, isOff, deletionFences, notedMs }) => {
        const isNoted = notedMs !== null && notedMs <= heardMs;
        const its = lease({ ...(isNoted && { goneHours: notedMs / hourMs }), ...(isOff && { off: "jo" }) });
        const object = isDeleted ? undefined : node("Unknown", ...(isTainted ? [taint] : []));
        const given = signs({ node: object, lease: its, silentMs: heardMs });
        if (fencedWhy(given, { ...defaultRules, deletionFences }) === undefined) return;
        expect(heardMs).toBeGreaterThanOrEqual(5 * minuteMs);
        expect(isOff || isDeleted || isTainted).toBe(true);
        const isVouched = isOff || (isDeleted ? deletionFences : isTainted);
        if (!isVouched) expect(heardMs).toBeGreaterThanOrEqual(24 * hourMs - 1);
      }),
      { numRuns: 2000 },
    );
  });

  it("who stays off is fenced at last", () => {
    fc.assert(
      fc.property(fc.constantFrom("taint", "deleted", "off"), fc.nat({ max: 12 }), (why, authorityHours) => {
        const its = lease({ authorityHours, ...(why === "off" && { off: "jo" }) });
        const object = why === "deleted" ? undefined : node("False", ...(why === "taint" ? [taint] : []));
        expect(fencedWhy(signs({ node: object, lease: its, silentMs: 24 * hourMs }), defaultRules)).toBeDefined();
      }),
    );
  });
});

describe("a Lease", () => {
  it("is a node's only under the node's name", () => {
    const named = (name: string) => nodeOfLease({ metadata: { name, annotations: { "holdfast.io/node": "n" } } });
    expect([named(nodeLeaseName("n")), named("kube-scheduler")]).toEqual(["n", undefined]);
  });

  it("tells since when its node is gone, to the next leader too", () => {
    const note = (its: Lease | undefined) => noteOn(its, new Date(nowMs).toISOString());
    const noted = { ...lease(), metadata: { annotations: { [fencing.goneSinceAnnotation]: note(lease()) } } };
    expect(fencing.goneSinceMs(noted)).toBe(nowMs);
    expect(fencing.goneSinceMs({ ...noted, spec: { renewTime: "later" } })).toBeUndefined();
    const never = { metadata: { annotations: { [fencing.goneSinceAnnotation]: note(undefined) } } };
    expect(fencing.goneSinceMs(never)).toBe(nowMs);
    expect(
      fencing.goneSinceMs({ metadata: { annotations: { [fencing.goneSinceAnnotation]: "by hand" } } }),
    ).toBeUndefined();
  });
});
