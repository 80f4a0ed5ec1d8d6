// What goes with what: owners, namespaces, and events that have grown old.
import { describe, expect, test } from "vitest";

import type { Api } from "../../src/apiserver/api.ts";
import { dig, textOf } from "../../src/apiserver/json.ts";
import { ManualClock } from "../../src/kube/testing/manual-clock.ts";
import { call, map, maps, names, open } from "./in-process.ts";

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
      await clock.advance(5 * 60_000);
      // The sweep awakes, writes, and falls asleep again.
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await later(50);
  const lastTimestamp = new Date(clock.wallMs()).toISOString().replace(".000", "");
  await call(api, "PATCH", `${events}/repeated`, { lastTimestamp, count: 2 }, "application/merge-patch+json");
  expect(names((await call(api, "GET", events)).body)).toEqual(["old", "repeated"]);
  await later(20);
  expect(names((await call(api, "GET", events)).body)).toEqual(["repeated"]);
  await later(60);
  expect(names((await call(api, "GET", events)).body)).toEqual([]);
});
