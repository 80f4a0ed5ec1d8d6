// The API without sockets, under a clock and faults that the test owns: what a simulation relies on.
import { afterEach, describe, expect, test } from "vitest";

import { openApi } from "./api.ts";
import type { Api, ApiOptions } from "./api.ts";
import type { Clock } from "./clock.ts";
import type { Fault } from "./faults.ts";
import type { JsonObject } from "./json.ts";
import { dig, textOf } from "./json.ts";

const opened: Api[] = [];

function open(options: Partial<ApiOptions> = {}): Api {
  const api = openApi({ path: ":memory:", ...options });
  opened.push(api);
  return api;
}

afterEach(() => {
  for (const api of opened.splice(0)) api.close();
});

async function call(api: Api, method: string, path: string, body?: object, type = "application/json") {
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await api.transport({ method, path, headers: { "content-type": type }, ...text });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  const reply = JSON.parse(Buffer.concat(chunks).toString("utf8")) as JsonObject;
  return { status: response.status, headers: response.headers, body: reply };
}

const maps = "/api/v1/namespaces/default/configmaps";
const map = (name: string, metadata: object = {}) => ({ metadata: { name, ...metadata } });
const names = (list: JsonObject) =>
  (list["items"] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);

/** Stands still until told. */
class ManualClock implements Clock {
  ms = Date.parse("2026-01-01T00:00:00Z");
  readonly #sleepers = new Set<{ at: number; wake: () => void }>();

  now(): number {
    return this.ms;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const sleeper = { at: this.ms + ms, wake: resolve };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", () => {
        this.#sleepers.delete(sleeper);
        resolve();
      });
    });
  }

  get sleeping(): number {
    return this.#sleepers.size;
  }

  advance(ms: number): void {
    this.ms += ms;
    for (const sleeper of this.#sleepers) {
      if (sleeper.at > this.ms) continue;
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
  }
}

const ordered = (...faults: Fault[]) => {
  let isArmed = false;
  const api = open({ faults: () => (isArmed ? faults : []) });
  return { api, arm: (on: boolean) => (isArmed = on) };
};

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

async function family(api: Api, block = false) {
  const owner = await call(api, "POST", maps, map("owner"));
  const uid = textOf(dig(owner.body, "metadata", "uid"));
  const reference = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid, blockOwnerDeletion: block };
  await call(api, "POST", maps, map("child", { ownerReferences: [reference] }));
  await api.settled();
  return reference;
}

const left = async (api: Api) => {
  await api.settled();
  return names((await call(api, "GET", maps)).body);
};

const makeOne = async () => {
  let seed = 1;
  const random = (size: number) => Uint8Array.from({ length: size }, () => (seed = (seed * 16807) % 2147483647) % 256);
  const api = open({ clock: new ManualClock(), random });
  await call(api, "POST", maps, { metadata: { generateName: "x-" } });
  return (await call(api, "GET", maps)).body;
};

describe("determinism", () => {
  test("with a clock and bytes of the caller's, two runs make the same objects", async () => {
    const [first, second] = [await makeOne(), await makeOne()];
    expect(names(first)).toHaveLength(1);
    expect(first).toEqual(second);
    expect(dig((first["items"] as JsonObject[])[0], "metadata", "creationTimestamp")).toBe("2026-01-01T00:00:00Z");
  });
});

