// Fifty daemons that are told in one moment that a pause is over: each lists what it holds, in a moment of its own.
import { expect, it } from "vitest";

import { ManualClock } from "../kube/testing/manual-clock.ts";
import { playedClient } from "../kube/testing/played-client.ts";
import { silent } from "../log/log.ts";
import type { HoldLoader } from "./holds/hold-loader.ts";
import { Maintenance } from "./maintenance.ts";
import type { PoolResolver } from "./pools/pool-resolver.ts";
import { Readiness } from "./readiness.ts";
import type { SharedState } from "./shared-state.ts";

const daemons = 50;
/** Of the cluster: a tenth of a second for each is 20 s. */
const nodes = 200;
const done = () => Promise.resolve();
const history = { isDoubted: false, assure: done, assertSettled: () => {}, obstacle: "" };

function daemon(clock: ManualClock, random: () => number, listed: (ms: number) => void) {
  const own = {
    isKnown: true,
    known: async () => {
      if (!own.isKnown) listed(clock.monotonicMs());
      own.isKnown = true;
    },
    look: done,
  };
  const state = { hasSynced: true, synced: done, paused: "", sliced: { version: 1, ranges: [], unknown: "" } };
  const count = JSON.stringify({ items: [{}], metadata: { remainingItemCount: nodes - 1 } });
  const client = playedClient({ get: async () => undefined, raw: async () => count });
  const options = { client, clock, random, log: silent, history, own: own as unknown as HoldLoader };
  const parts = { ...options, state: state as unknown as SharedState, systemNamespace: "kube-system" };
  const poolResolver = { all: () => [] } as unknown as PoolResolver;
  const maintenance = new Maintenance({ ...parts, poolResolver, reassert: { conflicts: 0 } });
  const readiness = new Readiness({ ...parts, presence: { isWaitedFor: true, returns: 0 } });
  return { own, maintenance, readiness };
}

async function herd() {
  const clock = new ManualClock();
  const lists: number[] = [];
  let drawn = 0;
  // Evenly drawn, in no order: multiples of the golden ratio.
  const random = () => (++drawn * 0.618_033_988_75) % 1;
  const all = Array.from({ length: daemons }, () => daemon(clock, random, (ms) => lists.push(ms)));
  const stop = new AbortController();
  for (const { maintenance } of all) void maintenance.run(stop.signal);
  await clock.advance(4000);
  const startMs = clock.monotonicMs();
  for (const { own, maintenance } of all) {
    own.isKnown = false;
    maintenance.listSoon();
  }
  return { clock, all, stop, sinceStart: () => lists.map((ms) => ms - startMs) };
}

it("they list over the span that a tenth of a second for each node is, not within one tick", async () => {
  const { clock, stop, sinceStart } = await herd();
  for (let ms = 0; ms < 22_000; ms += 500) await clock.advance(500);
  const lists = sinceStart();
  stop.abort();
  expect(lists).toHaveLength(daemons);
  for (let fromMs = 0; fromMs < 20_000; fromMs += 4000) {
    const share = lists.filter((ms) => ms >= fromMs && ms < fromMs + 4000).length;
    expect(share, `from ${fromMs} ms on`).toBeLessThan(daemons / 2);
  }
  expect(Math.max(...lists)).toBeGreaterThan(10_000);
});

it("an ADD does not wait for that; a probe of the kubelet asks for nothing", async () => {
  const { all, stop, sinceStart } = await herd();
  const { signal } = new AbortController();
  const [one, other] = all as [(typeof all)[0], (typeof all)[0]];
  await other.readiness.assertServing(signal);
  other.own.isKnown = false;
  await one.readiness.assertReady(signal);
  const before = sinceStart().length;
  await other.readiness.assertServing(signal);
  expect([one.own.isKnown, other.own.isKnown]).toEqual([true, false]);
  expect(sinceStart()).toHaveLength(before);
  stop.abort();
});

it("after a restore nobody waits for a moment of its own", async () => {
  const { all, clock, stop, sinceStart } = await herd();
  for (const { maintenance } of all) maintenance.listNow();
  await clock.advance(4000);
  stop.abort();
  expect(sinceStart()).toHaveLength(daemons);
});
