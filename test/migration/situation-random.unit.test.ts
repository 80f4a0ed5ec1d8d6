// Sets of pods as no story has them, held to a slow oracle and to what must never happen; and histories, heard in any
// order, which end in the same place.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { Launcher } from "../../src/migration/objects/launcher.ts";
import { addressSteps } from "../../src/migration/plan/inheritance.ts";
import { networkOf, placementOf } from "../../src/migration/plan/placement-of.ts";
import { signTrustMs, situate } from "../../src/migration/plan/situation.ts";
import { volume } from "../volume.ts";
import { launcher, network, nodes } from "./pods.ts";

const numRuns = volume(1500, 50_000);
const nowMs = 100_000;

const anyPod = fc.record({
  node: fc.constantFrom("n1", "n2", "n3", ""),
  phase: fc.constantFrom<Launcher["phase"][]>("pending", "running", "running", "succeeded", "failed"),
  ready: fc.constantFrom(undefined, "node-label" as const, "ready-timestamp" as const),
  createdMs: fc.constantFrom(0, 1000, 2000),
  isTarget: fc.boolean(),
  isDeleting: fc.boolean(),
  instance: fc.constantFrom("vmi-1", "vmi-1", "vmi-1", "vmi-2"),
  sign: fc.option(
    fc.record({
      kind: fc.constantFrom("rarp" as const, "frame" as const),
      seenMs: fc.constantFrom(nowMs, nowMs - 1, nowMs - signTrustMs + 1, nowMs - signTrustMs, nowMs - 2 * signTrustMs),
    }),
    { nil: undefined },
  ),
  network: fc.constantFrom(network, undefined),
});
const podSet = fc
  .array(anyPod, { maxLength: 5 })
  .map((all) => all.map((more, at) => launcher("abcde"[at]!, more.node, more)));

/** Slow, and said otherwise: who is active is whoever nobody else is to be preferred to. */
function activeBySlowRules(pods: readonly Launcher[]): Launcher | undefined {
  const rank = (p: Launcher) => [p.createdMs, p.isTarget ? 1 : 0, p.uid] as const;
  const isNewer = (p: Launcher, q: Launcher) => {
    const [first, second] = [rank(p), rank(q)];
    const at = first.findIndex((each, index) => each !== second[index]);
    return at >= 0 && first[at]! > second[at]!;
  };
  const lives = (p: Launcher) => p.phase === "pending" || p.phase === "running";
  const pool = pods.some(lives) ? pods.filter(lives) : pods;
  const newest = pool.find((p) => pool.every((q) => q === p || isNewer(p, q)));
  const life = pods.filter((p) => p.instance === newest?.instance);
  const here = life.filter((p) => lives(p) && p.node !== "");
  const isReady = (p: Launcher) => p.ready !== undefined;
  let said = here.find((p) => isReady(p) && here.every((q) => q === p || !isReady(q) || isNewer(p, q)));
  if (said === undefined && life.filter(lives).length === 1)
    said = here.find((p) => p.phase === "running" && (p.isTarget || life.some((q) => q !== p && isReady(q))));
  const speaker = said;
  if (speaker === undefined) return undefined;
  const heard = here.filter((p) => p.phase === "running" && p.sign !== undefined);
  const beats = (p: Launcher, q: Launcher) =>
    p.sign!.seenMs > q.sign!.seenMs || (p.sign!.seenMs === q.sign!.seenMs && isNewer(q, p));
  const early = heard.find((p) => heard.every((q) => q === p || beats(p, q)));
  const counts = early !== undefined && isNewer(early, speaker) && nowMs - early.sign!.seenMs < signTrustMs;
  return counts ? early : speaker;
}

const at = { namespace: "t", name: "vm1" };
const look = (pods: readonly Launcher[]) => situate(pods, { nowMs, home: "n1" });

