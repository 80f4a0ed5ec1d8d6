import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { Standing } from "../../cluster/fencing.ts";
import { defaultLimits, judge, type LeakReason, type Observation } from "./judge.ts";
import { Observations } from "./observations.ts";
import { factsOf, type HeldParts, heldOf, podOf, type World } from "./testing/values.ts";

const longAgo: Observation = { version: "o@1", firstMs: 0 };
const nowMs = 10 * defaultLimits.keeperGraceMs;

const adopted: HeldParts = { node: "", owner: { uid: "" } };
/** As a kubelet names a pod of its own. */
const hash = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
const kept: HeldParts = { note: { keeper: "statefulset/web" } };
const set = (replicas: number, start = 0) => ({ start, replicas, isTerminating: false });

type Story = readonly [story: string, held: HeldParts, caches: World, verdict: "keep" | LeakReason];

const stories: readonly Story[] = [
  ["its pod runs", {}, { pod: podOf() }, "keep"],
  ["its pod is pending and has no node yet", {}, { pod: podOf({ phase: "Pending", node: "" }) }, "keep"],
  ["its pod is terminating: containers may run on", {}, { pod: podOf({ isTerminating: true }) }, "keep"],
  ["its pod is gone", {}, {}, "pod-gone"],
  ["its pod was replaced by one of the same name", {}, { pod: podOf({ uid: "uid-2" }) }, "pod-replaced"],
  ["its pod has completed (550)", {}, { pod: podOf({ phase: "Succeeded" }) }, "pod-completed"],
  ["its pod was evicted", {}, { pod: podOf({ phase: "Failed" }) }, "pod-completed"],
  ["the node is unreachable, the pod is there", {}, { pod: podOf(), nodes: { n1: "unreachable" } }, "keep"],
  ["unreachable, and the pod was force-deleted", {}, { nodes: { n1: "unreachable" } }, "keep"],
  ["unreachable, and the pod was replaced", {}, { pod: podOf({ uid: "x" }), nodes: { n1: "unreachable" } }, "keep"],
  [
    "unreachable, and marked Failed from afar",
    {},
    { pod: podOf({ phase: "Failed" }), nodes: { n1: "unreachable" } },
    "keep",
  ],
  ["the Node was deleted, the pod too: the machine may run on", {}, { nodes: {} }, "keep"],
  ["the Node was deleted, the pod object stayed", {}, { pod: podOf(), nodes: {} }, "keep"],
  ["the node is fenced, the pod is gone", {}, { nodes: { n1: "fenced" } }, "pod-gone"],
  ["the node is fenced, the pod object stayed", {}, { pod: podOf(), nodes: { n1: "fenced" } }, "node-gone"],
  [
    "fenced, the pod terminates for ever",
    {},
    { pod: podOf({ isTerminating: true }), nodes: { n1: "fenced" } },
    "node-gone",
  ],
  [
    "the pod moved to a good node, its old hold is on an unreachable one",
    {},
    { pod: podOf({ uid: "uid-2", node: "n2" }), nodes: { n1: "unreachable", n2: "ready" } },
    "keep",
  ],
  ["adopted, a pod of that name runs", adopted, { pod: podOf({ uid: "whatever" }) }, "keep"],
  ["adopted, no pod of that name", adopted, {}, "pod-gone"],
  ["adopted, no pod, and some node is unreachable", adopted, { nodes: { n1: "ready", n9: "unreachable" } }, "keep"],
  [
    "adopted, seen before on a good node, another is unreachable",
    adopted,
    { lastNode: "n1", nodes: { n1: "ready", n9: "unreachable" } },
    "pod-gone",
  ],
  [
    "adopted, seen before on a node that is unreachable now",
    adopted,
    { lastNode: "n9", nodes: { n9: "unreachable" } },
    "keep",
  ],
  [
    "a kubelet's own pod, by its mirror",
    { owner: { uid: hash } },
    { pod: podOf({ uid: "x", mirrorOf: hash }) },
    "keep",
  ],
  ["the same, and its mirror is not there yet, or never", { owner: { uid: hash } }, {}, "keep"],
  ["the same, and a pod of its name is no mirror", { owner: { uid: hash } }, { pod: podOf({ uid: "x" }) }, "keep"],
  [
    "the same, and its file has changed",
    { owner: { uid: hash } },
    { pod: podOf({ uid: "x", mirrorOf: hash.replaceAll("a", "b") }) },
    "pod-replaced",
  ],
  ["the same, and its Node was deleted", { owner: { uid: hash } }, { nodes: {} }, "keep"],
  ["the same, and its node is fenced", { owner: { uid: hash } }, { nodes: { n1: "fenced" } }, "pod-gone"],
  ["adopted, and names no pod", { node: "", owner: { uid: "", namespace: "", name: "" } }, {}, "keep"],
  ["adopted, and names no namespace", { node: "", owner: { uid: "", namespace: "" } }, {}, "keep"],
  ["podman: a node's daemon wrote it without a UID", { owner: { uid: "" } }, {}, "keep"],
  ["podman, and its machine is not heard of", { owner: { uid: "" } }, { nodes: { n1: "unreachable" } }, "keep"],
  ["without a UID, and its node is fenced", { owner: { uid: "" } }, { nodes: { n1: "fenced" } }, "pod-gone"],
  [
    "without a UID, its node is fenced, a pod of that name runs elsewhere",
    { owner: { uid: "" } },
    { pod: podOf({ node: "n2" }), nodes: { n1: "fenced", n2: "ready" } },
    "keep",
  ],
  ["podman, and some pod of that name has ended", { owner: { uid: "" } }, { pod: podOf({ phase: "Failed" }) }, "keep"],
  ["a second hold, and network-status shows the other", {}, { pod: podOf(), isSuperseded: true }, "superseded"],
  ["the same on an unreachable node", {}, { pod: podOf(), isSuperseded: true, nodes: { n1: "unreachable" } }, "keep"],
  ["StatefulSet: pod gone, ordinal wanted", kept, { statefulSet: set(1) }, "keep"],
  ["StatefulSet: pod replaced", kept, { statefulSet: set(1), pod: podOf({ uid: "uid-2" }) }, "keep"],
  ["StatefulSet: scaled to none", kept, { statefulSet: set(0) }, "scaled-down"],
  [
    "StatefulSet: scaled to none, the pod still ends",
    kept,
    { statefulSet: set(0), pod: podOf({ isTerminating: true }) },
    "keep",
  ],
  ["StatefulSet: ordinals begin above", kept, { statefulSet: set(3, 1) }, "scaled-down"],
  [
    "StatefulSet: ordinals begin at 5 and reach 7",
    { ...kept, owner: { name: "web-7" } },
    { statefulSet: set(3, 5) },
    "keep",
  ],
  ["StatefulSet: gone", kept, {}, "stateful-set-gone"],
  ["StatefulSet: gone, on an unreachable node", kept, { nodes: { n1: "unreachable" } }, "keep"],
  ["a keeper of a kind from the future", { note: { keeper: "virtualmachine/db" } }, {}, "keep"],
  ["a keeper whose pod has no ordinal", { ...kept, owner: { name: "web-x" } }, {}, "keep"],
];

