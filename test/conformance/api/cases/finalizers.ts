// Finalizers hold an object until whoever set them has let go.
import { expect } from "vitest";

import { del, get, mergePatch, post, put } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap } from "../fixtures.ts";
import type { KubeObject } from "../object.ts";

const finalizers = ["x.test/hold", "x.test/second"];
const path = (fixture: Fixture) => fixture.at("configmaps", "a");
const setFinalizers = (fixture: Fixture, to: readonly string[] | null) =>
  mergePatch(path(fixture), { metadata: { finalizers: to } });

/** A configmap that is being deleted and held. The case's end lets go of it. */
async function held(fixture: Fixture): Promise<KubeObject> {
  await fixture.make("configmaps", configMap("a", { k: "v" }, { finalizers }));
  fixture.after(async () => {
    await fixture.api.send(setFinalizers(fixture, null));
  });
  return fixture.api.done(del(path(fixture)));
}

export const finalizing: Subject = {
  name: "finalizers",
  cases: {
    "delete marks the object and answers with it": async (fixture) => {
      const answer = await held(fixture);
      expect(answer).toMatchObject({
        kind: "ConfigMap",
        metadata: { finalizers, deletionTimestamp: expect.any(String) },
      });
      expect((await fixture.api.done(get(path(fixture)))).metadata).toMatchObject({ deletionGracePeriodSeconds: 0 });
    },
    "the object goes with its last finalizer": async (fixture) => {
      await held(fixture);
      await fixture.api.done(setFinalizers(fixture, ["x.test/second"]));
      expect(await fixture.api.exists(path(fixture))).toBe(true);
      await fixture.api.done(setFinalizers(fixture, null));
      expect(await fixture.api.exists(path(fixture))).toBe(false);
    },
    "a watch sees the mark as a change and the end as a deletion": async (fixture) => {
      const { metadata } = await fixture.api.list(fixture.at("configmaps"));
      await using watch = await fixture.api.watch(fixture.at("configmaps"), {
        resourceVersion: metadata.resourceVersion,
      });
      await held(fixture);
      await fixture.api.done(setFinalizers(fixture, null));
      const events = await watch.take(3);
      expect(events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"]);
    },
    "a second delete changes nothing": async (fixture) => {
      const first = await held(fixture);
      const second = await fixture.api.done(del(path(fixture)));
      expect(second.metadata.deletionTimestamp).toBe(first.metadata.deletionTimestamp);
    },
    "an object that is being deleted can be changed": async (fixture) => {
      await held(fixture);
      const after = await fixture.api.done(mergePatch(path(fixture), { data: { k: "2" } }));
      expect(after["data"]).toEqual({ k: "2" });
    },
    "an object that is being deleted takes no new finalizer": async (fixture) => {
      await held(fixture);
      const call = setFinalizers(fixture, [...finalizers, "x.test/third"]);
      const status = await fixture.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({
        field: "metadata.finalizers",
        reason: "FieldValueForbidden",
      });
    },
    "a client cannot mark an object as deleted": async (fixture) => {
      const deletionTimestamp = "2001-01-01T00:00:00Z";
      const created = await fixture.make("configmaps", configMap("a", {}, { deletionTimestamp }));
      expect(created.metadata.deletionTimestamp).toBeUndefined();
      const status = await fixture.api.refused(
        mergePatch(path(fixture), { metadata: { deletionTimestamp } }),
        422,
        "Invalid",
      );
      expect(status.details?.causes?.[0]).toMatchObject({ field: "metadata.deletionTimestamp" });
    },
    "a client cannot take the mark away": async (fixture) => {
      const first = await held(fixture);
      const { deletionTimestamp, ...metadata } = first.metadata;
      const after = await fixture.api.done(put(path(fixture), { ...first, metadata }));
      expect(after.metadata.deletionTimestamp).toBe(deletionTimestamp);
    },
    "creating the name again while it is held is AlreadyExists": async (fixture) => {
      await held(fixture);
      const status = await fixture.api.refused(post(fixture.at("configmaps"), configMap("a")), 409, "AlreadyExists");
      expect(status.message).toContain("object is being deleted");
    },
    "an update that empties the finalizers removes the object": async (fixture) => {
      const answer = await held(fixture);
      await fixture.api.done(put(path(fixture), { ...answer, metadata: { ...answer.metadata, finalizers: [] } }));
      expect(await fixture.api.exists(path(fixture))).toBe(false);
    },
    "marking a custom resource raises its generation": async (fixture) => {
      const w = await widgets(fixture);
      await fixture.api.done(post(w.at(), w.body("a", {}, { finalizers })));
      const answer = await fixture.api.done(del(w.at("a")));
      expect(answer.metadata.generation).toBe(2);
      await fixture.api.done(mergePatch(w.at("a"), { metadata: { finalizers: null } }));
      expect(await fixture.api.exists(w.at("a"))).toBe(false);
    },
  },
};
