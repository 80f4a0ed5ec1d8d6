import { describe, expect, test } from "vitest";

import { removeFinalizer } from "./finalizer.ts";
import type { AnyObject } from "./meta.ts";
import { defineResource } from "./resource.ts";
import { KubeClient } from "./rest.ts";
import { FakeApi } from "./testing/fake-api.ts";
import { ManualClock } from "./testing/manual-clock.ts";

const pools = defineResource<AnyObject>({
  group: "h.io",
  version: "v1",
  plural: "pools",
  kind: "Pool",
  namespaced: true,
});
const path = "/apis/h.io/v1/namespaces/a/pools/p";
const at = { namespace: "a", name: "p" };
const ours = "holdfast.io/addresses";

function world(finalizers?: string[]) {
  const api = new FakeApi();
  const client = new KubeClient({ transport: api.transport, clock: new ManualClock() });
  const object = api.put(path, { metadata: finalizers === undefined ? {} : { finalizers } });
  const current = async () => (await client.get(pools, at)).metadata.finalizers;
  return { api, client, object, current };
}

describe("finalizers", () => {
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
