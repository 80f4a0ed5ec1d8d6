import { describe, expect, test } from "vitest";

import { ApiError, isApiError } from "./errors.ts";
import type { KubeObject } from "./meta.ts";
import { defineResource } from "./resource.ts";
import { KubeClient } from "./rest.ts";
import { type Answer, fakeTransport, Feed, json, status } from "./testing/fake-transport.ts";
import { ManualClock } from "./testing/manual-clock.ts";
import { NotSentError } from "./transport/transport.ts";

interface Pool extends KubeObject {
  spec?: { range: string };
}
const pools = defineResource<Pool>({ group: "h.io", version: "v1", plural: "pools", kind: "Pool", namespaced: true });
const nodes = defineResource({ group: "", version: "v1", plural: "nodes", kind: "Node", namespaced: false });
const at = { namespace: "a", name: "p" };
const pool = { metadata: { namespace: "a", name: "p" } };

const ok: Answer = () => json(200, pool);
const expired: Answer = () => status(410, "Expired");

function clientWith(...answers: readonly Answer[]) {
  const { transport, requests } = fakeTransport(...answers);
  const clock = new ManualClock();
  return { client: new KubeClient({ transport, clock }), requests, clock };
}

const failure = (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    () => expect.unreachable("the call succeeded"),
    (error: unknown) => {
      expect(error).toBeInstanceOf(ApiError);
      return error as ApiError;
    },
  );

const rubbish: Answer = () => {
  const body = new Feed();
  body.push("<html>");
  body.end();
  return { status: 200, headers: {}, body };
};

const page =
  (names: string[], next?: string): Answer =>
  () =>
    json(200, {
      metadata: { resourceVersion: "9", ...(next === undefined ? {} : { continue: next }) },
      items: names.map((name) => ({ metadata: { name } })),
    });

const open = (...texts: string[]): { answer: Answer; feed: Feed } => {
  const feed = new Feed();
  for (const text of texts) feed.push(text);
  return { answer: () => ({ status: 200, headers: {}, body: feed }), feed };
};

