// JSON patch (RFC 6902), with the server's own quirks.
import { expect } from "vitest";

import { get, jsonPatch, mergePatch } from "../call.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap } from "../fixtures.ts";
import type { KubeObject } from "../object.ts";

const start = { k: "v", l: "w" };

async function patched(fixture: Fixture, ...operations: readonly object[]): Promise<KubeObject> {
  await fixture.make("configmaps", configMap("a", start, { finalizers: ["x.test/1", "x.test/2"] }));
  fixture.after(async () => {
    await fixture.api.send(jsonPatch(fixture.at("configmaps", "a"), [{ op: "remove", path: "/metadata/finalizers" }]));
  });
  return fixture.api.done(jsonPatch(fixture.at("configmaps", "a"), operations));
}

async function refused(fixture: Fixture, code: number, reason: string, operations: unknown): Promise<string> {
  await fixture.make("configmaps", configMap("a", start));
  const status = await fixture.api.refused(jsonPatch(fixture.at("configmaps", "a"), operations), code, reason);
  expect((await fixture.api.done(get(fixture.at("configmaps", "a"))))["data"]).toEqual(start);
  return status.message;
}

export const jsonPatches: Subject = {
  name: "JSON patch",
  cases: {
    "add, replace and remove change what they name": async (fixture) => {
      const after = await patched(
        fixture,
        { op: "add", path: "/data/m", value: "new" },
        { op: "replace", path: "/data/k", value: "2" },
        { op: "remove", path: "/data/l" },
      );
      expect(after["data"]).toEqual({ k: "2", m: "new" });
    },
    "add of a key that is there overwrites it": async (fixture) => {
      expect((await patched(fixture, { op: "add", path: "/data/k", value: "2" }))["data"]).toEqual({ k: "2", l: "w" });
    },
    "a test that holds lets the rest happen": async (fixture) => {
      const after = await patched(
        fixture,
        { op: "test", path: "/data/k", value: "v" },
        { op: "replace", path: "/data/k", value: "2" },
      );
      expect(after["data"]).toMatchObject({ k: "2" });
    },
    "a test that fails is Invalid, and nothing happens": async (fixture) => {
      const message = await refused(fixture, 422, "Invalid", [
        { op: "replace", path: "/data/l", value: "2" },
        { op: "test", path: "/data/k", value: "other" },
      ]);
      expect(message).toContain("the server rejected our request due to an error in our request");
    },
    "a test for null holds where the key is absent": async (fixture) => {
      const after = await patched(
        fixture,
        { op: "test", path: "/data/absent", value: null },
        { op: "add", path: "/data/absent", value: "now" },
      );
      expect(after["data"]).toMatchObject({ absent: "now" });
    },
    "a test for null below an absent parent is Invalid": async (fixture) => {
      await refused(fixture, 422, "Invalid", [{ op: "test", path: "/metadata/labels/x", value: null }]);
    },
    "a test for null fails where the key is there": async (fixture) => {
      await refused(fixture, 422, "Invalid", [{ op: "test", path: "/data/k", value: null }]);
    },
    "remove of what is absent is Invalid": async (fixture) => {
      await refused(fixture, 422, "Invalid", [{ op: "remove", path: "/data/absent" }]);
    },
    "replace of a key that is absent adds it, against the RFC": async (fixture) => {
      expect((await patched(fixture, { op: "replace", path: "/data/m", value: "x" }))["data"]).toEqual({
        ...start,
        m: "x",
      });
    },
    "add below an absent parent is Invalid": async (fixture) => {
      await refused(fixture, 422, "Invalid", [{ op: "add", path: "/metadata/annotations/k", value: "x" }]);
    },
    "copy and move": async (fixture) => {
      const after = await patched(
        fixture,
        { op: "copy", from: "/data/k", path: "/data/copied" },
        { op: "move", from: "/data/l", path: "/data/moved" },
      );
      expect(after["data"]).toEqual({ k: "v", copied: "v", moved: "w" });
    },
    "an element is added to an array at an index and at its end": async (fixture) => {
      const after = await patched(
        fixture,
        { op: "add", path: "/metadata/finalizers/0", value: "x.test/0" },
        { op: "add", path: "/metadata/finalizers/-", value: "x.test/3" },
      );
      expect(after.metadata.finalizers).toEqual(["x.test/0", "x.test/1", "x.test/2", "x.test/3"]);
    },
    "an element is removed from an array by its index": async (fixture) => {
      const after = await patched(fixture, { op: "remove", path: "/metadata/finalizers/0" });
      expect(after.metadata.finalizers).toEqual(["x.test/2"]);
    },
    "~1 and ~0 stand for / and ~": async (fixture) => {
      const after = await patched(
        fixture,
        { op: "add", path: "/metadata/annotations", value: {} },
        { op: "add", path: "/metadata/annotations/x.test~1k", value: "v" },
      );
      expect(after.metadata.annotations).toEqual({ "x.test/k": "v" });
    },
    "a patch without operations changes nothing": async (fixture) => {
      const before = await fixture.make("configmaps", configMap("a", start));
      const after = await fixture.api.done(jsonPatch(fixture.at("configmaps", "a"), []));
      expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    },
    "a patch that is no array is a bad request": async (fixture) => {
      await refused(fixture, 400, "BadRequest", { op: "remove", path: "/data/k" });
    },
    "an operation that does not exist is Invalid": async (fixture) => {
      await refused(fixture, 422, "Invalid", [{ op: "twist", path: "/data/k" }]);
    },
    "a patch whose result has a wrong type is refused": async (fixture) => {
      await fixture.make("configmaps", configMap("a", start));
      const reply = await fixture.api.send(
        jsonPatch(fixture.at("configmaps", "a"), [{ op: "add", path: "/data/k", value: 1 }]),
      );
      expect([400, 422]).toContain(reply.status);
    },
    "a patch that makes a map of texts hold a map is Invalid, and blames the patch": async (fixture) => {
      await fixture.make("configmaps", configMap("a", start));
      const call = jsonPatch(fixture.at("configmaps", "a"), [{ op: "copy", from: "/data", path: "/data/k" }]);
      const status = await fixture.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.[0]?.field).toBe("patch");
    },
    "a merge patch whose result has a wrong type is Invalid, and blames the patch": async (fixture) => {
      await fixture.make("configmaps", configMap("a", start));
      const call = mergePatch(fixture.at("configmaps", "a"), { data: { k: { l: "m" } } });
      const status = await fixture.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.[0]?.field).toBe("patch");
    },
    "copy of a key that a map does not have copies null": async (fixture) => {
      const after = await patched(fixture, { op: "copy", from: "/data/absent", path: "/metadata/labels" });
      expect(after.metadata.labels).toBeUndefined();
    },
    "copy from below what is absent is Invalid": async (fixture) => {
      await refused(fixture, 422, "Invalid", [{ op: "copy", from: "/metadata/labels/x", path: "/data/m" }]);
    },
    "move of a key that a map does not have is Invalid": async (fixture) => {
      await refused(fixture, 422, "Invalid", [{ op: "move", from: "/data/absent", path: "/data/m" }]);
    },
    "copies that add more than a request may hold are refused": async (fixture) => {
      const double = (at: number) => ({ op: "copy", from: "/data", path: `/data/x${at}` });
      await refused(
        fixture,
        422,
        "Invalid",
        Array.from({ length: 40 }, (_, at) => double(at)),
      );
    },
    "replace and test at the end of an array are Invalid": async (fixture) => {
      await patched(fixture);
      for (const op of ["replace", "test"]) {
        const call = jsonPatch(fixture.at("configmaps", "a"), [
          { op, path: "/metadata/finalizers/-", value: "x.test/9" },
        ]);
        await fixture.api.refused(call, 422, "Invalid");
      }
    },
    "a negative index counts from the end of an array": async (fixture) => {
      const after = await patched(
        fixture,
        { op: "test", path: "/metadata/finalizers/-1", value: "x.test/2" },
        { op: "replace", path: "/metadata/finalizers/-1", value: "x.test/3" },
        { op: "remove", path: "/metadata/finalizers/-2" },
        { op: "add", path: "/metadata/finalizers/-1", value: "x.test/4" },
      );
      expect(after.metadata.finalizers).toEqual(["x.test/3", "x.test/4"]);
    },
    "an index beyond the ends of an array is Invalid": async (fixture) => {
      await patched(fixture);
      for (const index of ["2", "-3", "x", "1.5", "99999999999999999999"]) {
        const call = jsonPatch(fixture.at("configmaps", "a"), [
          { op: "remove", path: `/metadata/finalizers/${index}` },
        ]);
        await fixture.api.refused(call, 422, "Invalid");
      }
    },
    "a patch of an object that does not exist is NotFound": async (fixture) => {
      await fixture.api.refused(jsonPatch(fixture.at("configmaps", "a"), []), 404, "NotFound");
    },
    "more than 10,000 operations are too many": async (fixture) => {
      const operations = Array.from({ length: 10_001 }, () => ({ op: "test", path: "/data/k", value: "v" }));
      await refused(fixture, 413, "RequestEntityTooLarge", operations);
    },
    "the name of an object cannot be patched": async (fixture) => {
      await fixture.make("configmaps", configMap("a", start));
      const call = jsonPatch(fixture.at("configmaps", "a"), [{ op: "replace", path: "/metadata/name", value: "b" }]);
      await fixture.api.refused(call, 400, "BadRequest");
    },
  },
};
