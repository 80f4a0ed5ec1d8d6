// Dry runs: everything is checked, nothing is kept.
import { expect } from "vitest";

import { del, get, mergePatch, post, put } from "../call.ts";
import { configMap } from "../fixtures.ts";
import type { Subject } from "../world.ts";

const dryRun = { dryRun: "All" };

export const dryRuns: Subject = {
  name: "dry run",
  cases: {
    "a dry create answers with the object and keeps nothing": async (world) => {
      const reply = await world.api.send(post(world.at("configmaps"), configMap("a", { k: "v" }), dryRun));
      expect(reply.status).toBe(201);
      expect(reply.body).toMatchObject({
        data: { k: "v" },
        metadata: { uid: expect.any(String), creationTimestamp: expect.any(String) },
      });
      expect(await world.api.exists(world.at("configmaps", "a"))).toBe(false);
    },
    "a dry create is validated": async (world) => {
      await world.api.refused(post(world.at("configmaps"), configMap("Upper"), dryRun), 422, "Invalid");
      await world.make("configmaps", configMap("a"));
      await world.api.refused(post(world.at("configmaps"), configMap("a"), dryRun), 409, "AlreadyExists");
    },
    "a dry update and a dry patch answer with the result and keep nothing": async (world) => {
      const before = await world.make("configmaps", configMap("a", { k: "1" }));
      expect(
        (await world.api.done(put(world.at("configmaps", "a"), configMap("a", { k: "2" }), dryRun)))["data"],
      ).toEqual({ k: "2" });
      expect(
        (await world.api.done(mergePatch(world.at("configmaps", "a"), { data: { k: "3" } }, dryRun)))["data"],
      ).toEqual({ k: "3" });
      expect(await world.api.done(get(world.at("configmaps", "a")))).toEqual(before);
    },
    "a dry update with an old version is a Conflict": async (world) => {
      const before = await world.make("configmaps", configMap("a", { k: "1" }));
      await world.api.done(mergePatch(world.at("configmaps", "a"), { data: { k: "2" } }));
      await world.api.refused(
        put(world.at("configmaps", "a"), { ...before, data: { k: "3" } }, dryRun),
        409,
        "Conflict",
      );
    },
    "a dry delete keeps the object": async (world) => {
      await world.make("configmaps", configMap("a"));
      await world.api.done(del(world.at("configmaps", "a"), undefined, dryRun));
      await world.api.done(del(world.at("configmaps", "a"), { dryRun: ["All"] }));
      await world.api.done(del(world.at("configmaps"), undefined, dryRun));
      expect((await world.api.done(get(world.at("configmaps", "a")))).metadata.deletionTimestamp).toBeUndefined();
    },
    "a dry delete of what is absent is NotFound": async (world) => {
      await world.api.refused(del(world.at("configmaps", "a"), undefined, dryRun), 404, "NotFound");
    },
    "a dry run makes no event for watchers": async (world) => {
      const { metadata } = await world.api.list(world.at("configmaps"));
      await using watch = await world.api.watch(world.at("configmaps"), { resourceVersion: metadata.resourceVersion });
      await world.api.done(post(world.at("configmaps"), configMap("dry"), dryRun));
      await world.make("configmaps", configMap("wet"));
      expect((await watch.event()).object.metadata.name).toBe("wet");
    },
    "an unknown dryRun is Invalid": async (world) => {
      await world.api.refused(post(world.at("configmaps"), configMap("a"), { dryRun: "Some" }), 422, "Invalid");
    },
  },
};
