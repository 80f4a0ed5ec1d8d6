// How watches end, and that nothing of them is left.
import { describe, expect, test } from "vitest";

import type { Api } from "../../src/apiserver/api.ts";
import type { JsonObject } from "../../src/apiserver/json.ts";
import { dig, textOf } from "../../src/apiserver/json.ts";
import { ManualClock } from "../../src/kube/testing/manual-clock.ts";
import { call, map, maps, open } from "./in-process.ts";

async function openWatch(api: Api, query: string, signal?: AbortSignal) {
  const path = `${maps}?watch=true&${query}`;
  const response = await api.transport({
    method: "GET",
    path,
    headers: {},
    ...(signal === undefined ? {} : { signal }),
  });
  const pieces = response.body[Symbol.asyncIterator]();
  const events: JsonObject[] = [];
  return {
    /** Undefined when the watch has ended. */
    next: async () => {
      while (events.length === 0) {
        const piece = await pieces.next();
        if (piece.done === true) return undefined;
        const lines = Buffer.from(piece.value).toString("utf8").trimEnd().split("\n");
        events.push(...lines.map((line) => JSON.parse(line) as JsonObject));
      }
      return events.shift();
    },
  };
}

describe("watches", () => {
  test("timeoutSeconds ends one, a bookmark comes every minute, and nothing sleeps on afterwards", async () => {
    const clock = new ManualClock();
    const api = open({ clock });
    const idle = clock.pending;
    const { body } = await call(api, "GET", maps);
    const revision = textOf(dig(body, "metadata", "resourceVersion"));
    const watch = await openWatch(api, `resourceVersion=${revision}&allowWatchBookmarks=true&timeoutSeconds=100`);
    await clock.advance(60_000);
    expect(await watch.next()).toMatchObject({ type: "BOOKMARK", object: { metadata: { resourceVersion: revision } } });
    await clock.advance(40_000);
    expect(await watch.next()).toBeUndefined();
    expect(clock.pending).toBe(idle);
  });
  test("an aborted signal ends one and leaves no timer", async () => {
    const clock = new ManualClock();
    const api = open({ clock });
    const idle = clock.pending;
    const stop = new AbortController();
    const watch = await openWatch(api, "resourceVersion=0", stop.signal);
    stop.abort();
    expect(await watch.next()).toBeUndefined();
    expect(clock.pending).toBe(idle);
  });
  test("a reader that leaves before its first look ends the watch", async () => {
    const clock = new ManualClock();
    const api = open({ clock });
    const idle = clock.pending;
    const response = await api.transport({ method: "GET", path: `${maps}?watch=true`, headers: {} });
    expect(clock.pending).toBe(idle + 1);
    await response.body[Symbol.asyncIterator]().return?.();
    expect(clock.pending).toBe(idle);
  });
  test("closeWatches ends all of them; the next resumes where the last event was", async () => {
    const api = open();
    const first = await openWatch(api, "resourceVersion=0");
    await call(api, "POST", maps, map("a"));
    const seen = await first.next();
    api.closeWatches();
    expect(await first.next()).toBeUndefined();
    await call(api, "POST", maps, map("b"));
    const second = await openWatch(
      api,
      `resourceVersion=${textOf(dig(seen!["object"], "metadata", "resourceVersion"))}`,
    );
    expect(await second.next()).toMatchObject({ type: "ADDED", object: { metadata: { name: "b" } } });
  });
  test("a watch that is refused leaves nothing behind, one whose client has gone is not begun", async () => {
    const clock = new ManualClock();
    const api = open({ clock });
    const idle = clock.pending;
    await call(api, "POST", maps, map("a"));
    api.compact();
    const refused = await openWatch(api, "resourceVersion=1&allowWatchBookmarks=true");
    expect(await refused.next()).toMatchObject({ type: "ERROR" });
    await expect(openWatch(api, "resourceVersion=0", AbortSignal.abort())).rejects.toThrow(/abort/);
    expect(clock.pending).toBe(idle);
  });
  test("after a compaction an old revision is 410, as an event", async () => {
    const api = open();
    await call(api, "POST", maps, map("a"));
    await call(api, "POST", maps, map("b"));
    api.compact();
    const watch = await openWatch(api, "resourceVersion=2");
    expect(await watch.next()).toMatchObject({ type: "ERROR", object: { code: 410, reason: "Expired" } });
    expect(await watch.next()).toBeUndefined();
  });
  test("a reader that falls 10,000 events behind is cut off", async () => {
    const api = open();
    const watch = await openWatch(api, "resourceVersion=0");
    await call(api, "POST", maps, map("a"));
    const change = (turn: number) =>
      call(api, "PATCH", `${maps}/a`, { data: { turn: String(turn) } }, "application/merge-patch+json");
    for (let turn = 0; turn < 100; turn++)
      await Promise.all(Array.from({ length: 101 }, (_, at) => change(turn * 101 + at)));
    expect(await watch.next()).toBeUndefined();
  });
  test("more than 10,000 objects are all told to a watch that begins, and as many changes to one that resumes", async () => {
    const api = open();
    const { body } = await call(api, "GET", maps);
    const count = 10_001;
    await Promise.all(Array.from({ length: count }, (_, at) => call(api, "POST", maps, map(`m${at}`))));
    for (const query of [
      "resourceVersion=0",
      "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
      `resourceVersion=${textOf(dig(body, "metadata", "resourceVersion"))}`,
    ]) {
      const watch = await openWatch(api, query);
      const told = new Set<string>();
      while (told.size < count) {
        const event = await watch.next();
        expect(event).toMatchObject({ type: "ADDED" });
        told.add(textOf(dig(event!["object"], "metadata", "name")));
      }
    }
  });
  test("a reader that falls 64 MiB behind is cut off", async () => {
    const api = open();
    const watch = await openWatch(api, "resourceVersion=0");
    await call(api, "POST", maps, map("a"));
    const text = "x".repeat(1_000_000);
    for (let turn = 0; turn < 70; turn++) {
      const patch = { data: { text: `${text}${turn}` } };
      await call(api, "PATCH", `${maps}/a`, patch, "application/merge-patch+json");
    }
    expect(await watch.next()).toBeUndefined();
  });
});