describe("a hold that its node's daemon vouches for, as the API server has forgotten its pod", () => {
  const vouched = { note: { vouched: "900 2026-01-01T00:00:00.000Z" } };
  const at = (ms: number, caches: World = {}, parts: HeldParts = vouched) =>
    judge(heldOf(parts), factsOf(caches), longAgo, ms).outcome;

  it("is not freed before that has lasted without being said anew", () => {
    expect([at(899_999), at(900_000)]).toEqual(["suspect", "free"]);
    expect(at(5_000_000, {}, { ...vouched, version: "o@2" }), "said anew").toBe("suspect");
    expect(at(defaultLimits.observeMs, {}, {})).toBe("free");
  });

  it("is freed as ever where the node is off, and in a day whatever it says", () => {
    expect(at(defaultLimits.observeMs, { nodes: { n1: "fenced" } })).toBe("free");
    const [forged, spoilt] = ["999999999 ever", "for ever"].map((words) => ({ note: { vouched: words } }));
    expect([at(86_400_000, {}, forged), at(defaultLimits.observeMs, {}, spoilt)]).toEqual(["free", "free"]);
  });

  it("is so too where a StatefulSet keeps it that the API server has forgotten, or that was smaller then", () => {
    const both = { note: { ...kept.note, ...vouched.note } };
    for (const caches of [{}, { statefulSet: set(0) }]) {
      expect([at(899_999, caches, both), at(900_000, caches, both)]).toEqual(["suspect", "free"]);
      expect(at(defaultLimits.keeperGraceMs, { ...caches, nodes: { n1: "fenced" } }, both), "off").toBe("free");
    }
  });
});

