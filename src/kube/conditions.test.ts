import { describe, expect, test } from "vitest";

import { deepFreeze } from "./cache/freeze.ts";
import { type Condition, findCondition, isEqual, updateStatus, withCondition } from "./conditions.ts";
import { type AnyObject, keyOf, parseKey } from "./meta.ts";
import { defineResource } from "./resource.ts";
import { KubeClient } from "./rest.ts";
import { FakeApi } from "./testing/fake-api.ts";
import { ManualClock } from "./testing/manual-clock.ts";

interface Pool extends AnyObject {
  status?: { conditions: readonly Condition[] };
}
const pools = defineResource<Pool>({ group: "h.io", version: "v1", plural: "pools", kind: "Pool", namespaced: true });
const at = { namespace: "a", name: "p" };

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
    const api = new FakeApi();
    const client = new KubeClient({ transport: api.transport, clock: new ManualClock() });
    const object = api.put("/apis/h.io/v1/namespaces/a/pools/p", { metadata: {} }) as Pool;
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

test("a frozen object cannot be changed, and a copy of it can", () => {
  const frozen = deepFreeze({ metadata: { labels: { a: "b" } } });
  expect(() => Object.assign(frozen.metadata.labels, { a: "c" })).toThrow(TypeError);
  expect(Object.assign(structuredClone(frozen).metadata.labels, { a: "c" })).toEqual({ a: "c" });
});

test.each(["name", "space/name"])("keys name objects: %s", (key) => {
  expect(keyOf({ metadata: parseKey(key) })).toBe(key);
});
