// JSON patch (RFC 6902), with the server's own quirks.
import { expect } from "vitest";

import { get, jsonPatch, mergePatch } from "../call.ts";
import { configMap } from "../fixtures.ts";
import type { KubeObject } from "../object.ts";
import type { Subject, World } from "../world.ts";

const start = { k: "v", l: "w" };

async function patched(world: World, ...operations: readonly object[]): Promise<KubeObject> {
  await world.make("configmaps", configMap("a", start, { finalizers: ["x.test/1", "x.test/2"] }));
  world.after(async () => {
    await world.api.send(jsonPatch(world.at("configmaps", "a"), [{ op: "remove", path: "/metadata/finalizers" }]));
  });
  return world.api.done(jsonPatch(world.at("configmaps", "a"), operations));
}

async function refused(world: World, code: number, reason: string, operations: unknown): Promise<string> {
  await world.make("configmaps", configMap("a", start));
  const status = await world.api.refused(jsonPatch(world.at("configmaps", "a"), operations), code, reason);
  expect((await world.api.done(get(world.at("configmaps", "a"))))["data"]).toEqual(start);
  return status.message;
}

export const jsonPatches: Subject = {
  name: "JSON patch",
  cases: {
    "add, replace and remove change what they name": async (world) => {
      const after = await patched(
        world,
        { op: "add", path: "/data/m", value: "new" },
        { op: "replace", path: "/data/k", value: "2" },
        { op: "remove", path: "/data/l" },
      );
      expect(after["data"]).toEqual({ k: "2", m: "new" });
    },
    "add of a key that is there overwrites it": async (world) => {
      expect((await patched(world, { op: "add", path: "/data/k", value: "2" }))["data"]).toEqual({ k: "2", l: "w" });
    },
    "a test that holds lets the rest happen": async (world) => {
      const after = await patched(
        world,
        { op: "test", path: "/data/k", value: "v" },
        { op: "replace", path: "/data/k", value: "2" },
      );
      expect(after["data"]).toMatchObject({ k: "2" });
    },
    "a test that fails is Invalid, and nothing happens": async (world) => {
      const message = await refused(world, 422, "Invalid", [
        { op: "replace", path: "/data/l", value: "2" },
        { op: "test", path: "/data/k", value: "other" },
      ]);
      expect(message).toContain("the server rejected our request due to an error in our request");
    },
    "a test for null holds where the key is absent": async (world) => {
      const after = await patched(
        world,
        { op: "test", path: "/data/absent", value: null },
        { op: "add", path: "/data/absent", value: "now" },
      );
      expect(after["data"]).toMatchObject({ absent: "now" });
    },
    "a test for null below an absent parent is Invalid": async (world) => {
      await refused(world, 422, "Invalid", [{ op: "test", path: "/metadata/labels/x", value: null }]);
    },
    "a test for null fails where the key is there": async (world) => {
      await refused(world, 422, "Invalid", [{ op: "test", path: "/data/k", value: null }]);
    },
    "remove of what is absent is Invalid": async (world) => {
      await refused(world, 422, "Invalid", [{ op: "remove", path: "/data/absent" }]);
    },
    "replace of a key that is absent adds it, against the RFC": async (world) => {
      expect((await patched(world, { op: "replace", path: "/data/m", value: "x" }))["data"]).toEqual({
        ...start,
        m: "x",
      });
    },
    "add below an absent parent is Invalid": async (world) => {
      await refused(world, 422, "Invalid", [{ op: "add", path: "/metadata/annotations/k", value: "x" }]);
    },
    "copy and move": async (world) => {
      const after = await patched(
        world,
        { op: "copy", from: "/data/k", path: "/data/copied" },
        { op: "move", from: "/data/l", path: "/data/moved" },
      );
      expect(after["data"]).toEqual({ k: "v", copied: "v", moved: "w" });
    },
    "an element is added to an array at an index and at its end": async (world) => {
      const after = await patched(
        world,
        { op: "add", path: "/metadata/finalizers/0", value: "x.test/0" },
        { op: "add", path: "/metadata/finalizers/-", value: "x.test/3" },
      );
      expect(after.metadata.finalizers).toEqual(["x.test/0", "x.test/1", "x.test/2", "x.test/3"]);
    },
    "an element is removed from an array by its index": async (world) => {
      const after = await patched(world, { op: "remove", path: "/metadata/finalizers/0" });
      expect(after.metadata.finalizers).toEqual(["x.test/2"]);
    },
    "~1 and ~0 stand for / and ~": async (world) => {
      const after = await patched(
        world,
        { op: "add", path: "/metadata/annotations", value: {} },
        { op: "add", path: "/metadata/annotations/x.test~1k", value: "v" },
      );
      expect(after.metadata.annotations).toEqual({ "x.test/k": "v" });
    },
    "a patch without operations changes nothing": async (world) => {
      const before = await world.make("configmaps", configMap("a", start));
      const after = await world.api.done(jsonPatch(world.at("configmaps", "a"), []));
      expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    },
    "a patch that is no array is a bad request": async (world) => {
      await refused(world, 400, "BadRequest", { op: "remove", path: "/data/k" });
    },
    "an operation that does not exist is Invalid": async (world) => {
      await refused(world, 422, "Invalid", [{ op: "twist", path: "/data/k" }]);
    },
    "a patch whose result has a wrong type is refused": async (world) => {
      await world.make("configmaps", configMap("a", start));
      const reply = await world.api.send(
        jsonPatch(world.at("configmaps", "a"), [{ op: "add", path: "/data/k", value: 1 }]),
      );
      expect([400, 422]).toContain(reply.status);
    },
    "a patch that makes a map of texts hold a map is Invalid, and blames the patch": async (world) => {
      await world.make("configmaps", configMap("a", start));
      const call = jsonPatch(world.at("configmaps", "a"), [{ op: "copy", from: "/data", path: "/data/k" }]);
      const status = await world.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.[0]?.field).toBe("patch");
    },
    "a merge patch whose result has a wrong type is Invalid, and blames the patch": async (world) => {
      await world.make("configmaps", configMap("a", start));
      const call = mergePatch(world.at("configmaps", "a"), { data: { k: { l: "m" } } });
      const status = await world.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.[0]?.field).toBe("patch");
    },
    "copy of a key that a map does not have copies null": async (world) => {
      const after = await patched(world, { op: "copy", from: "/data/absent", path: "/metadata/labels" });
      expect(after.metadata.labels).toBeUndefined();
    },
    "copy from below what is absent is Invalid": async (world) => {
      await refused(world, 422, "Invalid", [{ op: "copy", from: "/metadata/labels/x", path: "/data/m" }]);
    },
    "move of a key that a map does not have is Invalid": async (world) => {
      await refused(world, 422, "Invalid", [{ op: "move", from: "/data/absent", path: "/data/m" }]);
    },
    "copies that add more than a request may hold are refused": async (world) => {
      const double = (at: number) => ({ op: "copy", from: "/data", path: `/data/x${at}` });
      await refused(
        world,
        422,
        "Invalid",
        Array.from({ length: 40 }, (_, at) => double(at)),
      );
    },
    "replace and test at the end of an array are Invalid": async (world) => {
      await patched(world);
      for (const op of ["replace", "test"]) {
        const call = jsonPatch(world.at("configmaps", "a"), [
          { op, path: "/metadata/finalizers/-", value: "x.test/9" },
        ]);
        await world.api.refused(call, 422, "Invalid");
      }
    },
    "a negative index counts from the end of an array": async (world) => {
      const after = await patched(
        world,
        { op: "test", path: "/metadata/finalizers/-1", value: "x.test/2" },
        { op: "replace", path: "/metadata/finalizers/-1", value: "x.test/3" },
        { op: "remove", path: "/metadata/finalizers/-2" },
        { op: "add", path: "/metadata/finalizers/-1", value: "x.test/4" },
      );
      expect(after.metadata.finalizers).toEqual(["x.test/3", "x.test/4"]);
    },
    "an index beyond the ends of an array is Invalid": async (world) => {
      await patched(world);
      for (const index of ["2", "-3", "x", "1.5", "99999999999999999999"]) {
        const call = jsonPatch(world.at("configmaps", "a"), [{ op: "remove", path: `/metadata/finalizers/${index}` }]);
        await world.api.refused(call, 422, "Invalid");
      }
    },
    "a patch of an object that does not exist is NotFound": async (world) => {
      await world.api.refused(jsonPatch(world.at("configmaps", "a"), []), 404, "NotFound");
    },
    "more than 10,000 operations are too many": async (world) => {
      const operations = Array.from({ length: 10_001 }, () => ({ op: "test", path: "/data/k", value: "v" }));
      await refused(world, 413, "RequestEntityTooLarge", operations);
    },
    "the name of an object cannot be patched": async (world) => {
      await world.make("configmaps", configMap("a", start));
      const call = jsonPatch(world.at("configmaps", "a"), [{ op: "replace", path: "/metadata/name", value: "b" }]);
      await world.api.refused(call, 400, "BadRequest");
    },
  },
};
