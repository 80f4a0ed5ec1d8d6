// Shared pools on a server that claims to be the Kubernetes API.
import { afterAll, beforeAll, describe } from "vitest";

import { checkStories } from "./checks.ts";
import { type PoolsServer, Fixture } from "./fixture.ts";
import { leakStories } from "./leaks.ts";
import { mirrorStories } from "./mirrors.ts";
import { processStories } from "./processes.ts";
import { sliceStories } from "./slices.ts";
import { stateStories } from "./states.ts";

/** Two processes and a database on a busy machine. */
const startTimeoutMs = 180_000;

const stories = {
  pools: mirrorStories,
  state: stateStories,
  check: checkStories,
  slices: sliceStories,
  "leak collection": leakStories,
  "the controller": processStories,
};
type Part = keyof typeof stories;
const all = Object.keys(stories) as Part[];

/** `parts`: all of them, unless it says otherwise. */
export function poolsSuite(name: string, start: () => Promise<PoolsServer>, parts: readonly Part[] = all): void {
  describe(name, () => {
    let fixture: Fixture;
    beforeAll(async () => void (fixture = await Fixture.open(start)), startTimeoutMs);
    afterAll(async () => fixture?.close(), startTimeoutMs);

    for (const part of parts) {
      describe(part, () => {
        stories[part](() => fixture);
      });
    }
  });
}
