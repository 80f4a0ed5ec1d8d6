import { expect, it } from "vitest";

import { figuresOf } from "../cni/figures.ts";
import { Machine } from "./machine.ts";
import { persistent, plain, type VmNetwork } from "./networks.ts";
import type { PhaseRun } from "./phases.ts";
import { differences, figuresOfPhase } from "./report.ts";

const never = () => Promise.reject(new Error("nothing is called here"));

function run(...steps: [network: VmNetwork, wholeMs: number, callMs: number, problem?: string][]): PhaseRun {
  return {
    phase: "start",
    wallMs: 1000,
    steps: steps.map(([network, wholeMs, tookMs, problem], index) => ({
      machine: new Machine({ lab: undefined as never, call: never, network, name: `vm-${index}` }),
      beganMs: 0,
      wholeMs,
      reply: { tookMs, addresses: [], ...(problem !== undefined && { problem }) },
      retries: index,
    })),
  };
}

it("figures are of one network's VMs, and of those that got an address", () => {
  const mixed = run([persistent, 30, 20], [plain, 15, 10], [persistent, 99, 98, "full"], [persistent, 50, 40]);
  const withClaim = figuresOfPhase(mixed, persistent);
  expect(withClaim).toMatchObject({ refused: 1, retries: 5, problems: ["full"] });
  expect(withClaim.whole).toEqual(figuresOf([30, 50], 1000));
  expect(withClaim.call).toEqual(figuresOf([20, 40], 1000));
  expect(figuresOfPhase(mixed, plain)).toMatchObject({ refused: 0, call: { count: 1, p50Ms: 10 } });
});

it("the difference is what a claim costs; a phase that one of them lacks has none", () => {
  const mixed = run([persistent, 30, 20], [plain, 15, 10]);
  const [withClaim, without] = [figuresOfPhase(mixed, persistent), figuresOfPhase(mixed, plain)];
  expect(differences({ start: withClaim, migrate: withClaim }, { start: without })).toEqual({
    start: { callP50Ms: 10, callP99Ms: 10, wholeP50Ms: 15, wholeP99Ms: 15 },
  });
});
