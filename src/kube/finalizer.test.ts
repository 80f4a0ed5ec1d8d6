import { describe, expect, test } from "vitest";

import { type Condition, findCondition, isEqual, updateStatus, withCondition } from "./conditions.ts";
import { addFinalizer, hasFinalizer, removeFinalizer } from "./finalizer.ts";
import { thaw, deepFreeze } from "./freeze.ts";
import { ManualClock } from "./manual-clock.ts";
import { type AnyObject, keyOf, parseKey } from "./meta.ts";
import { defineResource } from "./resource.ts";
import { KubeClient } from "./rest.ts";
import { FakeApi } from "./testing/fake-api.ts";

interface Pool extends AnyObject {
  status?: { conditions: readonly Condition[] };
}
const pools = defineResource<Pool>({ group: "h.io", version: "v1", plural: "pools", kind: "Pool", namespaced: true });
const path = "/apis/h.io/v1/namespaces/a/pools/p";
const at = { namespace: "a", name: "p" };
const ours = "holdfast.io/addresses";

function world(finalizers?: string[]) {
  const api = new FakeApi();
  const client = new KubeClient({ transport: api.transport, clock: new ManualClock() });
  const object = api.put(path, { metadata: finalizers === undefined ? {} : { finalizers } }) as Pool;
  const current = async () => (await client.get(pools, at)).metadata.finalizers;
  return { api, client, object, current };
}

describe("finalizers", () => {
  test.each([
    ["the first", undefined, [ours]],
    ["beside others", ["x"], ["x", ours]],
  ])("add: %s", async (_name, before, after) => {
    const { client, object, current } = world(before);
    expect(await addFinalizer(client, pools, object, ours)).toBe(true);
    expect(await current()).toEqual(after);
  });

  test("add: already there, nothing is sent", async () => {
    const { api, client, object } = world([ours]);
    expect(hasFinalizer(object, ours)).toBe(true);
    expect(await addFinalizer(client, pools, object, ours)).toBe(false);
    expect(api.requests).toHaveLength(0);
  });

  test("add: from a stale cache it is a conflict, and another's finalizer survives", async () => {
    const { api, client, object, current } = world();
    api.put(path, { metadata: { finalizers: ["theirs"] } });
    await expect(addFinalizer(client, pools, object, ours)).rejects.toMatchObject({ code: "conflict" });
    expect(await current()).toEqual(["theirs"]);
  });

  test("remove: ours only", async () => {
    const { client, object, current } = world(["x", ours, "y"]);
    expect(await removeFinalizer(client, pools, object, ours)).toBe(true);
    expect(await current()).toEqual(["x", "y"]);
  });

  test("remove: from a stale cache nobody else's is removed", async () => {
    const { api, client, object, current } = world(["x", ours]);
    api.put(path, { metadata: { finalizers: [ours, "z"] } });
    await expect(removeFinalizer(client, pools, object, ours)).rejects.toMatchObject({ code: "invalid" });
    expect(await current()).toEqual([ours, "z"]);
  });

  test("remove: not from a namesake that was made since", async () => {
    const { api, client, object, current } = world([ours]);
    api.remove(path);
    api.put(path, { metadata: { finalizers: [ours] } });
    await expect(removeFinalizer(client, pools, object, ours)).rejects.toMatchObject({ code: "invalid" });
    expect(await current()).toEqual([ours]);
  });

  test("remove: an object that is gone needs nothing", async () => {
    const { api, client, object } = world([ours]);
    api.remove(path);
    expect(await removeFinalizer(client, pools, object, ours)).toBe(false);
  });
});

describe("conditions", () => {
  const ready = { type: "Ready", status: "True", reason: "AllFree", message: "Fine." } as const;
  const first = withCondition([], ready, Date.UTC(2026, 0, 1));

  test("a new one gets its time, in whole seconds", () => {
    expect(first).toEqual([{ ...ready, lastTransitionTime: "2026-01-01T00:00:00Z" }]);
    expect(findCondition(first, "Ready")).toBe(first[0]);
  });

  test("the same again is the same array, so that nothing is written", () => {
    expect(withCondition(first, ready, Date.UTC(2027, 0, 1))).toBe(first);
  });

  test("another message keeps the time; another status takes a new one", () => {
    const words = withCondition(first, { ...ready, message: "Still fine." }, Date.UTC(2027, 0, 1));
    expect(words[0]).toMatchObject({ message: "Still fine.", lastTransitionTime: "2026-01-01T00:00:00Z" });
    const turned = withCondition(first, { ...ready, status: "False" }, Date.UTC(2027, 0, 1));
    expect(turned[0]).toMatchObject({ status: "False", lastTransitionTime: "2027-01-01T00:00:00Z" });
  });

  test("status is written when it differs, and only then", async () => {
    const { api, client, object } = world();
    const status = { conditions: first };
    expect(await updateStatus(client, pools, deepFreeze(object), status)).toBe(true);
    const after = await client.get(pools, at);
    expect(after.status).toEqual(status);
    const writes = api.count("PUT");
    expect(await updateStatus(client, pools, deepFreeze(after), { conditions: [...first] })).toBe(false);
    expect(api.count("PUT")).toBe(writes);
  });

  test.each([
    [{ a: 1, b: undefined }, { a: 1 }, true],
    [{ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }, true],
    [{ a: 1 }, { b: 1 }, false],
    [[1], [1, 2], false],
    [[], {}, false],
    [null, {}, false],
    [1, "1", false],
  ])("equality of %j and %j is %s", (a, b, expected) => expect(isEqual(a, b)).toBe(expected));
});

test("a frozen object is thawed to a copy that can be changed", () => {
  const frozen = deepFreeze({ metadata: { labels: { a: "b" } } });
  const copy = thaw<{ metadata: { labels: Record<string, string> } }>(frozen);
  copy.metadata.labels["a"] = "c";
  expect(frozen.metadata.labels.a).toBe("b");
});

test.each(["name", "space/name"])("keys name objects: %s", (key) => {
  expect(keyOf({ metadata: parseKey(key) })).toBe(key);
});
