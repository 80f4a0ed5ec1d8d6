// What a runtime is told while the daemon cannot give addresses: the very thing that is missing.
import { expect, it } from "vitest";

import type { KubeClient } from "../kube/rest.ts";
import { ManualClock } from "../kube/testing/manual-clock.ts";
import { playedClient } from "../kube/testing/played-client.ts";
import type { HoldLoader } from "./holds/hold-loader.ts";
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
  const own = { isKnown, known: wait(isKnown) } as unknown as HoldLoader;
  const state = { hasSynced, synced: wait(hasSynced), paused: "" } as unknown as SharedState;
  const presence = { isWaitedFor: true, returns: 1 };
  const place = { clock: new ManualClock(), systemNamespace: "kube-system", presence, history };
  const readiness = new Readiness({ client: {} as KubeClient, own, state, ...place });
  const message = expect.stringMatching(words) as string;
  await expect(readiness.assertReady(new AbortController().signal)).rejects.toMatchObject({ code: 11, message });
});

function node(told: { version: number } | undefined, known: { version: number; unknown: string }) {
  const presence = { isWaitedFor: true, returns: 1 };
  const asked: string[] = [];
  const done = () => Promise.resolve();
  const own = { isKnown: true, known: done } as unknown as HoldLoader;
  const state = {
    hasSynced: true,
    synced: done,
    paused: "",
    sliced: { ranges: [], ...known },
  } as unknown as SharedState;
  const object = { data: told && { sliced: JSON.stringify({ ...told, ranges: [] }) } };
  const client = playedClient({ get: async () => (asked.push("asked"), object) });
  const clock = new ManualClock();
  const place = { clock, systemNamespace: "kube-system", presence, history };
  const readiness = new Readiness({ client, own, state, ...place });
  return { presence, asked, clock, ask: () => readiness.assertReady(new AbortController().signal) };
}

it.each([
  ["it is what this node follows", { version: 3 }, { version: 3, unknown: "" }, undefined],
  ["ranges were cut that this node does not know of", { version: 4 }, { version: 3, unknown: "" }, 11],
  ["it is gone, and this node has not followed that yet", undefined, { version: 3, unknown: "" }, 11],
  ["nobody knows it, and so nothing is handed out by it", undefined, { version: 3, unknown: "gone" }, undefined],
])("after a silence the server is asked what is told: %s", async (_what, told, known, code) => {
  const { ask } = node(told, known);
  if (code === undefined) await ask();
  else await expect(ask()).rejects.toMatchObject({ code });
});

it("it is asked once, and again after the next silence; until the Lease is renewed nothing is given", async () => {
  const { presence, asked, clock, ask } = node({ version: 3 }, { version: 3, unknown: "" });
  await ask();
  await ask();
  expect(asked).toHaveLength(1);
  presence.isWaitedFor = false;
  const waiting = ask();
  const refused = expect(waiting).rejects.toMatchObject({
    code: 11,
    message: expect.stringContaining("Lease") as string,
  });
  await clock.advance(30_000);
  await refused;
  Object.assign(presence, { isWaitedFor: true, returns: 2 });
  await ask();
  expect(asked).toHaveLength(2);
});
