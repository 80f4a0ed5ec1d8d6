// The follower against a server in memory: what is told, and what is kept, after lists and watches.
import { afterEach, expect, test } from "vitest";

import { holdObjectOf } from "../../../api/holds/hold-object.ts";
import { holds, stored } from "../../../cluster/resources.ts";
import type { AnyObject } from "../../../kube/meta.ts";
import { KubeClient } from "../../../kube/rest.ts";
import { FakeApi } from "../../../kube/testing/fake-api.ts";
import { ManualClock, settle } from "../../../kube/testing/manual-clock.ts";
import { V4Address } from "../../../net/address.ts";
import { FollowedHolds, type ToldHold } from "./followed-holds.ts";

const domain = "vm-network:shop/blue";
const uid = "a9f0c8de-0000-4000-8000-0000000000ff";
const address = (index: number) => new V4Address(0x0a07_0000 + index);
const object = (index: number, name = "web") => {
  const owner = { kind: "nic", uid, namespace: "shop", name, nic: "02:00:00:00:00:01" } as const;
  return stored(holdObjectOf({ address: address(index), owner, domain, note: { pool: "shop/blue" } }, "kube-system"));
};
const pathOf = ({ metadata }: { readonly metadata: { readonly name?: string } }) =>
  `/apis/holdfast.io/v1alpha1/namespaces/kube-system/holds/${metadata.name}`;
const put = (api: FakeApi, made: ReturnType<typeof object>) => api.put(pathOf(made), made as unknown as AnyObject);

let end: (() => Promise<void>) | undefined;
afterEach(async () => end?.());

async function started(prepare: (api: FakeApi) => void = () => {}) {
  const clock = new ManualClock();
  const api = new FakeApi();
  prepare(api);
  const client = new KubeClient({ transport: api.transport, clock });
  const followed = new FollowedHolds({ client, resource: holds, clock, random: () => 0 });
  const told: string[] = [];
  const tell: ToldHold = (hold, place) => void told.push(`${place.address} ${hold?.owner.name ?? "gone"}`);
  const stop = new AbortController();
  const run = followed.run(stop.signal);
  end = async () => {
    stop.abort();
    await run;
    end = undefined;
  };
  await settle();
  return { clock, api, followed, told, tell, signal: stop.signal };
}

test("the first list is here before anybody is told; a replay tells it, more than one turn of it too", async () => {
  const count = 1200;
  const fixture = await started((api) => {
    for (let index = 0; index < count; index++) put(api, object(index));
  });
  const { followed, told, tell, signal } = fixture;
  await followed.synced(signal);
  followed.follow(tell);
  expect([followed.hasSynced, told.length]).toEqual([true, 0]);
  await followed.replay(tell, signal);
  expect(new Set(told).size).toBe(count);
  expect(told).toContain("10.7.4.175 web");
});

test("what changes is told once, with what stands there then; a replay is not", async () => {
  const { api, followed, told, tell } = await started((fake) => put(fake, object(1)));
  const unfollow = followed.follow(tell);
  put(api, object(2, "db"));
  put(api, object(1, "mail"));
  await settle();
  expect(told).toEqual(["10.7.0.2 db", "10.7.0.1 mail"]);
  expect(followed.at(domain, address(1))?.owner.name).toBe("mail");
  api.remove(pathOf(object(2)));
  await settle();
  expect(told.slice(2)).toEqual(["10.7.0.2 gone"]);
  expect(followed.at(domain, address(2))).toBeUndefined();
  unfollow();
  put(api, object(3));
  await settle();
  expect(told.length).toBe(3);
});

test("a new list tells what is gone, what has changed and what has come since, and nothing else", async () => {
  const { api, clock, followed, told, tell } = await started((fake) => {
    for (const index of [1, 2, 3, 4]) put(fake, object(index));
  });
  await clock.advance(5000);
  followed.follow(tell);
  api.cutWatches(new Error("reset"));
  api.remove(pathOf(object(1)));
  put(api, object(2, "db"));
  api.remove(pathOf(object(3)));
  put(api, object(3, "again"));
  put(api, object(5));
  api.compact();
  await clock.advance(10_000);
  // What is gone comes first, and a hold that was made anew is gone before it comes.
  expect(told).toEqual(["10.7.0.1 gone", "10.7.0.2 db", "10.7.0.3 gone", "10.7.0.3 again", "10.7.0.5 web"]);
  expect([1, 2, 3, 4, 5].map((index) => followed.at(domain, address(index))?.owner.name)).toEqual([
    undefined,
    "db",
    "again",
    "web",
    "web",
  ]);
});

test("an object that cannot be read is told to nobody, and what was known of its address stays", async () => {
  const { api, clock, followed, told, tell } = await started((fake) => put(fake, object(1)));
  await clock.advance(5000);
  followed.follow(tell);
  const { spec, ...rest } = object(1);
  api.put(pathOf(object(1)), { ...rest, spec: { ...spec, owner: 7 } });
  await settle();
  expect(told).toEqual([]);
  expect(followed.at(domain, address(1))?.owner.name).toBe("web");
  api.cutWatches(new Error("reset"));
  put(api, object(2, "db"));
  api.compact();
  await clock.advance(10_000);
  expect(told).toEqual(["10.7.0.2 db"]);
  expect(followed.at(domain, address(1))?.owner.name).toBe("web");
});
