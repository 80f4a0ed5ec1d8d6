// Watches: which events come, in which order, and when the stream ends.
import { expect } from "vitest";

import { del, get, mergePatch, post, put } from "../call.ts";
import { widgets } from "../crd.ts";
import { configMap, lease, makeConfigMaps, pod } from "../fixtures.ts";
import type { Watch } from "../watch.ts";
import type { Subject, World } from "../world.ts";

/** A watch of the case's configmaps from now on. */
async function fromNow(world: World): Promise<Watch> {
  const { metadata } = await world.api.list(world.at("configmaps"));
  return world.api.watch(world.at("configmaps"), { resourceVersion: metadata.resourceVersion });
}

export const watching: Subject = {
  name: "watch",
  cases: {
    "a watch tells of creation, change and deletion, in order": async (world) => {
      await using watch = await fromNow(world);
      await world.make("configmaps", configMap("a", { k: "1" }));
      await world.api.done(mergePatch(world.at("configmaps", "a"), { data: { k: "2" } }));
      await world.api.done(del(world.at("configmaps", "a")));
      const events = await watch.take(3);
      expect(events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"]);
      expect(events.map(({ object }) => object["data"])).toEqual([{ k: "1" }, { k: "2" }, { k: "2" }]);
    },
    "the events' versions grow, that of the deletion too": async (world) => {
      await using watch = await fromNow(world);
      await world.make("configmaps", configMap("a"));
      await world.api.done(del(world.at("configmaps", "a")));
      const [added, deleted] = await watch.take(2);
      expect(BigInt(deleted?.object.metadata.resourceVersion ?? 0)).toBeGreaterThan(
        BigInt(added?.object.metadata.resourceVersion ?? 0),
      );
    },
    "an event's object is the object that was answered": async (world) => {
      await using watch = await fromNow(world);
      const created = await world.make("configmaps", configMap("a", { k: "v" }));
      expect((await watch.event()).object).toEqual(created);
    },
    "a watch is a stream of JSON": async (world) => {
      await using watch = await fromNow(world);
      expect(watch.headers["content-type"]).toBe("application/json");
    },
    "a watch without a version begins with what is there": async (world) => {
      await makeConfigMaps(world, 3);
      await using watch = await world.api.watch(world.at("configmaps"));
      const events = await watch.take(3);
      expect(new Set(events.map(({ type }) => type))).toEqual(new Set(["ADDED"]));
      await world.make("configmaps", configMap("later"));
      expect((await watch.event()).object.metadata.name).toBe("later");
    },
    "a watch from version 0 begins with what is there": async (world) => {
      await makeConfigMaps(world, 2);
      await using watch = await world.api.watch(world.at("configmaps"), { resourceVersion: 0 });
      const seen = (await watch.take(2)).map(({ object }) => object.metadata.name);
      expect(seen.sort()).toEqual(["item-00", "item-01"]);
    },
    "a watch from an object's version leaves that object out": async (world) => {
      const { metadata } = await world.make("configmaps", configMap("a"));
      await world.make("configmaps", configMap("b"));
      await using watch = await world.api.watch(world.at("configmaps"), { resourceVersion: metadata.resourceVersion });
      expect((await watch.event()).object.metadata.name).toBe("b");
    },
    "a watch that is resumed misses nothing": async (world) => {
      const start = await world.api.list(world.at("configmaps"));
      await makeConfigMaps(world, 4);
      const seen: string[] = [];
      let { resourceVersion } = start.metadata;
      while (seen.length < 4) {
        await using watch = await world.api.watch(world.at("configmaps"), { resourceVersion });
        const { object } = await watch.event();
        seen.push(object.metadata.name);
        ({ resourceVersion } = object.metadata);
      }
      expect(seen).toEqual(["item-00", "item-01", "item-02", "item-03"]);
    },
    "a watch of a namespace is blind to the others": async (world) => {
      const other = await world.neighbour();
      await using watch = await fromNow(world);
      await other.make("configmaps", configMap("elsewhere"));
      await world.make("configmaps", configMap("here"));
      expect((await watch.event()).object.metadata.name).toBe("here");
    },
    "a watch across namespaces sees each": async (world) => {
      const other = await world.neighbour();
      const { metadata } = await world.api.list("/apis/coordination.k8s.io/v1/leases");
      const mine = new Set([world.namespace, other.namespace]);
      await using watch = await world.api.watch("/apis/coordination.k8s.io/v1/leases", {
        resourceVersion: metadata.resourceVersion,
      });
      await world.make("leases", lease("a"));
      await other.make("leases", lease("b"));
      while (mine.size > 0) mine.delete((await watch.event()).object.metadata.namespace ?? "");
    },
    "a hundred changes come in the order in which they were made": async (world) => {
      await world.make("configmaps", configMap("a", { n: "0" }));
      await using watch = await fromNow(world);
      const values = Array.from({ length: 100 }, (_, index) => String(index + 1));
      for (const n of values) await world.api.done(mergePatch(world.at("configmaps", "a"), { data: { n } }));
      const events = await watch.take(100);
      expect(events.map(({ object }) => object["data"])).toEqual(values.map((n) => ({ n })));
    },
    "two watches see the same order under concurrent writers": async (world) => {
      await using first = await fromNow(world);
      await using second = await fromNow(world);
      const wanted = Array.from({ length: 20 }, (_, index) => `item-${index}`);
      await Promise.all(wanted.map((name) => world.make("configmaps", configMap(name))));
      const seen = await Promise.all([first.take(20), second.take(20)]);
      const [a, b] = seen.map((events) => events.map(({ object }) => object.metadata.resourceVersion));
      expect(a).toEqual(b);
      expect(a).toEqual([...(a ?? [])].sort((x, y) => Number(BigInt(x) - BigInt(y))));
    },
    "a write that changes nothing makes no event": async (world) => {
      const created = await world.make("configmaps", configMap("a", { k: "v" }));
      await using watch = await fromNow(world);
      await world.api.done(put(world.at("configmaps", "a"), created));
      await world.make("configmaps", configMap("b"));
      expect((await watch.event()).object.metadata.name).toBe("b");
    },
    "a change of the status is an event": async (world) => {
      const created = await world.make("pods", pod("a"));
      const { resourceVersion } = created.metadata;
      await using watch = await world.api.watch(world.at("pods"), { resourceVersion });
      await world.api.done(mergePatch(world.at("pods", "a", "status"), { status: { phase: "Running" } }));
      expect(await watch.event()).toMatchObject({
        type: "MODIFIED",
        object: { kind: "Pod", status: { phase: "Running" } },
      });
    },
    "custom resources are watched as well": async (world) => {
      const w = await widgets(world);
      const { metadata } = await world.api.list(w.at());
      await using watch = await world.api.watch(w.at(), { resourceVersion: metadata.resourceVersion });
      await world.api.done(post(w.at(), w.body("a", { spec: { x: 1 } })));
      await world.api.done(del(w.at("a")));
      const events = await watch.take(2);
      expect(events.map(({ type }) => type)).toEqual(["ADDED", "DELETED"]);
      expect(events[1]?.object).toMatchObject({ kind: "Widget", apiVersion: `${w.group}/v1`, spec: { x: 1 } });
    },
    "timeoutSeconds ends a watch without an error": async (world) => {
      const { metadata } = await world.api.list(world.at("configmaps"));
      const query = { resourceVersion: metadata.resourceVersion, timeoutSeconds: 1 };
      await using watch = await world.api.watch(world.at("configmaps"), query);
      expect(await watch.rest()).toEqual([]);
    },
    "a list of a version that is no number is a bad request, and a watch fails before it begins": async (world) => {
      await world.api.refused(get(world.at("configmaps"), { resourceVersion: "abc" }), 400, "BadRequest");
      const reply = await world.api.send(get(world.at("configmaps"), { watch: true, resourceVersion: "abc" }));
      expect(reply.status).toBeGreaterThanOrEqual(400);
    },
    "deleting a collection is an event for each object": async (world) => {
      await makeConfigMaps(world, 3);
      await using watch = await fromNow(world);
      await world.api.done(del(world.at("configmaps")));
      const events = await watch.take(3);
      expect(events.map(({ type, object }) => `${type} ${object.metadata.name}`).sort()).toEqual([
        "DELETED item-00",
        "DELETED item-01",
        "DELETED item-02",
      ]);
    },
  },
};
