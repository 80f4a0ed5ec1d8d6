// The reflector through its informer, against a server in memory. Test names follow client-go's reflector and informer.
import { afterEach, beforeAll, describe, expect, test } from "vitest";

import type { AnyObject } from "../meta.ts";
import { defineResource } from "../resource.ts";
import { KubeClient } from "../rest.ts";
import { FakeApi } from "../testing/fake-api.ts";
import { Feed, json, status } from "../testing/fake-transport.ts";
import { ManualClock, settle } from "../testing/manual-clock.ts";
import { NotSentError } from "../transport/transport.ts";
import { Informer, type InformerEvent, type InformerOptions } from "./informer.ts";

interface Pool extends AnyObject {
  spec?: { node: string };
}
const pools = defineResource<Pool>({ group: "h.io", version: "v1", plural: "pools", kind: "Pool", namespaced: true });
const path = (name: string) => `/apis/h.io/v1/namespaces/a/pools/${name}`;
const pool = (node: string): Pool => ({ metadata: {}, spec: { node } });

/** A look at the server's version. */
const look = "/apis/h.io/v1/namespaces/default/pools?fieldSelector=metadata.name%3Dholdfast&limit=1";
/** What each list asked for, without what stands before the question mark. */
const lists = (api: FakeApi) =>
  api.requests
    .filter(({ path: at }) => !at.includes("watch=true") && at !== look)
    .map(({ path: at }) => at.split("?")[1] ?? "");

let end: (() => Promise<void>) | undefined;
afterEach(async () => end?.());

/** What both must keep: objects as they are, and packed. */
const keepings = [
  ["kept as they are", {}],
  ["packed", { packed: { repeats: ["node"] } }],
] as const;
let keeping: Pick<InformerOptions<Pool>, "packed"> = {};

async function started(options: Partial<InformerOptions<Pool>> = {}, prepare: (api: FakeApi) => void = () => {}) {
  const clock = new ManualClock();
  const api = new FakeApi();
  prepare(api);
  const client = new KubeClient({ transport: api.transport, clock });
  const errors: Error[] = [];
  const informer = new Informer<Pool>({
    client,
    resource: pools,
    clock,
    random: () => 0,
    indexes: { node: ({ spec }) => (spec === undefined ? [] : [spec.node]) },
    onError: (error) => errors.push(error),
    ...keeping,
    ...options,
  });
  const seen: string[] = [];
  const events: InformerEvent<Pool>[] = [];
  informer.handle((event) => {
    events.push(event);
    seen.push(`${event.type} ${event.object.metadata.name} ${event.object.spec?.node}`);
  });
  const stop = new AbortController();
  const run = informer.run(stop.signal);
  end = async () => {
    stop.abort();
    await run;
    expect(clock.pending).toBe(0); // no timer leaked
    end = undefined;
  };
  await settle();
  return { clock, api, informer, errors, seen, events, names: () => [...informer.cache.keys()].sort() };
}