describe("any set of pods", () => {
  it("has the active pod that the oracle names, in any order", () => {
    fc.assert(
      fc.property(podSet, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (pods, chance) => {
        const situation = look(pods);
        expect(situation.active).toBe(activeBySlowRules(pods));
        const shuffled = pods
          .map((each) => ({ each, by: chance.next().value as number }))
          .toSorted((x, y) => x.by - y.by)
          .map(({ each }) => each);
        expect(look(shuffled)).toEqual(situation);
        expect(addressSteps(shuffled)).toEqual(addressSteps(pods));
        expect(networkOf(shuffled)).toEqual(networkOf(pods));
      }),
      { numRuns },
    );
  });

  it("has one port at most that answers, on the active node; a living VM with a ready pod has one", () => {
    fc.assert(
      fc.property(podSet, (pods) => {
        const situation = look(pods);
        const placement = placementOf(at, situation, network, nodes);
        const answering = placement?.ports.filter(({ isActive }) => isActive) ?? [];
        expect(answering.map(({ node }) => node)).toEqual(
          placement?.activeNode === undefined ? [] : [placement.activeNode],
        );
        const isAnyReady = situation.living.some(({ ready, node }) => ready !== undefined && node !== "");
        if (isAnyReady) expect(answering).toHaveLength(1);
        expect(placement === undefined).toBe(["stopped", "deleted"].includes(situation.state));
        if (situation.state === "in-progress") expect(situation.source).toBe(situation.active);
        if (situation.state === "target-ready") expect(situation.target).toBe(situation.active);
      }),
      { numRuns },
    );
  });

  it("never gives a target an address of its own, and never two pods of a life different ones", () => {
    fc.assert(
      fc.property(podSet, (pods) => {
        const steps = addressSteps(pods);
        const taking = steps.filter(({ kind }) => kind === "take");
        expect(taking.length).toBeLessThanOrEqual(1);
        for (const { to } of taking) expect([to.isTarget, networkOf(pods)]).toEqual([false, undefined]);
        for (const step of steps) if (step.kind === "copy") expect(step.entry).toBe(networkOf(pods)!.entry);
      }),
      { numRuns },
    );
  });
});

/** What happens to one pod, in the order in which it happens to it. */
type Change = (pod: Launcher | undefined) => Launcher | undefined;
const change =
  (more: Partial<Launcher>): Change =>
  (pod) =>
    pod && { ...pod, ...more };

/** A VM that moves along these nodes; each move succeeds or its target fails at some point. One list per pod. */
const journey = fc
  .array(
    fc.record({
      node: fc.constantFrom("n1", "n2", "n3"),
      end: fc.constantFrom("moves", "fails early", "fails late", "is forced"),
      isObjectLeft: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((moves) =>
    moves.map(({ node, end, isObjectLeft }, index): Change[] => {
      const letter = "abcd"[index]!;
      const begin: Change[] = [
        () => launcher(letter, "", { phase: "pending" }),
        change({ node }),
        change({ phase: "running" }),
      ];
      const ready: Change = change(index === 0 ? { ready: "node-label" } : { ready: "ready-timestamp" });
      const gone: Change = () => undefined;
      const last = isObjectLeft ? [] : [gone];
      // The first has no migration that could fail.
      if (index === 0 || end === "moves") return [...begin, ready];
      if (end === "fails early") return [...begin, change({ phase: "failed" }), ...last];
      if (end === "fails late") return [...begin, ready, change({ phase: "failed" }), ...last];
      return [...begin, ready, gone];
    }),
  );

describe("any history", () => {
  it("ends in the same place, in whatever order pods are heard of, and never leaves a ready VM without a port", () => {
    fc.assert(
      fc.property(journey, fc.array(fc.nat({ max: 1000 }), { maxLength: 40 }), (histories, picks) => {
        const play = (pick: (open: number) => number) => {
          const queues = histories.map((each) => [...each]);
          const pods = new Map<number, Launcher>();
          for (let open; (open = queues.flatMap((queue, index) => (queue.length > 0 ? [index] : []))).length > 0;) {
            const index = open[pick(open.length)]!;
            const next = queues[index]!.shift()!(pods.get(index));
            if (next === undefined) pods.delete(index);
            else pods.set(index, next);
            const situation = look([...pods.values()]);
            const isReady = [...pods.values()].some(({ ready, phase }) => ready !== undefined && phase === "running");
            if (isReady) expect(situation.active).toBeDefined();
          }
          return look([...pods.values()]);
        };
        let turn = 0;
        const inOrder = play(() => 0);
        const mixed = play((open) => (picks[turn++ % Math.max(picks.length, 1)] ?? 0) % open);
        expect(mixed).toEqual(inOrder);
      }),
      { numRuns },
    );
  });
});
