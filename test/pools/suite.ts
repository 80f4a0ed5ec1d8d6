// Shared pools on a server that claims to be the Kubernetes API.
import { afterAll, beforeAll, describe } from "vitest";

import { checkStories } from "./checks.ts";
import { leakStories } from "./leaks.ts";
import { mirrorStories } from "./mirrors.ts";
import { processStories } from "./processes.ts";
import { sliceStories } from "./slices.ts";
import { type PoolsServer, Stage } from "./stage.ts";
import { stateStories } from "./states.ts";

/** Two processes and a database on a busy machine. */
const startTimeoutMs = 180_000;

export function poolsSuite(name: string, start: () => Promise<PoolsServer>): void {
  describe(name, () => {
    let stage: Stage;
    beforeAll(async () => void (stage = await Stage.open(start)), startTimeoutMs);
    afterAll(async () => stage?.close(), startTimeoutMs);

    describe("pools", () => {
      mirrorStories(() => stage);
    });
    describe("state", () => {
      stateStories(() => stage);
    });
    describe("check", () => {
      checkStories(() => stage);
    });
    describe("slices", () => {
      sliceStories(() => stage);
    });
    describe("leak collection", () => {
      leakStories(() => stage);
    });
    describe("the controller", () => {
      processStories(() => stage);
    });
  });
}