describe("requests", () => {
  test.each([
    ["get", (c: KubeClient) => c.get(pools, at), "GET", "/apis/h.io/v1/namespaces/a/pools/p"],
    ["get, cluster-wide core kind", (c: KubeClient) => c.get(nodes, { name: "n" }), "GET", "/api/v1/nodes/n"],
    [
      "get status",
      (c: KubeClient) => c.get(pools, { ...at, subresource: "status" }),
      "GET",
      "/apis/h.io/v1/namespaces/a/pools/p/status",
    ],
    [
      "create",
      (c: KubeClient) => c.create(pools, pool, { dryRun: true, fieldManager: "m" }),
      "POST",
      "/apis/h.io/v1/namespaces/a/pools?dryRun=All&fieldManager=m",
    ],
    ["update", (c: KubeClient) => c.update(pools, pool), "PUT", "/apis/h.io/v1/namespaces/a/pools/p"],
    [
      "update status",
      (c: KubeClient) => c.update(pools, pool, { subresource: "status" }),
      "PUT",
      "/apis/h.io/v1/namespaces/a/pools/p/status",
    ],
    [
      "create on a subresource",
      (c: KubeClient) => c.create(pools, pool, { name: "p", subresource: "eviction" }),
      "POST",
      "/apis/h.io/v1/namespaces/a/pools/p/eviction",
    ],
    ["delete", (c: KubeClient) => c.delete(pools, at), "DELETE", "/apis/h.io/v1/namespaces/a/pools/p"],
    [
      "delete many",
      (c: KubeClient) => c.deleteCollection(pools, { namespace: "a", labelSelector: "x=y" }),
      "DELETE",
      "/apis/h.io/v1/namespaces/a/pools?labelSelector=x%3Dy",
    ],
  ])("%s", async (_name, call, method, path) => {
    const { client, requests } = clientWith(ok);
    await call(client);
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({ method, path });
  });

  test.each([
    [
      { type: "json", operations: [{ op: "remove", path: "/a" }] } as const,
      "application/json-patch+json",
      '[{"op":"remove","path":"/a"}]',
    ],
    [{ type: "merge", body: { a: 1 } } as const, "application/merge-patch+json", '{"a":1}'],
    [{ type: "strategic", body: { a: 1 } } as const, "application/strategic-merge-patch+json", '{"a":1}'],
    [{ type: "apply", body: { a: 1 }, force: true } as const, "application/apply-patch+yaml", '{"a":1}'],
  ])("patch $type", async (patch, contentType, body) => {
    const { client, requests } = clientWith(ok);
    await client.patch(pools, at, patch, { fieldManager: "m" });
    expect(requests[0]!.headers["content-type"]).toBe(contentType);
    expect(requests[0]!.body).toBe(body);
    expect(requests[0]!.path.includes("force=true")).toBe(patch.type === "apply");
  });

  test("delete sends preconditions and propagation, and tells gone from going", async () => {
    const { client, requests } = clientWith(
      () => json(200, { kind: "Status", status: "Success" }),
      () => json(200, { kind: "Pool", metadata: { name: "p", deletionTimestamp: "now" } }),
    );
    const options = { preconditions: { uid: "u", resourceVersion: "7" }, propagationPolicy: "Foreground" } as const;
    expect(await client.delete(pools, at, options)).toBeUndefined();
    expect(JSON.parse(String(requests[0]!.body))).toMatchObject(options);
    expect((await client.delete(pools, at))?.metadata.deletionTimestamp).toBe("now");
  });

  test("an object frozen by an informer can be sent", async () => {
    const { client, requests } = clientWith(ok);
    await client.update(pools, Object.freeze({ metadata: Object.freeze({ namespace: "a", name: "p" }) }));
    expect(JSON.parse(String(requests[0]!.body))).toMatchObject({ apiVersion: "h.io/v1", kind: "Pool" });
  });

  test.each(["", ".", "..", "a/b", "50%"])(
    "a name that changes the meaning of the path is refused: %j",
    async (name) => {
      const { client, requests } = clientWith(ok);
      await expect(client.delete(pools, { namespace: "a", name })).rejects.toThrow(TypeError);
      expect(requests).toHaveLength(0);
    },
  );

  test.each(["", "..", "status/../../other", "a//b"])(
    "a subresource that changes the meaning of the path is refused: %j",
    async (subresource) => {
      const { client, requests } = clientWith(ok);
      await expect(client.get(pools, { ...at, subresource })).rejects.toThrow(TypeError);
      expect(requests).toHaveLength(0);
    },
  );

  test("a delete of everything in all namespaces is refused", async () => {
    const { client } = clientWith(ok);
    await expect(client.deleteCollection(pools, {})).rejects.toThrow(/without a namespace/);
  });
});

describe("errors are typed by reason", () => {
  test.each([
    [404, "NotFound", "not-found"],
    [409, "AlreadyExists", "already-exists"],
    [409, "Conflict", "conflict"],
    [410, "Gone", "gone"],
    [410, "Expired", "gone"],
    [422, "Invalid", "invalid"],
    [403, "Forbidden", "forbidden"],
    [401, "Unauthorized", "unauthorized"],
    [429, "TooManyRequests", "too-many-requests"],
    [413, "RequestEntityTooLarge", "too-large"],
    [503, "ServiceUnavailable", "unavailable"],
    [500, "InternalError", "internal"],
    [504, "Timeout", "outcome-unknown"],
    [500, "ServerTimeout", "outcome-unknown"],
  ])("%i %s is %s", async (code, reason, expected) => {
    const { client } = clientWith(() => status(code, reason, "words"));
    const error = await failure(client.create(pools, pool));
    expect(error).toMatchObject({ code: expected, status: code, reason });
    expect(error.message).toMatch(/^create Pool a\/p: .*words/);
  });

  test("a 500 that is etcd's timeout leaves the outcome open", async () => {
    const { client } = clientWith(() => status(500, "", "etcdserver: request timed out"));
    expect((await failure(client.create(pools, pool))).code).toBe("outcome-unknown");
  });

  test("a 500 without a reason is the API server at a loss: etcd may have the write", async () => {
    const lostEtcd = "rpc error: code = Unavailable desc = error reading from server: EOF";
    const { client } = clientWith(() => status(500, "", lostEtcd));
    expect((await failure(client.create(pools, pool))).code).toBe("outcome-unknown");
  });

  test("a reason is only ever one of those known, whatever a webhook calls its own", async () => {
    const { client } = clientWith(() => status(403, "constructor"));
    expect((await failure(client.create(pools, pool))).code).toBe("forbidden");
  });

  test.each([500, 502, 503, 504])(
    "a proxy's %i leaves the outcome open, and its plain text is carried in the message",
    async (code) => {
      const feed = new Feed();
      feed.push("upstream went away");
      feed.end();
      const { client } = clientWith(() => ({ status: code, headers: {}, body: feed }));
      const error = await failure(client.create(pools, pool));
      expect(error.code).toBe("outcome-unknown");
      expect(error.message).toContain("upstream went away");
    },
  );

  test.each([
    ["the header in seconds", { "retry-after": "3" }, {}, 3000],
    ["the header as a date", { "retry-after": new Date(new ManualClock().wallMs() + 5000).toUTCString() }, {}, 5000],
    ["the details", {}, { details: { retryAfterSeconds: 2 } }, 2000],
    ["nothing", {}, {}, undefined],
  ])("Retry-After from %s", async (_name, headers, extra, expected) => {
    const { client } = clientWith(() =>
      json(429, { kind: "Status", code: 429, reason: "TooManyRequests", ...extra }, headers),
    );
    expect((await failure(client.get(pools, at))).retryAfterMs).toBe(expected);
  });
});

