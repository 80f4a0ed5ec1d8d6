// Finalizers hold an object until whoever set them has let go.
import { expect } from "vitest";

import { del, get, mergePatch, post, put } from "../call.ts";
import { widgets } from "../crd.ts";
import { configMap } from "../fixtures.ts";
import type { KubeObject } from "../object.ts";
import type { Subject, World } from "../world.ts";

const finalizers = ["x.test/hold", "x.test/second"];
const path = (world: World) => world.at("configmaps", "a");
const setFinalizers = (world: World, to: readonly string[] | null) =>
  mergePatch(path(world), { metadata: { finalizers: to } });

/** A configmap that is being deleted and held. The case's end lets go of it. */
async function held(world: World): Promise<KubeObject> {
  await world.make("configmaps", configMap("a", { k: "v" }, { finalizers }));
  world.after(async () => {
    await world.api.send(setFinalizers(world, null));
  });
  return world.api.done(del(path(world)));
}

export const finalizing: Subject = {
  name: "finalizers",
  cases: {
    "delete marks the object and answers with it": async (world) => {
      const answer = await held(world);
      expect(answer).toMatchObject({
        kind: "ConfigMap",
        metadata: { finalizers, deletionTimestamp: expect.any(String) },
      });
      expect((await world.api.done(get(path(world)))).metadata).toMatchObject({ deletionGracePeriodSeconds: 0 });
    },
    "the object goes with its last finalizer": async (world) => {
      await held(world);
      await world.api.done(setFinalizers(world, ["x.test/second"]));
      expect(await world.api.exists(path(world))).toBe(true);
      await world.api.done(setFinalizers(world, null));
      expect(await world.api.exists(path(world))).toBe(false);
    },
    "a watch sees the mark as a change and the end as a deletion": async (world) => {
      const { metadata } = await world.api.list(world.at("configmaps"));
      await using watch = await world.api.watch(world.at("configmaps"), { resourceVersion: metadata.resourceVersion });
      await held(world);
      await world.api.done(setFinalizers(world, null));
      const events = await watch.take(3);
      expect(events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"]);
    },
    "a second delete changes nothing": async (world) => {
      const first = await held(world);
      const second = await world.api.done(del(path(world)));
      expect(second.metadata.deletionTimestamp).toBe(first.metadata.deletionTimestamp);
    },
    "an object that is being deleted can be changed": async (world) => {
      await held(world);
      const after = await world.api.done(mergePatch(path(world), { data: { k: "2" } }));
      expect(after["data"]).toEqual({ k: "2" });
    },
    "an object that is being deleted takes no new finalizer": async (world) => {
      await held(world);
      const call = setFinalizers(world, [...finalizers, "x.test/third"]);
      const status = await world.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({
        field: "metadata.finalizers",
        reason: "FieldValueForbidden",
      });
    },
    "a client cannot mark an object as deleted": async (world) => {
      const deletionTimestamp = "2001-01-01T00:00:00Z";
      const created = await world.make("configmaps", configMap("a", {}, { deletionTimestamp }));
      expect(created.metadata.deletionTimestamp).toBeUndefined();
      const status = await world.api.refused(
        mergePatch(path(world), { metadata: { deletionTimestamp } }),
        422,
        "Invalid",
      );
      expect(status.details?.causes?.[0]).toMatchObject({ field: "metadata.deletionTimestamp" });
    },
    "a client cannot take the mark away": async (world) => {
      const first = await held(world);
      const { deletionTimestamp, ...metadata } = first.metadata;
      const after = await world.api.done(put(path(world), { ...first, metadata }));
      expect(after.metadata.deletionTimestamp).toBe(deletionTimestamp);
    },
    "creating the name again while it is held is AlreadyExists": async (world) => {
      await held(world);
      const status = await world.api.refused(post(world.at("configmaps"), configMap("a")), 409, "AlreadyExists");
      expect(status.message).toContain("object is being deleted");
    },
    "an update that empties the finalizers removes the object": async (world) => {
      const answer = await held(world);
      await world.api.done(put(path(world), { ...answer, metadata: { ...answer.metadata, finalizers: [] } }));
      expect(await world.api.exists(path(world))).toBe(false);
    },
    "marking a custom resource raises its generation": async (world) => {
      const w = await widgets(world);
      await world.api.done(post(w.at(), w.body("a", {}, { finalizers })));
      const answer = await world.api.done(del(w.at("a")));
      expect(answer.metadata.generation).toBe(2);
      await world.api.done(mergePatch(w.at("a"), { metadata: { finalizers: null } }));
      expect(await world.api.exists(w.at("a"))).toBe(false);
    },
  },
};
