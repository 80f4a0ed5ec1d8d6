// A custom resource in several versions, converted by changing its apiVersion.
import { expect } from "vitest";

import { get, jsonPatch, mergePatch, post } from "../call.ts";
import { widgets, type DefinitionOptions } from "../crd.ts";
import type { Subject } from "../fixture.ts";
import { dig } from "../object.ts";
import { until } from "../until.ts";

const spec = { type: "object", properties: { x: { type: "string" }, y: { type: "string" } } };
const two: DefinitionOptions = {
  versions: [
    { name: "v1beta1", storage: false, spec },
    { name: "v1", spec },
  ],
};

const storedFirst: DefinitionOptions = {
  versions: [
    { name: "v1", spec },
    { name: "v2", storage: false, spec },
  ],
};
const storage = (index: number, value: boolean) => ({ op: "replace", path: `/spec/versions/${index}/storage`, value });

export const versions: Subject = {
  name: "versions of a custom resource",
  cases: {
    "an object is read in every served version": async (fixture) => {
      const w = await widgets(fixture, two);
      const made = await fixture.api.done(post(w.at(), w.body("a", { spec: { x: "1" } })));
      const seen = await fixture.api.done(get(w.atVersion("v1beta1", "a")));
      expect(seen).toMatchObject({ apiVersion: `${w.group}/v1beta1`, spec: { x: "1" } });
      expect(seen.metadata.uid).toBe(made.metadata.uid);
      expect(seen.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
    },
    "an object is written in every served version": async (fixture) => {
      const w = await widgets(fixture, two);
      const body = { ...w.body("a", { spec: { x: "1" } }), apiVersion: `${w.group}/v1beta1` };
      expect(await fixture.api.done(post(w.atVersion("v1beta1"), body))).toMatchObject({
        apiVersion: `${w.group}/v1beta1`,
      });
      await fixture.api.done(mergePatch(w.at("a"), { spec: { y: "2" } }));
      expect((await fixture.api.done(get(w.atVersion("v1beta1", "a"))))["spec"]).toEqual({ x: "1", y: "2" });
    },
    "lists and watches speak the version of their path": async (fixture) => {
      const w = await widgets(fixture, two);
      const { metadata } = await fixture.api.list(w.at());
      await using watch = await fixture.api.watch(w.atVersion("v1beta1"), {
        resourceVersion: metadata.resourceVersion,
      });
      await fixture.api.done(post(w.at(), w.body("a")));
      expect((await watch.event()).object.apiVersion).toBe(`${w.group}/v1beta1`);
      const list = await fixture.api.list(w.atVersion("v1beta1"));
      expect([list.apiVersion, list.items[0]?.apiVersion]).toEqual([`${w.group}/v1beta1`, `${w.group}/v1beta1`]);
    },
    "a version that is not served is NotFound": async (fixture) => {
      const w = await widgets(fixture, { versions: [{ name: "v1" }, { name: "v2", storage: false, served: false }] });
      expect((await fixture.api.send(get(w.atVersion("v2")))).status).toBe(404);
    },
    "a body of another version than the path is a bad request": async (fixture) => {
      const w = await widgets(fixture, two);
      await fixture.api.refused(post(w.atVersion("v1beta1"), w.body("a")), 400, "BadRequest");
    },
    "discovery prefers the more stable version": async (fixture) => {
      const w = await widgets(fixture, two);
      const group = await fixture.api.done<unknown>(get(`/apis/${w.group}`));
      expect(dig(group, "preferredVersion", "version")).toBe("v1");
      expect(dig(group, "versions")).toEqual([
        { groupVersion: `${w.group}/v1`, version: "v1" },
        { groupVersion: `${w.group}/v1beta1`, version: "v1beta1" },
      ]);
    },
    "each version has a schema of its own": async (fixture) => {
      const number = { type: "object", properties: { x: { type: "string", maxLength: 1 } } };
      const w = await widgets(fixture, {
        versions: [
          { name: "v1", spec },
          { name: "v2", storage: false, spec: number },
        ],
      });
      const body = w.body("a", { spec: { x: "long" } });
      await fixture.api.done(post(w.at(), body, { dryRun: "All" }));
      const call = post(w.atVersion("v2"), { ...body, apiVersion: `${w.group}/v2` }, { dryRun: "All" });
      await fixture.api.refused(call, 422, "Invalid");
    },
    "a new stored version is added to those that were stored": async (fixture) => {
      const w = await widgets(fixture, storedFirst);
      await fixture.api.done(post(w.at(), w.body("old", { spec: { x: "1" } })));
      await fixture.api.done(jsonPatch(w.definitionPath, [storage(0, false), storage(1, true)]));
      await until("v2 is stored", async () => {
        const seen = await fixture.api.done(get(w.definitionPath));
        return (dig(seen, "status", "storedVersions") as readonly string[]).join() === "v1,v2";
      });
      const seen = await fixture.api.done(get(w.atVersion("v2", "old")));
      expect(seen).toMatchObject({ apiVersion: `${w.group}/v2`, spec: { x: "1" } });
    },
    "a version that is stored cannot be removed": async (fixture) => {
      const w = await widgets(fixture, storedFirst);
      const call = jsonPatch(w.definitionPath, [storage(1, true), { op: "remove", path: "/spec/versions/0" }]);
      const status = await fixture.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.map(({ field }) => field)).toContain("status.storedVersions[0]");
    },
  },
};
