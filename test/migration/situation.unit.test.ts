// Where a VM is, as a story for each thing that happens to one, and for each that ovn-kubernetes was seen to get wrong.
import { describe, expect, it } from "vitest";

import { compareAge, type Launcher } from "../../src/migration/objects/launcher.ts";
import { placementOf } from "../../src/migration/plan/placement-of.ts";
import { signTrustMs, situate, type Situation } from "../../src/migration/plan/situation.ts";
import { launcher, network, nodes } from "./pods.ts";

const nowMs = 1_000_000;
const label = { ready: "node-label" } as const;
const stamp = { ready: "ready-timestamp", readyMs: 5000 } as const;
const over = { phase: "succeeded" } as const;
const failed = { phase: "failed" } as const;

const a = (more: Partial<Launcher> = {}) => launcher("a", "n1", { ...label, ...more });
const b = (more: Partial<Launcher> = {}) => launcher("b", "n2", more);
const c = (more: Partial<Launcher> = {}) => launcher("c", "n3", more);

/** `STATE: ACTIVE by TRIGGER, SOURCE > TARGET`, by the letters of pods. */
function told({ state, active, trigger, source, target }: Situation): string {
  const letter = (each: Launcher | undefined) => each?.name.at(-1) ?? "-";
  const moves = source === undefined && target === undefined ? "" : `, ${letter(source)} > ${letter(target)}`;
  return `${state}: ${letter(active)}${trigger === undefined ? "" : ` by ${trigger}`}${moves}`;
}

const look = (...pods: Launcher[]) => told(situate(pods, { nowMs, home: "n1" }));

describe("the life of a VM", () => {
  it.each<[string, Launcher[], string]>([
    ["nothing of it is there", [], "deleted: -"],
    ["its first pod is being started", [a({ ready: undefined, phase: "pending" })], "starting: -"],
    ["it runs and nobody says that its guest does", [a({ ready: undefined })], "starting: -"],
    ["it runs at home", [a()], "at-home: a by node-label"],
    ["a target was made", [a(), b({ phase: "pending" })], "in-progress: a by node-label, a > b"],
    ["the target runs, and the guest is still at the source", [a(), b()], "in-progress: a by node-label, a > b"],
    ["the guest is at the target", [a(), b(stamp)], "target-ready: b by ready-timestamp, a > b"],
    ["only the label changed", [a(), b(label)], "target-ready: b by node-label, a > b"],
    ["the source has ended, and its object stays", [a(over), b(stamp)], "away: b by ready-timestamp"],
    ["the source's object is gone", [b(stamp)], "away: b by ready-timestamp"],
    ["on to a third node", [a(over), b(stamp), c()], "in-progress: b by ready-timestamp, b > c"],
    ["at a third node", [a(over), b({ ...stamp, ...over }), c(stamp)], "away: c by ready-timestamp"],
    ["back home", [b({ ...stamp, ...over }), launcher("d", "n1", stamp)], "at-home: d by ready-timestamp"],
    ["stopped away from home", [a(over), b({ ...stamp, ...over })], "stopped: -"],
    ["being deleted, the guest still runs", [a({ isDeleting: true })], "at-home: a by node-label"],
  ])("%s", (_, pods, expected) => {
    expect(look(...pods)).toBe(expected);
  });
});

