// The commands about claims on a server that claims to be the Kubernetes API.
import { afterAll, beforeAll, describe } from "vitest";

import type { PoolsServer } from "../pools/stage.ts";
import { adoptStories } from "./cli-adopt.ts";
import { lookStories } from "./cli-look.ts";
import { CliStage } from "./cli-stage.ts";
import { takeoverStories } from "./cli-takeover.ts";

/** Two processes and a database on a busy machine. */
const startTimeoutMs = 180_000;
/** A command is a process: half a second alone, several beside other suites. */
const storyTimeoutMs = 120_000;

export function cliSuite(name: string, start: () => Promise<PoolsServer>): void {
  describe(name, { timeout: storyTimeoutMs }, () => {
    let stage: CliStage;
    beforeAll(async () => void (stage = await CliStage.open(start)), startTimeoutMs);
    afterAll(async () => stage?.stage.close(), startTimeoutMs);

    describe("claims, who, check", () => {
      lookStories(() => stage);
    });
    describe("adopt", () => {
      adoptStories(() => stage);
    });
    describe("takeover", () => {
      takeoverStories(() => stage);
    });
  });
}
