// JSON merge patch (RFC 7386).
import { expect } from "vitest";

import { mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject } from "../fixture.ts";
import { configMap } from "../fixtures.ts";

export const mergePatches: Subject = {
  name: "merge patch",
  cases: {
    "values are set, null removes, the rest stays": async (fixture) => {
      await fixture.make("configmaps", configMap("a", { keep: "1", change: "1", drop: "1" }));
      const patch = { data: { change: "2", drop: null, add: "3" } };
      const after = await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), patch));
      expect(after["data"]).toEqual({ keep: "1", change: "2", add: "3" });
    },
    "absent parents are made": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const patch = { metadata: { annotations: { "x.test/k": "v" } } };
      const after = await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), patch));
      expect(after.metadata.annotations).toEqual({ "x.test/k": "v" });
    },
    "null removes a whole map": async (fixture) => {
      await fixture.make("configmaps", configMap("a", { k: "v" }, { labels: { x: "y" } }));
      const patch = { metadata: { labels: null }, data: null };
      const after = await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), patch));
      expect(after).not.toHaveProperty("data");
      expect(after.metadata).not.toHaveProperty("labels");
    },
    "arrays are replaced": async (fixture) => {
      const w = await widgets(fixture);
      await fixture.api.done(post(w.at(), w.body("a", { spec: { list: [1, 2, 3], other: true } })));
      const after = await fixture.api.done(mergePatch(w.at("a"), { spec: { list: [4] } }));
      expect(after["spec"]).toEqual({ list: [4], other: true });
    },
    "objects are merged at every depth": async (fixture) => {
      const w = await widgets(fixture);
      await fixture.api.done(post(w.at(), w.body("a", { spec: { a: { b: { c: 1, d: 2 } } } })));
      const after = await fixture.api.done(mergePatch(w.at("a"), { spec: { a: { b: { c: null, e: 3 } } } }));
      expect(after["spec"]).toEqual({ a: { b: { d: 2, e: 3 } } });
    },
    "an empty patch changes nothing": async (fixture) => {
      const before = await fixture.make("configmaps", configMap("a", { k: "v" }));
      const after = await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), {}));
      expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    },
    "a body that is no JSON is a bad request": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      await fixture.api.refused(mergePatch(fixture.at("configmaps", "a"), "{data: "), 400, "BadRequest");
    },
    "a merge patch of an object that does not exist is NotFound": async (fixture) => {
      await fixture.api.refused(mergePatch(fixture.at("configmaps", "a"), { data: { k: "v" } }), 404, "NotFound");
    },
    "a merge patch with the present version goes through": async (fixture) => {
      const { metadata } = await fixture.make("configmaps", configMap("a"));
      const patch = { metadata: { resourceVersion: metadata.resourceVersion }, data: { k: "v" } };
      expect((await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), patch)))["data"]).toEqual({ k: "v" });
    },
    "the uid of an object cannot be patched": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const call = mergePatch(fixture.at("configmaps", "a"), {
        metadata: { uid: "11111111-2222-3333-4444-555555555555" },
      });
      const reply = await fixture.api.send(call);
      expect([409, 422]).toContain(reply.status);
    },
    "a patch of an unknown type is 415": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const call = {
        ...mergePatch(fixture.at("configmaps", "a"), {}),
        headers: { "content-type": "application/json" },
      };
      await fixture.api.refused(call, 415, "UnsupportedMediaType");
    },
  },
};