describe("judge", () => {
  it.each(stories)("%s", (_story, parts, caches, expected) => {
    const held = heldOf(parts);
    const first = judge(held, factsOf(caches), undefined, nowMs);
    const second = judge(held, factsOf(caches), longAgo, nowMs);
    if (expected === "keep") {
      expect(first.outcome).toBe("keep");
      expect(second.outcome).toBe("keep");
    } else {
      expect(first).toMatchObject({ outcome: "suspect", reason: expected });
      expect(second).toMatchObject({ outcome: "free", reason: expected });
    }
  });

  it("waits out the time between two observations, to the millisecond", () => {
    const at = (ms: number) => judge(heldOf(), factsOf(), { version: "o@1", firstMs: 1000 }, 1000 + ms).outcome;
    expect(at(defaultLimits.observeMs - 1)).toBe("suspect");
    expect(at(defaultLimits.observeMs)).toBe("free");
  });

  it("an observation of an older version counts for nothing: the sandbox was renewed since", () => {
    expect(judge(heldOf({ version: "o@2" }), factsOf(), longAgo, nowMs).outcome).toBe("suspect");
  });

  it("a StatefulSet has its grace, a stranded pod has too", () => {
    const at = (parts: HeldParts, caches: World, ms: number) =>
      judge(heldOf(parts), factsOf(caches), { version: "o@1", firstMs: 0 }, ms).outcome;
    expect(at(kept, {}, defaultLimits.keeperGraceMs - 1)).toBe("suspect");
    expect(at({}, { pod: podOf(), nodes: { n1: "fenced" } }, defaultLimits.strandedGraceMs - 1)).toBe("suspect");
    expect(at({}, { pod: podOf({ isTerminating: true }), nodes: { n1: "fenced" } }, defaultLimits.observeMs)).toBe(
      "free",
    );
  });

  it("keeps what is no pod's", () => {
    const held = heldOf();
    const owner = { kind: "claim", uid: "u", namespace: "shop", name: "db" } as const;
    expect(judge({ ...held, hold: { ...held.hold, owner } }, factsOf(), longAgo, nowMs).outcome).toBe("keep");
  });
});

/** One step of a cluster's life; after each, leak collection looks. */
type Step =
  | { readonly step: "wait"; readonly ms: number }
  | { readonly step: "node"; readonly state: Standing }
  | { readonly step: "pod"; readonly phase: string }
  | { readonly step: "terminate" }
  | { readonly step: "delete" }
  | { readonly step: "recreate" }
  | { readonly step: "renew" };

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ step: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 200_000 }) }),
  fc.record({
    step: fc.constant("node" as const),
    state: fc.constantFrom<Standing>("ready", "unreachable", "fenced"),
  }),
  fc.record({ step: fc.constant("pod" as const), phase: fc.constantFrom("Pending", "Running", "Failed", "Succeeded") }),
  fc.constantFrom<Step>({ step: "terminate" }, { step: "delete" }, { step: "recreate" }, { step: "renew" }),
);

describe("no order of events frees what may be in use", () => {
  it("against an oracle that knows when containers may run", () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 40 }), fc.boolean(), (story, isAdopted) => {
        const observations = new Observations();
        let [now, version] = [0, 1];
        let node: Standing = "ready";
        let pod: ReturnType<typeof podOf> | undefined = podOf();
        /** Since when, without a break, nothing of the owner can run; undefined: it may. */
        let deadSinceMs: number | undefined;
        for (const each of story) {
          switch (each.step) {
            case "wait":
              now += each.ms;
              break;
            case "node":
              node = each.state;
              break;
            case "pod":
              // A phase that is final stays.
              if (pod && pod.phase !== "Failed" && pod.phase !== "Succeeded")
                pod = podOf({ ...pod, phase: each.phase });
              break;
            case "terminate":
              if (pod) pod = podOf({ ...pod, isTerminating: true });
              break;
            case "delete":
              pod = undefined;
              break;
            case "recreate":
              pod ??= podOf({ uid: `uid-${now + 2}` });
              break;
            case "renew":
              version += 1;
              deadSinceMs = undefined;
              break;
          }
          const held = heldOf({ version: `o@${version}`, ...(isAdopted && adopted) });
          const facts = factsOf({
            pod,
            nodes: { n1: node },
            lastNode: observations.lastNode(held),
          });
          const owners = pod !== undefined && (isAdopted || pod.uid === "uid-1") ? pod : undefined;
          observations.seenOn(held, owners?.node ?? "");
          const isOver = owners === undefined || owners.phase === "Failed" || owners.phase === "Succeeded";
          const mayRun = node === "unreachable" || (node === "ready" && !isOver);
          if (mayRun) deadSinceMs = undefined;
          else deadSinceMs ??= now;
          const judged = judge(held, facts, observations.of(held), now);
          observations.record(held, judged, now);
          if (judged.outcome === "free") {
            expect(deadSinceMs).toBeDefined();
            expect(now - deadSinceMs!).toBeGreaterThanOrEqual(defaultLimits.observeMs);
          }
        }
      }),
      { numRuns: 3000 },
    );
  });

  it("what stays dead is freed at last", () => {
    fc.assert(
      fc.property(fc.constantFrom<Standing>("ready", "fenced"), (node) => {
        const observations = new Observations();
        const held = heldOf();
        const facts = factsOf({ nodes: { n1: node } });
        observations.record(held, judge(held, facts, observations.of(held), 0), 0);
        expect(judge(held, facts, observations.of(held), defaultLimits.observeMs).outcome).toBe("free");
      }),
    );
  });
});
