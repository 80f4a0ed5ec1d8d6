// Intents: one that cannot be done does not keep the others.
import { expect, it, vi } from "vitest";

import { Recent } from "../../kube/cache/recent.ts";
import { ManualClock } from "../../kube/testing/manual-clock.ts";
import { silent } from "../../log/log.ts";
import type { DaemonContext } from "../context.ts";
import { Attachments, attachmentKey } from "../request/attachment.ts";
import type { Intent, Intents } from "./intents.ts";
import type { Releases } from "./release.ts";
import { Replay } from "./replay.ts";

function world(names: readonly string[], fails: (name: string) => boolean) {
  const pending = new Map<string, Intent>(
    names.map((containerId) => {
      const intent = { containerId, interfaceName: "eth0", targets: [], pools: [], cooldownMs: 0, sinceMs: 1 };
      return [attachmentKey(intent), intent];
    }),
  );
  const tried: string[] = [];
  const intents = {
    all: () => [...pending.values()],
    get: (each: Intent) => pending.get(attachmentKey(each)),
    remove: async (each: Intent) => void pending.delete(attachmentKey(each)),
    get size() {
      return pending.size;
    },
  } as unknown as Intents;
  const release = async ({ containerId }: Intent) => {
    tried.push(containerId);
    if (fails(containerId)) throw new Error("IPPool kube-system/x cannot be read");
    return 1;
  };
  const releases = { release } as unknown as Releases;
  const clock = new ManualClock();
  const parts = {
    intents,
    clock,
    releases,
    attachments: new Attachments(),
    gone: new Recent(10),
    readiness: { mayRelease: true },
    log: silent,
  } as unknown as DaemonContext;
  const stop = new AbortController();
  const ended = new Replay(parts).run(stop.signal);
  const end = async () => {
    stop.abort();
    await ended;
  };
  return { tried, clock, end, left: () => [...pending.values()].map(({ containerId }) => containerId) };
}

it("a release that always fails does not keep back those behind it", async () => {
  const { clock, left, end } = world(["bad", "a", "b", "c"], (name) => name === "bad");
  await vi.waitFor(() => expect(clock.pending).toBe(1));
  await clock.advance(60_000);
  await vi.waitFor(() => expect(clock.pending).toBe(1));
  expect(left()).toEqual(["bad"]);
  await end();
});

it("nor do many", async () => {
  const names = [...Array.from({ length: 20 }, (_, index) => `bad-${index}`), "a", "b"];
  const { clock, left, end } = world(names, (name) => name.startsWith("bad"));
  for (let round = 0; round < 10; round++) {
    await vi.waitFor(() => expect(clock.pending).toBe(1));
    await clock.advance(60_000);
  }
  await vi.waitFor(() => expect(clock.pending).toBe(1));
  expect(left()).toHaveLength(20);
  await end();
});

it("while nothing works a round ends after a few", async () => {
  const names = Array.from({ length: 100 }, (_, index) => `c-${index}`);
  const { clock, tried, end } = world(names, () => true);
  await vi.waitFor(() => expect(clock.pending).toBe(1));
  expect(tried.length).toBeLessThanOrEqual(5);
  await end();
});
