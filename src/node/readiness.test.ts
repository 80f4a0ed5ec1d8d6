// What a runtime is told while the daemon cannot give addresses: the thing that is missing, not another.
import { expect, it } from "vitest";

import { ManualClock } from "../kube/manual-clock.ts";
import type { KubeClient } from "../kube/rest.ts";
import type { OwnHolds } from "./own-holds.ts";
import { Readiness } from "./readiness.ts";
import type { SharedState } from "./shared-state.ts";

it.each([
  ["what this node holds", false, true, /what this node holds/],
  ["the state of the cluster", true, false, /holdfast-state/],
  ["both", false, false, /what this node holds.*holdfast-state/],
])("not known is %s", async (_what, isKnown, hasSynced, words) => {
  const refuse = () => Promise.reject(new Error("403"));
  const wait = (is: boolean) => (is ? () => Promise.resolve() : refuse);
  const own = { isKnown, known: wait(isKnown) } as unknown as OwnHolds;
  const state = { hasSynced, synced: wait(hasSynced), paused: "" } as unknown as SharedState;
  const readiness = new Readiness({ client: {} as KubeClient, own, state, clock: new ManualClock() });
  const message = expect.stringMatching(words) as string;
  await expect(readiness.assertReady(new AbortController().signal)).rejects.toMatchObject({ code: 11, message });
});