describe("faults", () => {
  test("a dropped request is not carried out", async () => {
    const { api, arm } = ordered({ kind: "drop" });
    arm(true);
    await expect(call(api, "POST", maps, map("a"))).rejects.toMatchObject({ code: "ConnectionLost" });
    arm(false);
    expect(names((await call(api, "GET", maps)).body)).toEqual([]);
  });
  test("a lost reply is to a request that was carried out", async () => {
    const { api, arm } = ordered({ kind: "lose-reply" });
    arm(true);
    await expect(call(api, "POST", maps, map("a"))).rejects.toMatchObject({ code: "ConnectionLost" });
    arm(false);
    expect(names((await call(api, "GET", maps)).body)).toEqual(["a"]);
  });
  test("429 carries Retry-After, 500 is an internal error; neither is carried out", async () => {
    const busy = ordered({ kind: "refuse", status: 429, retryAfterSeconds: 3 });
    busy.arm(true);
    const refused = await call(busy.api, "POST", maps, map("a"));
    expect(refused).toMatchObject({
      status: 429,
      headers: { "retry-after": "3" },
      body: { reason: "TooManyRequests" },
    });
    busy.arm(false);
    expect(names((await call(busy.api, "GET", maps)).body)).toEqual([]);
    const broken = ordered({ kind: "refuse", status: 500 });
    broken.arm(true);
    expect(await call(broken.api, "GET", maps)).toMatchObject({ status: 500, body: { reason: "InternalError" } });
  });
  test("a delay lasts as long as the clock says", async () => {
    const clock = new ManualClock();
    const api = open({ clock, faults: () => [{ kind: "delay", ms: 5000 }] });
    let isDone = false;
    const pending = call(api, "GET", maps).then((reply) => (isDone = reply.status === 200));
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(4999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isDone).toBe(false);
    clock.advance(1);
    await pending;
    expect(isDone).toBe(true);
  });
});

