// Dry runs: everything is checked, nothing is kept.
import { expect } from "vitest";

import { del, get, mergePatch, post, put } from "../call.ts";
import type { Subject } from "../fixture.ts";
import { configMap } from "../fixtures.ts";

const dryRun = { dryRun: "All" };

export const dryRuns: Subject = {
  name: "dry run",
  cases: {
    "a dry create answers with the object and keeps nothing": async (fixture) => {
      const reply = await fixture.api.send(post(fixture.at("configmaps"), configMap("a", { k: "v" }), dryRun));
      expect(reply.status).toBe(201);
      expect(reply.body).toMatchObject({
        data: { k: "v" },
        metadata: { uid: expect.any(String), creationTimestamp: expect.any(String) },
      });
      expect(await fixture.api.exists(fixture.at("configmaps", "a"))).toBe(false);
    },
    "a dry create is validated": async (fixture) => {
      await fixture.api.refused(post(fixture.at("configmaps"), configMap("Upper"), dryRun), 422, "Invalid");
      await fixture.make("configmaps", configMap("a"));
      await fixture.api.refused(post(fixture.at("configmaps"), configMap("a"), dryRun), 409, "AlreadyExists");
    },
    "a dry update and a dry patch answer with the result and keep nothing": async (fixture) => {
      const before = await fixture.make("configmaps", configMap("a", { k: "1" }));
      expect(
        (await fixture.api.done(put(fixture.at("configmaps", "a"), configMap("a", { k: "2" }), dryRun)))["data"],
      ).toEqual({ k: "2" });
      expect(
        (await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), { data: { k: "3" } }, dryRun)))["data"],
      ).toEqual({ k: "3" });
      expect(await fixture.api.done(get(fixture.at("configmaps", "a")))).toEqual(before);
    },
    "a dry update with an old version is a Conflict": async (fixture) => {
      const before = await fixture.make("configmaps", configMap("a", { k: "1" }));
      await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), { data: { k: "2" } }));
      await fixture.api.refused(
        put(fixture.at("configmaps", "a"), { ...before, data: { k: "3" } }, dryRun),
        409,
        "Conflict",
      );
    },
    "a dry delete keeps the object": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      await fixture.api.done(del(fixture.at("configmaps", "a"), undefined, dryRun));
      await fixture.api.done(del(fixture.at("configmaps", "a"), { dryRun: ["All"] }));
      await fixture.api.done(del(fixture.at("configmaps"), undefined, dryRun));
      expect((await fixture.api.done(get(fixture.at("configmaps", "a")))).metadata.deletionTimestamp).toBeUndefined();
    },
    "a dry delete of what is absent is NotFound": async (fixture) => {
      await fixture.api.refused(del(fixture.at("configmaps", "a"), undefined, dryRun), 404, "NotFound");
    },
    "a dry run makes no event for watchers": async (fixture) => {
      const { metadata } = await fixture.api.list(fixture.at("configmaps"));
      await using watch = await fixture.api.watch(fixture.at("configmaps"), {
        resourceVersion: metadata.resourceVersion,
      });
      await fixture.api.done(post(fixture.at("configmaps"), configMap("dry"), dryRun));
      await fixture.make("configmaps", configMap("wet"));
      expect((await watch.event()).object.metadata.name).toBe("wet");
    },
    "an unknown dryRun is Invalid": async (fixture) => {
      await fixture.api.refused(post(fixture.at("configmaps"), configMap("a"), { dryRun: "Some" }), 422, "Invalid");
    },
  },
};
