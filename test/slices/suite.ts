// The stories of sliced networks, whole: daemons with journals, controllers, and an API server of either kind.
import { afterAll, afterEach, beforeAll, beforeEach, describe } from "vitest";

import { KubeClient } from "../../src/kube/rest.ts";
import type { Server } from "../node/fixture.ts";
import { volume, withFresh } from "../volume.ts";
import { Fixture } from "./fixture.ts";
import { changeStories } from "./stories/changes.ts";
import { churnStories } from "./stories/churn.ts";
import { dailyStories } from "./stories/daily.ts";
import { disagreementStories } from "./stories/disagreements.ts";
import { fencingStories } from "./stories/fencing.ts";
import { killStories } from "./stories/kills.ts";
import { lossStories } from "./stories/losses.ts";
import { cutOffStories, nodeStories } from "./stories/nodes.ts";
import { tenantStories } from "./stories/tenants.ts";
import { prepare, wipe } from "./wipe.ts";

export interface SuiteOptions {
  readonly startMs?: number;
  /** Each part in a file of its own takes its time beside the others: they mostly wait. */
  readonly parts: readonly (
    | "daily"
    | "changes"
    | "nodes"
    | "cut-off"
    | "fencing"
    | "kills"
    | "churn"
    | "losses"
    | "tenants"
    | "disagreements"
  )[];
  readonly kills?: number;
  readonly rounds?: number;
  readonly seeds?: readonly number[];
  /** The clock's speed: a real API server answers no sooner, and waits of a minute and a half would take long. */
  readonly haste?: number;
}

/** A story waits for leases, mirrors and rounds of a second each; ten times an idle machine's time for a busy one. */
const storyMs = volume(180_000, 3 * 180_000);

export function sliceStories(name: string, start: () => Promise<Server>, options: SuiteOptions): void {
  describe(`sliced networks on the ${name}`, { timeout: storyMs }, () => {
    let server: Server;
    let fixture: Fixture;
    beforeAll(async () => {
      server = await start();
      await prepare(new KubeClient({ transport: server.transport }));
    }, options.startMs);
    beforeEach(() => void (fixture = new Fixture(server, {}, options.haste)));
    afterEach(async () => {
      await fixture.close();
      await wipe(fixture.admin);
    }, 60_000);
    afterAll(() => server?.stop());
    const get = () => fixture;

    const { kills = volume(12, 40), rounds = volume(8, 20), seeds = volume(withFresh(1), withFresh(1, 2)) } = options;
    const stories = {
      daily: { title: "every day", tell: () => dailyStories(get) },
      changes: { title: "changes", tell: () => changeStories(get) },
      nodes: { title: "nodes", tell: () => nodeStories(get) },
      "cut-off": { title: "nodes", tell: () => cutOffStories(get) },
      fencing: { title: "fencing", tell: () => fencingStories(get) },
      kills: { title: "the controller", tell: () => killStories(get, kills) },
      losses: { title: "losses", tell: () => lossStories(get) },
      disagreements: { title: "disagreements", tell: () => disagreementStories(get) },
      tenants: { title: "tenants", tell: () => tenantStories(get) },
      churn: { title: "churn", tell: () => churnStories(get, rounds, seeds) },
    };
    for (const part of options.parts) {
      const { title, tell } = stories[part];
      describe(title, () => {
        tell();
      });
    }
  });
}