describe("watches", () => {
  test("timeoutSeconds ends one, a bookmark comes every minute, and nothing sleeps on afterwards", async () => {
    const clock = new ManualClock();
    const api = open({ clock });
    const idle = clock.sleeping;
    const { body } = await call(api, "GET", maps);
    const revision = textOf(dig(body, "metadata", "resourceVersion"));
    const watch = await openWatch(api, `resourceVersion=${revision}&allowWatchBookmarks=true&timeoutSeconds=100`);
    clock.advance(60_000);
    expect(await watch.next()).toMatchObject({ type: "BOOKMARK", object: { metadata: { resourceVersion: revision } } });
    clock.advance(40_000);
    expect(await watch.next()).toBeUndefined();
    expect(clock.sleeping).toBe(idle);
  });
  test("an aborted signal ends one and leaves no timer", async () => {
    const clock = new ManualClock();
    const api = open({ clock });
    const idle = clock.sleeping;
    const stop = new AbortController();
    const watch = await openWatch(api, "resourceVersion=0", stop.signal);
    stop.abort();
    expect(await watch.next()).toBeUndefined();
    expect(clock.sleeping).toBe(idle);
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
  test("a watch that is refused, or whose client has gone before it began, leaves nothing behind", async () => {
    const clock = new ManualClock();
    const api = open({ clock });
    const idle = clock.sleeping;
    await call(api, "POST", maps, map("a"));
    api.compact();
    const refused = await openWatch(api, "resourceVersion=1&allowWatchBookmarks=true");
    expect(await refused.next()).toMatchObject({ type: "ERROR" });
    const gone = await openWatch(api, "resourceVersion=0", AbortSignal.abort());
    while ((await gone.next()) !== undefined);
    expect(clock.sleeping).toBe(idle);
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
});

describe("garbage collection", () => {
  test("background: the owner goes, then its dependents", async () => {
    const api = open();
    await family(api);
    await call(api, "DELETE", `${maps}/owner`, { propagationPolicy: "Background" });
    expect(await left(api)).toEqual([]);
  });
  test("orphan: the dependents stay and forget their owner", async () => {
    const api = open();
    await family(api);
    await call(api, "DELETE", `${maps}/owner`, { propagationPolicy: "Orphan" });
    expect(await left(api)).toEqual(["child"]);
    expect(dig((await call(api, "GET", `${maps}/child`)).body, "metadata", "ownerReferences")).toBeUndefined();
  });
  test("foreground: the owner waits for a dependent that blocks", async () => {
    const api = open();
    await family(api, true);
    const hold = { metadata: { finalizers: ["x.test/hold"] } };
    await call(api, "PATCH", `${maps}/child`, hold, "application/merge-patch+json");
    await call(api, "DELETE", `${maps}/owner`, { propagationPolicy: "Foreground" });
    expect(await left(api)).toEqual(["child", "owner"]);
    await call(api, "PATCH", `${maps}/child`, { metadata: { finalizers: null } }, "application/merge-patch+json");
    expect(await left(api)).toEqual([]);
  });
  test("an owner that never was: collected; an owner of an unknown kind: left alone", async () => {
    const api = open();
    const absent = { apiVersion: "v1", kind: "ConfigMap", name: "nobody", uid: "11111111-1111-4111-8111-111111111111" };
    await call(api, "POST", maps, map("lost", { ownerReferences: [absent] }));
    await call(
      api,
      "POST",
      maps,
      map("odd", { ownerReferences: [{ ...absent, apiVersion: "other.test/v1", kind: "Odd" }] }),
    );
    expect(await left(api)).toEqual(["odd"]);
  });
  test("one of two owners gone: the other keeps the dependent", async () => {
    const api = open();
    const reference = await family(api);
    const other = await call(api, "POST", maps, map("other"));
    const second = { ...reference, name: "other", uid: textOf(dig(other.body, "metadata", "uid")) };
    await call(api, "POST", maps, map("shared", { ownerReferences: [reference, second] }));
    await call(api, "DELETE", `${maps}/owner`);
    expect(await left(api)).toEqual(["other", "shared"]);
  });
});

test("a namespace with 1,000 objects goes with all of them", async () => {
  const api = open();
  await call(api, "POST", "/api/v1/namespaces", map("full"));
  const collection = "/api/v1/namespaces/full/configmaps";
  await Promise.all(Array.from({ length: 1000 }, (_, at) => call(api, "POST", collection, map(`m${at}`))));
  await call(api, "DELETE", "/api/v1/namespaces/full");
  await api.settled();
  expect((await call(api, "GET", "/api/v1/namespaces/full")).status).toBe(404);
  expect(names((await call(api, "GET", collection)).body)).toEqual([]);
});

test("an event is forgotten an hour after it was last told, and not before", async () => {
  const clock = new ManualClock();
  const api = open({ clock });
  const events = "/api/v1/namespaces/default/events";
  const involvedObject = { kind: "Pod", namespace: "default", name: "p" };
  await call(api, "POST", events, { ...map("old"), involvedObject });
  await call(api, "POST", events, { ...map("repeated"), involvedObject });
  const later = async (minutes: number) => {
    for (let at = 0; at < minutes; at += 5) {
      clock.advance(5 * 60_000);
      // The sweep awakes, writes, and falls asleep again.
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await later(50);
  const lastTimestamp = new Date(clock.now()).toISOString().replace(".000", "");
  await call(api, "PATCH", `${events}/repeated`, { lastTimestamp, count: 2 }, "application/merge-patch+json");
  expect(names((await call(api, "GET", events)).body)).toEqual(["old", "repeated"]);
  await later(20);
  expect(names((await call(api, "GET", events)).body)).toEqual(["repeated"]);
  await later(60);
  expect(names((await call(api, "GET", events)).body)).toEqual([]);
});

test("a key __proto__ is a key, escaped or not, and taints nothing", async () => {
  const api = open();
  for (const key of ["__proto__", "\\u005f_proto__"]) {
    const body = `{"metadata":{"name":"a"},"data":{"${key}":"v"},"tainted":{"${key}":{"tainted":"yes"}}}`;
    const response = await api.transport({ method: "POST", path: `${maps}?dryRun=All`, headers: {}, body });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString("utf8")).toContain('"data":{"__proto__":"v"}');
  }
  expect(({} as Record<string, unknown>)["tainted"]).toBeUndefined();
});