describe("what ovn-kubernetes gets wrong", () => {
  it.each<[string, Launcher[], string]>([
    ["the target failed before it was ready", [a(), b(failed)], "failed-before-ready: a by node-label, a > b"],
    [
      "the target failed after it was ready",
      [a(), b({ ...stamp, ...failed })],
      "failed-after-ready: a by node-label, a > b",
    ],
    ["an aborted target ends with success", [a(), b(over)], "failed-before-ready: a by node-label, a > b"],
    ["the failed target's object is gone", [a()], "at-home: a by node-label"],
    [
      "the next migration after a failed one",
      [a(), b({ ...stamp, ...failed }), c()],
      "in-progress: a by node-label, a > c",
    ],
    ["the source was deleted by force, the target not ready", [b()], "away: b by only-one-left"],
    ["the source ended, and virt-controller says nothing", [a(over), b()], "away: b by only-one-left"],
    ["the source ended, and the target has not begun", [a(over), b({ phase: "pending" })], "starting: -"],
    ["more than two live", [a(), b(stamp), c()], "in-progress: b by ready-timestamp, b > c"],
    ["the label names a node that the pod is not bound to yet", [b({ ...label, node: "" })], "starting: -"],
  ])("%s", (_, pods, expected) => {
    expect(look(...pods)).toBe(expected);
  });

  it("a VM that was started anew has no source in the life before", () => {
    expect(look(a(), b(over), c({ instance: "vmi-2", isTarget: false }))).toBe("starting: -");
  });

  it("two pods of the same second: the migration's target is the newer; without one, the greater UID", () => {
    const sameSecond = (more: Partial<Launcher>) => a({ createdMs: 1000, uid: "uid-z", ...more });
    expect(look(sameSecond({}), b(stamp))).toBe("target-ready: b by ready-timestamp, a > b");
    expect(look(sameSecond({}), b({ ...stamp, isTarget: false }))).toBe("target-ready: a by node-label, b > a");
    expect(compareAge(sameSecond({}), b({ isTarget: false }))).toBe(1);
  });
});

describe("a sign that comes before KubeVirt's word", () => {
  const rarp = (seenMs: number) => ({ sign: { kind: "rarp", seenMs } }) as const;

  it.each<[string, Launcher[], string]>([
    ["starts the switch-over", [a(), b(rarp(nowMs - 5))], "target-ready: b by early-sign, a > b"],
    [
      "of a pod that does not run yet is its kernel's",
      [a(), b({ ...rarp(nowMs), phase: "pending" })],
      "in-progress: a by node-label, a > b",
    ],
    [
      "was wrong: the guest is seen at the source after it",
      [a(rarp(nowMs - 1)), b(rarp(nowMs - 5))],
      "in-progress: a by node-label, a > b",
    ],
    [
      "at the same time as one at the source is none",
      [a(rarp(nowMs - 5)), b(rarp(nowMs - 5))],
      "in-progress: a by node-label, a > b",
    ],
    ["was wrong: nobody confirms it", [a(), b(rarp(nowMs - signTrustMs))], "in-progress: a by node-label, a > b"],
    [
      "was wrong: the target failed",
      [a(), b({ ...rarp(nowMs), ...failed })],
      "failed-before-ready: a by node-label, a > b",
    ],
    [
      "at the source is nothing after KubeVirt's word",
      [a(rarp(nowMs)), b(stamp)],
      "target-ready: b by ready-timestamp, a > b",
    ],
    ["is confirmed", [a(), b({ ...rarp(nowMs), ...stamp })], "target-ready: b by ready-timestamp, a > b"],
    ["is not believed of a VM that nobody has called ready", [a({ ready: undefined, ...rarp(nowMs) })], "starting: -"],
  ])("%s", (_, pods, expected) => {
    expect(look(...pods)).toBe(expected);
  });

  it("says until when it counts, and only it does", () => {
    expect(situate([a(), b(rarp(nowMs - 5))], { nowMs, home: "n1" }).recheckMs).toBe(nowMs - 5 + signTrustMs);
    expect(situate([a(), b({ ...rarp(nowMs), ...stamp })], { nowMs, home: "n1" })).not.toHaveProperty("recheckMs");
  });
});

describe("the placement", () => {
  const place = (...pods: Launcher[]) =>
    placementOf({ namespace: "t", name: "vm1" }, situate(pods, { nowMs, home: "n1" }), network, nodes);

  it("has a port for every living pod that is bound, and one that answers", () => {
    expect(place(a(over), b(stamp), c())).toMatchObject({
      namespace: "t",
      name: "vm1",
      mac: "0a:58:0a:f4:01:04",
      homeNode: "n1",
      activeNode: "n2",
      ports: [
        { podUid: "uid-b", node: "n2", isActive: true },
        { podUid: "uid-c", node: "n3", isActive: false },
      ],
    });
    expect(place(a(), b({ node: "" }))?.ports).toHaveLength(1);
  });

  it("of a VM that starts answers nowhere; of one that has stopped there is none", () => {
    expect(place(a({ ready: undefined }))).toMatchObject({ activeNode: undefined, ports: [{ isActive: false }] });
    expect(place(a(over))).toBeUndefined();
  });
});