describe.each(keepings)("informer, objects %s", (_how, how) => {
  beforeAll(() => void (keeping = how));

  test("lists, syncs, then follows adds, updates and deletes in order", async () => {
    const { api, informer, seen, events } = await started({}, (fake) => fake.put(path("p1"), pool("n1")));
    expect(informer.hasSynced).toBe(true);
    api.put(path("p2"), pool("n1"));
    api.put(path("p1"), pool("n2"));
    api.remove(path("p2"));
    await settle();
    expect(seen).toEqual(["add p1 n1", "add p2 n1", "update p1 n2", "delete p2 n1"]);
    const update = events[2]!;
    expect(update.type === "update" && update.previous.spec?.node).toBe("n1");
  });

  test("handlers see the cache as it is after the event", async () => {
    const { api, informer } = await started();
    const sizes: number[] = [];
    informer.handle(() => sizes.push(informer.cache.size));
    api.put(path("p1"), pool("n"));
    api.put(path("p2"), pool("n"));
    api.remove(path("p1"));
    await settle();
    expect(sizes).toEqual([1, 2, 1]);
  });

  test("a late handler is told of what is cached, and can be taken away", async () => {
    const { api, informer } = await started({}, (fake) => fake.put(path("p1"), pool("n")));
    const late: string[] = [];
    const away = informer.handle(({ type }) => late.push(type));
    away();
    api.put(path("p2"), pool("n"));
    await settle();
    expect(late).toEqual(["add"]);
  });

  test("a handler added by a handler hears of an object once", async () => {
    const { api, informer } = await started();
    const late: string[] = [];
    const away = informer.handle(() => {
      away();
      informer.handle(({ type, object }) => late.push(`${type} ${object.metadata.name}`));
    });
    api.put(path("p1"), pool("n"));
    await settle();
    expect(late).toEqual(["add p1"]);
  });

  test("a handler that throws stops neither the others nor the informer", async () => {
    const { api, informer, seen, errors } = await started();
    informer.handle(() => {
      throw new Error("handler");
    });
    api.put(path("p1"), pool("n"));
    api.put(path("p2"), pool("n"));
    await settle();
    expect(seen).toHaveLength(2);
    expect(errors.map(({ message }) => message)).toEqual(["handler", "handler"]);
  });

  test("objects are frozen, and without managedFields", async () => {
    const { informer } = await started({}, (fake) =>
      fake.put(path("p1"), { metadata: { managedFields: [{}], labels: { a: "b" } }, spec: { node: "n" } }),
    );
    const object = informer.cache.get("a/p1")! as Pool;
    expect(() => (object.spec!.node = "x")).toThrow(TypeError);
    expect(() => (object.metadata.labels!["a"] = "x")).toThrow(TypeError);
    expect(object.metadata).not.toHaveProperty("managedFields");
  });

  test("indexes follow updates and deletes", async () => {
    const { api, informer } = await started({}, (fake) => {
      fake.put(path("p1"), pool("n1"));
      fake.put(path("p2"), pool("n1"));
    });
    const on = (node: string) => informer.cache.byIndex("node", node).map(({ metadata }) => metadata.name);
    expect(on("n1")).toEqual(["p1", "p2"]);
    api.put(path("p1"), pool("n2"));
    api.remove(path("p2"));
    await settle();
    expect([on("n1"), on("n2")]).toEqual([[], ["p1"]]);
    expect(() => informer.cache.byIndex("nood", "n1")).toThrow(/there are: node/);
  });

  test("an index function that throws loses the object for its index only", async () => {
    const indexes = {
      node: () => {
        throw new Error("odd object");
      },
    };
    const { informer, errors } = await started({ indexes }, (fake) => fake.put(path("p1"), pool("n")));
    expect(informer.cache.size).toBe(1);
    expect(informer.cache.byIndex("node", "n")).toEqual([]);
    expect(errors[0]!.message).toBe("odd object");
  });

  test("selectors go with the list and with the watch", async () => {
    const { api } = await started({
      scope: { namespace: "a", labelSelector: "x=y", fieldSelector: "metadata.name=p" },
    });
    expect(api.requests).toHaveLength(2);
    for (const request of api.requests) {
      expect(request.path).toContain("/namespaces/a/pools?");
      expect(request.path).toContain("labelSelector=x%3Dy&fieldSelector=metadata.name%3Dp");
    }
  });

  test("synced waits for the first whole list, or for its signal", async () => {
    const { informer } = await started({}, (fake) => (fake.fault = () => status(403, "Forbidden", "no")));
    expect(informer.hasSynced).toBe(false);
    await expect(informer.synced(AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
    expect(informer.lastError?.message).toContain("Forbidden");
  });
});

describe.each(keepings)("reflector, objects %s", (_how, how) => {
  beforeAll(() => void (keeping = how));

  test("lists by pages", async () => {
    const { api, names } = await started({ pageSize: 2 }, (fake) => {
      for (let i = 0; i < 5; i++) fake.put(path(`p${i}`), pool("n"));
    });
    expect(names()).toHaveLength(5);
    expect(api.count("GET", "limit=2")).toBe(3);
  });

  test("expired continue token: falls back to one whole list", async () => {
    let pages = 0;
    const { names, api } = await started({ pageSize: 2 }, (fake) => {
      for (let i = 0; i < 5; i++) fake.put(path(`p${i}`), pool("n"));
      fake.fault = ({ path: asked }) => {
        if (!asked.includes("limit=2") || ++pages !== 2) return undefined;
        fake.remove(path("p0"));
        return status(410, "Expired");
      };
    });
    expect(names()).toEqual(["a/p1", "a/p2", "a/p3", "a/p4"]);
    expect(api.requests.filter(({ path: asked }) => !asked.includes("limit") && !asked.includes("watch"))).toHaveLength(
      1,
    );
  });

  test("a look at the version of who follows one object asks for that object", async () => {
    const scope = { namespace: "a", fieldSelector: "metadata.name=p" };
    const { api, clock } = await started({ scope });
    api.cutWatches(new Error("reset"));
    await clock.advance(5000);
    expect(lists(api).at(-1)).toBe("fieldSelector=metadata.name%3Dp&limit=1");
    expect(api.watchers).toBe(1);
  });

  test("watch that ends is resumed from the last event, without a list", async () => {
    const { api, clock, seen } = await started({}, (fake) => fake.put(path("p1"), pool("n")));
    await clock.advance(5000);
    api.put(path("p2"), pool("n"));
    await settle();
    api.cutWatches();
    api.put(path("p3"), pool("n"));
    await settle();
    expect(seen).toEqual(["add p1 n", "add p2 n", "add p3 n"]);
    expect(lists(api)).toHaveLength(1);
    expect(api.requests.at(-1)!.path).toContain("resourceVersion=102");
  });

  test("bookmark resume: a quiet watch resumes from the bookmark, though history is gone", async () => {
    const { api, clock } = await started({}, (fake) => fake.put(path("p1"), pool("n")));
    await clock.advance(5000);
    for (let i = 0; i < 10; i++) api.put(`/apis/h.io/v1/namespaces/a/others/o${i}`, pool("n"));
    api.bookmark();
    api.compact();
    await settle();
    api.cutWatches();
    await settle();
    expect(api.requests.at(-1)!.path).toContain(`resourceVersion=${api.version}`);
    expect(lists(api)).toHaveLength(1);
  });

  test("410 relist: a forgotten version leads to a list; what was missed is told", async () => {
    const { api, clock, seen, events } = await started({}, (fake) => {
      fake.put(path("gone"), pool("n"));
      fake.put(path("same"), pool("n"));
      fake.put(path("changed"), pool("n"));
    });
    await clock.advance(5000);
    api.cutWatches(new Error("reset"));
    api.remove(path("gone"));
    api.put(path("changed"), pool("n2"));
    api.put(path("new"), pool("n"));
    api.compact();
    seen.length = 0;
    events.length = 0;
    await clock.advance(10_000);
    expect(seen).toEqual(["delete gone n", "update changed n2", "add new n"]);
    expect(events[0]).toMatchObject({ type: "delete", missed: true });
    expect(lists(api)).toHaveLength(2);
  });

  test("replaced while away: the same name with another uid is a delete and an add", async () => {
    const { api, clock, seen } = await started({}, (fake) => fake.put(path("p1"), pool("old")));
    api.cutWatches(new Error("reset"));
    api.remove(path("p1"));
    api.put(path("p1"), pool("new"));
    api.compact();
    await clock.advance(10_000);
    expect(seen).toEqual(["add p1 old", "delete p1 old", "add p1 new"]);
  });

  test("a new list keeps the very objects that have not changed", async () => {
    const { api, clock, informer } = await started({}, (fake) => fake.put(path("p1"), pool("n")));
    const before = informer.cache.get("a/p1");
    api.cutWatches(new Error("reset"));
    api.put(path("p2"), pool("n"));
    api.compact();
    await clock.advance(10_000);
    expect(informer.cache.size).toBe(2);
    expect(informer.cache.get("a/p1")).toBe(before);
  });

  test("too large resource version: a server restored from an older copy is listed anew", async () => {
    const { api, clock } = await started({}, (fake) => fake.put(path("p1"), pool("n")));
    api.cutWatches(new Error("reset"));
    let refused = false;
    api.fault = ({ path: asked }) => {
      if (!asked.includes("watch") || refused) return undefined;
      refused = true;
      return status(504, "Timeout", "Too large resource version", {
        details: { causes: [{ reason: "ResourceVersionTooLarge" }] },
      });
    };
    await clock.advance(20_000);
    expect(lists(api)).toHaveLength(2);
    expect(api.watchers).toBe(1);
  });

  test("a restored server, deaf to watches from its future, is listed anew; a look at its version is a read by name", async () => {
    const { api, clock, seen, errors } = await started({ fromCache: true }, (fake) => fake.put(path("p1"), pool("n")));
    const restore = api.snapshot();
    for (const node of ["n2", "n3", "n4"]) api.put(path("p1"), pool(node));
    await settle();
    restore();
    api.put(path("p2"), pool("n"));
    seen.length = 0;
    await clock.advance(5000);
    api.put(path("p3"), pool("n"));
    await settle();
    expect(seen).toEqual(["update p1 n", "add p2 n", "add p3 n"]);
    expect(lists(api)).toEqual(["resourceVersion=0", "resourceVersion=0"]);
    expect(api.count("GET", look)).toBe(1);
    expect(errors.at(-1)!.message).toContain("the server is at version 102, before 104");
  });

  test("relist: another history that has passed the version is listed, whatever the version", async () => {
    const { api, clock, informer, seen } = await started({}, (fake) => fake.put(path("p1"), pool("n")));
    const restore = api.snapshot();
    api.put(path("p1"), pool("n2"));
    await settle();
    restore();
    api.put(path("p2"), pool("n"));
    api.put(path("p3"), pool("n"));
    seen.length = 0;
    await clock.advance(5000);
    expect(seen).toEqual(["add p3 n"]);
    const watching = api.watchers;
    informer.relist();
    await clock.advance(0);
    expect(seen).toEqual(["add p3 n", "update p1 n", "add p2 n"]);
    api.put(path("p4"), pool("n"));
    await settle();
    expect(seen.at(-1)).toBe("add p4 n");
    expect(api.watchers).toBe(watching);
  });

  test("relist while a list is under way: another follows", async () => {
    const held = Promise.withResolvers<undefined>();
    const { api, clock, informer, errors } = await started({}, (fake) => {
      fake.fault = ({ path: at }) => (at.includes("watch") ? undefined : held.promise);
    });
    informer.relist();
    held.resolve(undefined);
    await clock.advance(0);
    expect(lists(api)).toEqual(["limit=1000", "limit=1000"]);
    expect([api.watchers, errors]).toEqual([1, []]);
  });

  test("connection refused: the watch is resumed from where it was, not listed", async () => {
    const { api, clock, seen } = await started();
    api.put(path("p1"), pool("n"));
    await settle();
    api.fault = () => Promise.reject(new NotSentError("connect ECONNREFUSED."));
    api.cutWatches(new Error("reset"));
    api.put(path("p2"), pool("n"));
    await clock.advance(60_000);
    api.fault = () => undefined;
    await clock.advance(60_000);
    expect(seen).toEqual(["add p1 n", "add p2 n"]);
    expect(lists(api)).toHaveLength(1);
  });

  test("backoff doubles while it fails, and resets after two healthy minutes", async () => {
    const times: number[] = [];
    const { clock, api } = await started({}, (fake) => {
      fake.fault = () => {
        times.push(0);
        return status(500, "InternalError", "down");
      };
    });
    const failures = async (waitMs: number) => {
      const before = times.length;
      await clock.advance(waitMs);
      return times.length - before;
    };
    for (const waitMs of [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]) {
      expect(await failures(waitMs - 1)).toBe(0);
      expect(await failures(1)).toBe(1);
    }
    api.fault = () => undefined;
    await clock.advance(30_000 + 150_000);
    expect(api.watchers).toBe(1);
    api.fault = () => {
      times.push(0);
      return status(500, "InternalError", "down");
    };
    api.cutWatches(new Error("reset"));
    await settle();
    expect(await failures(799)).toBe(0);
    expect(await failures(1)).toBe(1);
  });

  test("what is asked for: the latest, by pages; from the cache where the first may be behind", async () => {
    const plain = await started({ scope: { labelSelector: "a=b" } });
    expect(lists(plain.api)).toEqual(["labelSelector=a%3Db&limit=1000"]);
    await end?.();
    const cached = await started({ scope: { labelSelector: "a=b" }, fromCache: true });
    expect(lists(cached.api)).toEqual(["labelSelector=a%3Db&resourceVersion=0"]);
  });

  test("a second list is at least as new as what was seen, in one answer from the cache", async () => {
    const { api, clock } = await started({}, (fake) => fake.put(path("p1"), pool("n")));
    api.put(path("p2"), pool("n"));
    await settle();
    const seen = api.version;
    api.cutWatches(new Error("reset"));
    api.put(path("p3"), pool("n"));
    api.compact();
    await clock.advance(10_000);
    expect(lists(api)).toEqual(["limit=1000", `resourceVersion=${seen}`]);
  });

  test("a version that the server has forgotten, or never reached, is not asked for again", async () => {
    const tooLarge = { details: { causes: [{ reason: "ResourceVersionTooLarge" }] } };
    for (const answer of [
      () => status(410, "Expired", "old"),
      () => status(504, "Timeout", "Too large resource version", tooLarge),
    ]) {
      const { api, clock } = await started({}, (fake) => fake.put(path("p1"), pool("n")));
      const seen = api.version;
      api.fault = ({ path: at }) =>
        at.includes(`resourceVersion=${seen}`) && !at.includes("watch") ? answer() : undefined;
      api.cutWatches(new Error("reset"));
      api.put(path("p2"), pool("n"));
      api.compact();
      await clock.advance(20_000);
      expect(lists(api)).toEqual(["limit=1000", `resourceVersion=${seen}`, "limit=1000"]);
      expect(api.watchers).toBe(1);
      await end?.();
    }
  });

  test("Retry-After: a crowd that was sent away together does not come back together", async () => {
    const times = await Promise.all(
      [0, 0.25, 0.5, 0.9].map(async (random) => {
        const asked: number[] = [];
        const clock = new ManualClock();
        const transport = async () => {
          asked.push(clock.monotonicMs());
          return json(429, { kind: "Status", code: 429, reason: "TooManyRequests" }, { "retry-after": "20" });
        };
        const stop = new AbortController();
        const client = new KubeClient({ transport, clock });
        const running = new Informer({ client, resource: pools, clock, random: () => random }).run(stop.signal);
        await clock.advance(45_000);
        stop.abort();
        await running;
        return asked[1]! - asked[0]!;
      }),
    );
    expect(times).toEqual([20_000, 25_000, 30_000, 38_000]);
  });

  test("Retry-After beyond the backoff is honoured", async () => {
    let asked = 0;
    const { clock } = await started({}, (fake) => {
      fake.fault = () => {
        asked++;
        return json(429, { kind: "Status", code: 429, reason: "TooManyRequests" }, { "retry-after": "20" });
      };
    });
    await clock.advance(19_999);
    expect(asked).toBe(1);
    await clock.advance(1);
    expect(asked).toBe(2);
  });

  test("Retry-After: a day, or a date read by a clock that is wrong by one, does not stop the informer for a day", async () => {
    let asked = 0;
    const { clock } = await started({}, (fake) => {
      fake.fault = () => {
        asked++;
        return json(503, { kind: "Status", code: 503, reason: "ServiceUnavailable" }, { "retry-after": "86400" });
      };
    });
    await clock.advance(60_000);
    expect(asked).toBe(2);
  });

  test("idle deadline: a watch that fell silent is reopened", async () => {
    const { api, clock, errors } = await started({ idleMs: 60_000 });
    expect(api.count("GET", "watch")).toBe(1);
    await clock.advance(50_000);
    api.bookmark();
    await clock.advance(50_000);
    expect(api.count("GET", "watch")).toBe(1);
    await clock.advance(10_000 + 800);
    expect(api.count("GET", "watch")).toBe(2);
    expect(errors[0]!.message).toContain("60000 ms");
  });

  test("very short watch: a server that closes at once is not hammered", async () => {
    const { api, clock } = await started({}, (fake) => {
      fake.fault = ({ path: asked }) => {
        if (!asked.includes("watch")) return undefined;
        const body = new Feed();
        body.end();
        return { status: 200, headers: {}, body };
      };
    });
    await clock.advance(10_000);
    expect(api.count("GET", "watch")).toBeLessThanOrEqual(5);
  });

  test("very short watch: one that only repeats the version we came with is not hammered either", async () => {
    const { api, clock } = await started({}, (fake) => {
      fake.fault = ({ path: asked }) => {
        if (!asked.includes("watch")) return undefined;
        const body = new Feed();
        body.push('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"100"}}}\n');
        body.end();
        return { status: 200, headers: {}, body };
      };
    });
    await clock.advance(10_000);
    expect(api.count("GET", "watch")).toBeLessThanOrEqual(5);
  });

  test.each([
    ["a word", "rubbish"],
    ["null", "null"],
    ["an event without an object", '{"type":"ADDED"}'],
    ["a bookmark of nothing", '{"type":"BOOKMARK","object":null}'],
    ["an object without metadata", '{"type":"MODIFIED","object":{}}'],
    ["an error of nothing", '{"type":"ERROR","object":null}'],
    [
      "an error with odd details",
      '{"type":"ERROR","object":{"code":410,"details":{"causes":{},"retryAfterSeconds":"x"}}}',
    ],
  ])("rubbish in the stream leads to a list: %s", async (_name, rubbish) => {
    let served = false;
    const { api, clock } = await started({}, (fake) => {
      fake.fault = ({ path: asked }) => {
        if (!asked.includes("watch") || served) return undefined;
        served = true;
        const body = new Feed();
        body.push(`${rubbish}\n`);
        return { status: 200, headers: {}, body };
      };
    });
    await clock.advance(2000);
    expect(lists(api)).toHaveLength(2);
    expect(api.watchers).toBe(1);
  });
});
