// The commands about claims on a server that claims to be the Kubernetes API.
import { afterAll, beforeAll, describe } from "vitest";

import type { PoolsServer } from "../pools/fixture.ts";
import { adoptStories } from "./cli-adopt.ts";
import { CliFixture } from "./cli-fixture.ts";
import { lookStories } from "./cli-look.ts";
import { takeoverStories } from "./cli-takeover.ts";

/** Two processes and a database on a busy machine. */
const startTimeoutMs = 180_000;
/** A command is a process: half a second alone, several beside other suites. */
const storyTimeoutMs = 120_000;

const stories = {
  "claims, who, check": lookStories,
  adopt: adoptStories,
  takeover: takeoverStories,
};
type Part = keyof typeof stories;
const all = Object.keys(stories) as Part[];

/** `parts`: all of them, unless it says otherwise. */
export function cliSuite(name: string, start: () => Promise<PoolsServer>, parts: readonly Part[] = all): void {
  describe(name, { timeout: storyTimeoutMs }, () => {
    let fixture: CliFixture;
    beforeAll(async () => void (fixture = await CliFixture.open(start)), startTimeoutMs);
    afterAll(async () => fixture?.fixture.close(), startTimeoutMs);

    for (const part of parts) {
      describe(part, () => {
        stories[part](() => fixture);
      });
    }
  });
}
