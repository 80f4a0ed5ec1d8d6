// Watches: which events come, in which order, and when the stream ends.
import { expect } from "vitest";

import { del, get, mergePatch, post, put } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap, lease, makeConfigMaps, pod } from "../fixtures.ts";
import type { Watch } from "../watch.ts";

/** A watch of the case's configmaps from now on. */
async function fromNow(fixture: Fixture): Promise<Watch> {
  const { metadata } = await fixture.api.list(fixture.at("configmaps"));
  return fixture.api.watch(fixture.at("configmaps"), { resourceVersion: metadata.resourceVersion });
}

export const watching: Subject = {
  name: "watch",
  cases: {
    "a watch tells of creation, change and deletion, in order": async (fixture) => {
      await using watch = await fromNow(fixture);
      await fixture.make("configmaps", configMap("a", { k: "1" }));
      await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), { data: { k: "2" } }));
      await fixture.api.done(del(fixture.at("configmaps", "a")));
      const events = await watch.take(3);
      expect(events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"]);
      expect(events.map(({ object }) => object["data"])).toEqual([{ k: "1" }, { k: "2" }, { k: "2" }]);
    },
    "the events' versions grow, that of the deletion too": async (fixture) => {
      await using watch = await fromNow(fixture);
      await fixture.make("configmaps", configMap("a"));
      await fixture.api.done(del(fixture.at("configmaps", "a")));
      const [added, deleted] = await watch.take(2);
      expect(BigInt(deleted?.object.metadata.resourceVersion ?? 0)).toBeGreaterThan(
        BigInt(added?.object.metadata.resourceVersion ?? 0),
      );
    },
    "an event's object is the object that was answered": async (fixture) => {
      await using watch = await fromNow(fixture);
      const created = await fixture.make("configmaps", configMap("a", { k: "v" }));
      expect((await watch.event()).object).toEqual(created);
    },
    "a watch is a stream of JSON": async (fixture) => {
      await using watch = await fromNow(fixture);
      expect(watch.headers["content-type"]).toBe("application/json");
    },
    "a watch without a version begins with what is there": async (fixture) => {
      await makeConfigMaps(fixture, 3);
      await using watch = await fixture.api.watch(fixture.at("configmaps"));
      const events = await watch.take(3);
      expect(new Set(events.map(({ type }) => type))).toEqual(new Set(["ADDED"]));
      await fixture.make("configmaps", configMap("later"));
      expect((await watch.event()).object.metadata.name).toBe("later");
    },
    "a watch from version 0 begins with what is there": async (fixture) => {
      await makeConfigMaps(fixture, 2);
      await using watch = await fixture.api.watch(fixture.at("configmaps"), { resourceVersion: 0 });
      const seen = (await watch.take(2)).map(({ object }) => object.metadata.name);
      expect(seen.sort()).toEqual(["item-00", "item-01"]);
    },
    "a watch from an object's version leaves that object out": async (fixture) => {
      const { metadata } = await fixture.make("configmaps", configMap("a"));
      await fixture.make("configmaps", configMap("b"));
      await using watch = await fixture.api.watch(fixture.at("configmaps"), {
        resourceVersion: metadata.resourceVersion,
      });
      expect((await watch.event()).object.metadata.name).toBe("b");
    },
    "a watch that is resumed misses nothing": async (fixture) => {
      const start = await fixture.api.list(fixture.at("configmaps"));
      await makeConfigMaps(fixture, 4);
      const seen: string[] = [];
      let { resourceVersion } = start.metadata;
      while (seen.length < 4) {
        await using watch = await fixture.api.watch(fixture.at("configmaps"), { resourceVersion });
        const { object } = await watch.event();
        seen.push(object.metadata.name);
        ({ resourceVersion } = object.metadata);
      }
      expect(seen).toEqual(["item-00", "item-01", "item-02", "item-03"]);
    },
    "a watch of a namespace is blind to the others": async (fixture) => {
      const other = await fixture.neighbour();
      await using watch = await fromNow(fixture);
      await other.make("configmaps", configMap("elsewhere"));
      await fixture.make("configmaps", configMap("here"));
      expect((await watch.event()).object.metadata.name).toBe("here");
    },
    "a watch across namespaces sees each": async (fixture) => {
      const other = await fixture.neighbour();
      const { metadata } = await fixture.api.list("/apis/coordination.k8s.io/v1/leases");
      const mine = new Set([fixture.namespace, other.namespace]);
      await using watch = await fixture.api.watch("/apis/coordination.k8s.io/v1/leases", {
        resourceVersion: metadata.resourceVersion,
      });
      await fixture.make("leases", lease("a"));
      await other.make("leases", lease("b"));
      while (mine.size > 0) mine.delete((await watch.event()).object.metadata.namespace ?? "");
    },
    "a hundred changes come in the order in which they were made": async (fixture) => {
      await fixture.make("configmaps", configMap("a", { n: "0" }));
      await using watch = await fromNow(fixture);
      const values = Array.from({ length: 100 }, (_, index) => String(index + 1));
      for (const n of values) await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), { data: { n } }));
      const events = await watch.take(100);
      expect(events.map(({ object }) => object["data"])).toEqual(values.map((n) => ({ n })));
    },
    "two watches see the same order under concurrent writers": async (fixture) => {
      await using first = await fromNow(fixture);
      await using second = await fromNow(fixture);
      const wanted = Array.from({ length: 20 }, (_, index) => `item-${index}`);
      await Promise.all(wanted.map((name) => fixture.make("configmaps", configMap(name))));
      const seen = await Promise.all([first.take(20), second.take(20)]);
      const [a, b] = seen.map((events) => events.map(({ object }) => object.metadata.resourceVersion));
      expect(a).toEqual(b);
      expect(a).toEqual([...(a ?? [])].sort((x, y) => Number(BigInt(x) - BigInt(y))));
    },
    "a write that changes nothing makes no event": async (fixture) => {
      const created = await fixture.make("configmaps", configMap("a", { k: "v" }));
      await using watch = await fromNow(fixture);
      await fixture.api.done(put(fixture.at("configmaps", "a"), created));
      await fixture.make("configmaps", configMap("b"));
      expect((await watch.event()).object.metadata.name).toBe("b");
    },
    "a change of the status is an event": async (fixture) => {
      const created = await fixture.make("pods", pod("a"));
      const { resourceVersion } = created.metadata;
      await using watch = await fixture.api.watch(fixture.at("pods"), { resourceVersion });
      await fixture.api.done(mergePatch(fixture.at("pods", "a", "status"), { status: { phase: "Running" } }));
      expect(await watch.event()).toMatchObject({
        type: "MODIFIED",
        object: { kind: "Pod", status: { phase: "Running" } },
      });
    },
    "custom resources are watched as well": async (fixture) => {
      const w = await widgets(fixture);
      const { metadata } = await fixture.api.list(w.at());
      await using watch = await fixture.api.watch(w.at(), { resourceVersion: metadata.resourceVersion });
      await fixture.api.done(post(w.at(), w.body("a", { spec: { x: 1 } })));
      await fixture.api.done(del(w.at("a")));
      const events = await watch.take(2);
      expect(events.map(({ type }) => type)).toEqual(["ADDED", "DELETED"]);
      expect(events[1]?.object).toMatchObject({ kind: "Widget", apiVersion: `${w.group}/v1`, spec: { x: 1 } });
    },
    "timeoutSeconds ends a watch without an error": async (fixture) => {
      const { metadata } = await fixture.api.list(fixture.at("configmaps"));
      const query = { resourceVersion: metadata.resourceVersion, timeoutSeconds: 1 };
      await using watch = await fixture.api.watch(fixture.at("configmaps"), query);
      expect(await watch.rest()).toEqual([]);
    },
    "a list of a version that is no number is a bad request, and a watch fails before it begins": async (fixture) => {
      await fixture.api.refused(get(fixture.at("configmaps"), { resourceVersion: "abc" }), 400, "BadRequest");
      const reply = await fixture.api.send(get(fixture.at("configmaps"), { watch: true, resourceVersion: "abc" }));
      expect(reply.status).toBeGreaterThanOrEqual(400);
    },
    "deleting a collection is an event for each object": async (fixture) => {
      await makeConfigMaps(fixture, 3);
      await using watch = await fromNow(fixture);
      await fixture.api.done(del(fixture.at("configmaps")));
      const events = await watch.take(3);
      expect(events.map(({ type, object }) => `${type} ${object.metadata.name}`).sort()).toEqual([
        "DELETED item-00",
        "DELETED item-01",
        "DELETED item-02",
      ]);
    },
  },
};