describe("what a lost answer means", () => {
  test("a write whose connection broke is outcome-unknown, and is not sent again", async () => {
    const { client, requests } = clientWith(() => Promise.reject(new Error("other side closed")));
    const error = await failure(client.create(pools, pool));
    expect(error.code).toBe("outcome-unknown");
    expect((error.cause as Error).message).toBe("other side closed");
    expect(requests).toHaveLength(1);
  });

  test("a read whose connection broke is asked again, once", async () => {
    const { client, requests } = clientWith(
      () => Promise.reject(new Error("other side closed")),
      () => json(200, pool),
    );
    await client.get(pools, at);
    expect(requests).toHaveLength(2);
  });

  test("a write that could not be sent is unreachable", async () => {
    const { client } = clientWith(() => Promise.reject(new NotSentError("connect ECONNREFUSED.")));
    expect((await failure(client.create(pools, pool))).code).toBe("unreachable");
  });

  test("a deadline is outcome-unknown, cancels the request and leaves no timer", async () => {
    const { client, requests, clock } = clientWith(() => new Promise(() => {}));
    const pending = failure(client.create(pools, pool, { timeoutMs: 500 }));
    await clock.advance(499);
    expect(requests[0]!.signal!.aborted).toBe(false);
    await clock.advance(1);
    expect((await pending).code).toBe("outcome-unknown");
    expect(requests[0]!.signal!.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });

  test("the deadline holds for the body too", async () => {
    const { client, clock } = clientWith(() => ({ status: 201, headers: {}, body: new Feed() }));
    const pending = failure(client.create(pools, pool, { timeoutMs: 500 }));
    await clock.advance(500);
    expect((await pending).code).toBe("outcome-unknown");
  });

  test("a caller who gives up a read hears aborted, of a write outcome-unknown", async () => {
    const { client } = clientWith(() => new Promise(() => {}));
    const controller = new AbortController();
    const read = failure(client.get(pools, at, { signal: controller.signal }));
    const write = failure(client.create(pools, pool, { signal: controller.signal }));
    controller.abort(new Error("stop"));
    expect((await read).code).toBe("aborted");
    expect((await write).code).toBe("outcome-unknown");
  });

  test("a write given up before it was sent did not happen", async () => {
    const { client, requests } = clientWith(() => json(201, pool));
    const error = await failure(client.create(pools, pool, { signal: AbortSignal.abort() }));
    expect(error.code).toBe("aborted");
    expect(requests).toHaveLength(0);
  });

  test("a write answered with rubbish is outcome-unknown, a read malformed", async () => {
    const { client } = clientWith(rubbish);
    expect((await failure(client.create(pools, pool))).code).toBe("outcome-unknown");
    expect((await failure(client.get(pools, at))).code).toBe("malformed");
  });
});

describe("list", () => {
  test("follows the pages, fills in the type, keeps the selectors", async () => {
    const { client, requests } = clientWith(page(["a", "b"], "t1"), page(["c"]));
    const { items, metadata } = await client.list(pools, { labelSelector: "x", pageSize: 2 });
    expect(items.map(({ metadata: { name }, kind }) => `${kind} ${name}`)).toEqual(["Pool a", "Pool b", "Pool c"]);
    expect(metadata.resourceVersion).toBe("9");
    expect(requests.map(({ path }) => path)).toEqual([
      "/apis/h.io/v1/pools?labelSelector=x&limit=2",
      "/apis/h.io/v1/pools?labelSelector=x&limit=2&continue=t1",
    ]);
  });

  test("a snapshot forgotten between pages starts anew, in one answer", async () => {
    const { client, requests } = clientWith(page(["a"], "t1"), expired, page(["a", "b"]));
    const { items } = await client.list(pools, { pageSize: 1 });
    expect(items.map((item) => item.metadata.name)).toEqual(["a", "b"]);
    expect(requests[2]!.path).not.toContain("limit");
  });

  test("a server that is busy in the middle of a list is left alone as it asks, and the pages before are not asked for again", async () => {
    const busy: Answer = () => json(429, { kind: "Status", code: 429 }, { "retry-after": "7" });
    const { client, requests, clock } = clientWith(page(["a"], "t1"), busy, busy, page(["b"]));
    const listed = client.list(pools, { pageSize: 1 });
    await clock.advance(6999);
    expect(requests).toHaveLength(2);
    await clock.advance(28_001);
    expect((await listed).items.map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
    expect(requests).toHaveLength(4);
    expect(clock.pending).toBe(0);
  });
  test("one that stays busy, or is busy at the first page, is the caller's to know", async () => {
    const busy: Answer = () => json(429, { kind: "Status", code: 429 }, { "retry-after": "1" });
    const first = clientWith(busy);
    expect(await failure(first.client.list(pools))).toMatchObject({ code: "too-many-requests", retryAfterMs: 1000 });
    const { client, requests, clock } = clientWith(page(["a"], "t1"), busy, busy, busy, busy, busy);
    const refused = failure(client.list(pools, { pageSize: 1 }));
    await clock.advance(10_000);
    expect(await refused).toMatchObject({ code: "too-many-requests" });
    expect(requests).toHaveLength(6);
  });
  test("a first page that is gone is the caller's to know", async () => {
    const { client } = clientWith(() => status(410, "Expired"));
    expect(isApiError(await failure(client.list(pools)), "gone")).toBe(true);
  });
});

describe("watch", () => {
  test("events arrive in order, whole, across chunk borders", async () => {
    const line = JSON.stringify({ type: "ADDED", object: { metadata: { name: "ä" } } });
    const { answer, feed } = open(
      line.slice(0, 30),
      `${line.slice(30)}\n{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}\n`,
    );
    feed.end();
    const { client, requests } = clientWith(answer);
    const seen = await Array.fromAsync(
      client.watch(pools, { resourceVersion: "5", timeoutSeconds: 60, namespace: "a" }),
    );
    expect(seen).toEqual([
      { type: "ADDED", object: { metadata: { name: "ä" } } },
      { type: "BOOKMARK", resourceVersion: "12" },
    ]);
    expect(requests[0]!.path).toBe(
      "/apis/h.io/v1/namespaces/a/pools?watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=60",
    );
  });

  test("the stream's own error is thrown", async () => {
    const { answer } = open(
      '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n',
    );
    const { client } = clientWith(answer);
    expect((await failure(Array.fromAsync(client.watch(pools, { resourceVersion: "5" })))).code).toBe("gone");
  });

  test("silence beyond the idle deadline fails the watch; each line extends it", async () => {
    const { answer, feed } = open();
    const { client, clock } = clientWith(answer);
    const pending = failure(Array.fromAsync(client.watch(pools, { resourceVersion: "5", idleMs: 1000 })));
    await clock.advance(900);
    feed.push('{"type":"BOOKMARK","object":{"metadata":{}}}\n');
    await clock.advance(900);
    const state = await Promise.race([pending, Promise.resolve("open")]);
    expect(state).toBe("open");
    await clock.advance(200);
    expect((await pending).code).toBe("outcome-unknown");
    expect(clock.pending).toBe(0);
  });

  test("a consumer that stops closes the stream", async () => {
    const { answer } = open('{"type":"ADDED","object":{"metadata":{}}}\n');
    const { client, requests, clock } = clientWith(answer);
    for await (const event of client.watch(pools, { resourceVersion: "5" })) {
      expect(event.type).toBe("ADDED");
      break;
    }
    expect(requests[0]!.signal!.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });
});
