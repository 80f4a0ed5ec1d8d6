// Who lives, leaves, is gone or fenced.
import { describe, expect, it, test } from "vitest";

import { nodeLeaseName } from "../api/node-lease.ts";
import type { Lease } from "../kube/lease.ts";
import type { Node } from "../ledger/resources.ts";
import {
  freshMs,
  goneSinceAnnotation,
  goneSinceMs,
  goneSinceNote,
  nodeOfLease,
  nodeState,
  Renewals,
} from "./presence.ts";

const hourMs = 3_600_000;
const nowMs = Date.UTC(2026, 0, 10);
const renewTime = "2026-01-01T00:00:00.000000Z";
const taint = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute" };

function node(ready: string, ...taints: { key: string; effect: string }[]): Node {
  return { metadata: { name: "n" }, spec: { taints }, status: { conditions: [{ type: "Ready", status: ready }] } };
}

function lease(goneHours?: number, spec: object = {}): Lease {
  const since = goneHours === undefined ? undefined : new Date(nowMs - goneHours * hourMs).toISOString();
  const annotations = since === undefined ? {} : { [goneSinceAnnotation]: `${renewTime} ${since}` };
  return {
    metadata: { name: nodeLeaseName("n"), annotations },
    spec: { renewTime, leaseDurationSeconds: 12 * 3600, ...spec },
  };
}

const rules = { quarantineMs: 24 * hourMs, deletionFences: false };

test.each<[string, Node | undefined, Lease | undefined, boolean, boolean, string]>([
  ["a Node with a daemon", node("True"), lease(), true, false, "present"],
  ["a Node whose daemon is silent", node("True"), lease(), false, false, "present"],
  ["a Node that died long ago", node("Unknown"), lease(100), false, false, "present"],
  ["tainted and off", node("Unknown", taint), lease(), false, false, "present fenced"],
  ["tainted, but Ready", node("True", taint), lease(), true, false, "present"],
  [
    "another taint",
    node("Unknown", { key: "node.kubernetes.io/unreachable", effect: "NoExecute" }),
    lease(),
    false,
    false,
    "present",
  ],
  ["deleted, its daemon lives", undefined, lease(), true, false, "present leaving"],
  ["deleted, its daemon lives again after a day", undefined, lease(48), true, false, "present leaving"],
  ["deleted and silent", undefined, lease(), false, false, "gone"],
  ["deleted and silent for 23 hours", undefined, lease(23), false, false, "gone"],
  ["deleted and silent for a day", undefined, lease(24), false, false, "gone fenced"],
  [
    "but renewed since that was noted",
    undefined,
    lease(48, { renewTime: "2026-01-05T00:00:00.000000Z" }),
    false,
    false,
    "gone",
  ],
  ["a daemon with more authority", undefined, lease(30, { leaseDurationSeconds: 24 * 3600 }), false, false, "gone"],
  ["without a Lease", undefined, undefined, false, false, "gone"],
  ["where a deletion fences", undefined, lease(), false, true, "gone fenced"],
  ["where a deletion fences, and its daemon lives", undefined, lease(), true, true, "present leaving"],
])("%s", (_about, object, its, isFresh, deletionFences, expected) => {
  const state = nodeState({ node: object, lease: its, isFresh, wallMs: nowMs }, { ...rules, deletionFences });
  const words = [
    state.isPresent ? "present" : "gone",
    state.isLeaving && "leaving",
    state.fenced !== undefined && "fenced",
  ];
  expect(words.filter((word) => word !== false).join(" ")).toBe(expected);
});

describe("a Lease", () => {
  it("is fresh for three minutes after it was seen to change, whatever its own time says", () => {
    let ms = 0;
    const renewals = new Renewals(() => ms);
    expect(renewals.isFresh("n")).toBe(false);
    renewals.saw("n", "1970-01-01T00:00:00Z");
    ms += freshMs - 1;
    renewals.saw("n", "1970-01-01T00:00:00Z");
    expect(renewals.isFresh("n")).toBe(true);
    ms += 1;
    expect(renewals.isFresh("n")).toBe(false);
    renewals.saw("n", "1970-01-01T00:00:01Z");
    expect(renewals.isFresh("n")).toBe(true);
    renewals.forget("n");
    expect(renewals.isFresh("n")).toBe(false);
  });

  it("that no daemon has renewed is not fresh", () => {
    const renewals = new Renewals(() => 0);
    renewals.saw("n", "");
    expect(renewals.isFresh("n")).toBe(false);
  });

  it("is a node's only under the node's name", () => {
    const named = (name: string) => nodeOfLease({ metadata: { name, annotations: { "holdfast.io/node": "n" } } });
    expect([named(nodeLeaseName("n")), named("kube-scheduler")]).toEqual(["n", undefined]);
  });

  it("tells since when its node is gone, to the next leader too", () => {
    const noted = { ...lease(), metadata: { annotations: { [goneSinceAnnotation]: goneSinceNote(lease(), nowMs) } } };
    expect(goneSinceMs(noted)).toBe(nowMs);
    expect(goneSinceMs({ ...noted, spec: { renewTime: "2026-01-05T00:00:00.000000Z" } })).toBeUndefined();
    const never = { metadata: { annotations: { [goneSinceAnnotation]: goneSinceNote(undefined, nowMs) } } };
    expect(goneSinceMs(never)).toBe(nowMs);
    expect(goneSinceMs({ metadata: { annotations: { [goneSinceAnnotation]: "by hand" } } })).toBeUndefined();
  });
});
