// What a runtime is told while the daemon cannot give addresses: the thing that is missing, not another.
import { expect, it } from "vitest";

import { ManualClock } from "../kube/manual-clock.ts";
import type { KubeClient } from "../kube/rest.ts";
import type { OwnHolds } from "./own-holds.ts";
import { Readiness } from "./readiness.ts";
import type { SharedState } from "./shared-state.ts";

const history = { assure: () => Promise.resolve(), assertSettled: () => {}, obstacle: "" };

it.each([
  ["what this node holds", false, true, /what this node holds/],
  ["the state of the cluster", true, false, /holdfast-state/],
  ["both", false, false, /what this node holds.*holdfast-state/],
])("not known is %s", async (_what, isKnown, hasSynced, words) => {
  const refuse = () => Promise.reject(new Error("403"));
  const wait = (is: boolean) => (is ? () => Promise.resolve() : refuse);
  const own = { isKnown, known: wait(isKnown) } as unknown as OwnHolds;
  const state = { hasSynced, synced: wait(hasSynced), paused: "" } as unknown as SharedState;
  const place = { clock: new ManualClock(), systemNamespace: "kube-system", isWaitedFor: () => true, history };
  const readiness = new Readiness({ client: {} as KubeClient, own, state, ...place });
  const message = expect.stringMatching(words) as string;
  await expect(readiness.assertReady(new AbortController().signal)).rejects.toMatchObject({ code: 11, message });
});

it.each([
  ["waited for: what it follows counts", true, 9, undefined],
  ["silent, and up to date", false, 3, undefined],
  ["silent, while ranges were cut that it does not know of", false, 4, 11],
])("a node that is %s", async (_what, isWaitedFor, version, code) => {
  const done = () => Promise.resolve();
  const own = { isKnown: true, known: done } as unknown as OwnHolds;
  const followed = { hasSynced: true, synced: done, paused: "", sliced: { version: 3, ranges: [] } };
  const object = { data: { sliced: JSON.stringify({ version, ranges: [] }) } };
  const client = { get: () => Promise.resolve(object) } as unknown as KubeClient;
  const state = followed as unknown as SharedState;
  const place = { clock: new ManualClock(), systemNamespace: "kube-system", isWaitedFor: () => isWaitedFor, history };
  const readiness = new Readiness({ client, own, state, ...place });
  const asked = readiness.assertReady(new AbortController().signal);
  if (code === undefined) await asked;
  else await expect(asked).rejects.toMatchObject({ code });
});
