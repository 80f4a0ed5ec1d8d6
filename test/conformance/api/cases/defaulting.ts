// Defaults that a definition's schema gives.
import { expect } from "vitest";

import { apply, get, jsonPatch, mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject } from "../fixture.ts";
import { until } from "../until.ts";

const nested = {
  type: "object",
  default: {},
  properties: {
    size: { type: "integer", default: 3 },
    inner: { type: "object", properties: { on: { type: "boolean", default: true } } },
    list: { type: "array", items: { type: "object", properties: { port: { type: "integer", default: 80 } } } },
    map: {
      type: "object",
      additionalProperties: { type: "object", properties: { y: { type: "string", default: "v" } } },
    },
    maybe: { type: "string", nullable: true, default: "there" },
    never: { type: "string", default: "there" },
  },
};

export const defaulting: Subject = {
  name: "defaulting",
  cases: {
    "an absent field gets its default": async (fixture) => {
      const w = await widgets(fixture, { spec: nested });
      const made = await fixture.api.done(post(w.at(), w.body("a", { spec: {} })));
      expect(made["spec"]).toEqual({ size: 3, maybe: "there", never: "there" });
    },
    "a default of an object lets the defaults below it happen": async (fixture) => {
      const w = await widgets(fixture, { spec: nested });
      expect((await fixture.api.done(post(w.at(), w.body("a"))))["spec"]).toMatchObject({ size: 3 });
    },
    "an absent object without a default gets none of the defaults below it": async (fixture) => {
      const w = await widgets(fixture, { spec: nested });
      expect((await fixture.api.done(post(w.at(), w.body("a", { spec: {} }))))["spec"]).not.toHaveProperty("inner");
      const made = await fixture.api.done(post(w.at(), w.body("b", { spec: { inner: {} } })));
      expect(made["spec"]).toMatchObject({ inner: { on: true } });
    },
    "the elements of lists and maps get their defaults": async (fixture) => {
      const w = await widgets(fixture, { spec: nested });
      const spec = { list: [{}, { port: 53 }], map: { k: {} } };
      expect((await fixture.api.done(post(w.at(), w.body("a", { spec }))))["spec"]).toMatchObject({
        list: [{ port: 80 }, { port: 53 }],
        map: { k: { y: "v" } },
      });
    },
    "a value that is there is kept": async (fixture) => {
      const w = await widgets(fixture, { spec: nested });
      const spec = { size: 0, never: "" };
      expect((await fixture.api.done(post(w.at(), w.body("a", { spec }))))["spec"]).toMatchObject(spec);
    },
    "null is kept where it is allowed, and replaced by the default where it is not": async (fixture) => {
      const w = await widgets(fixture, { spec: nested });
      const made = await fixture.api.done(post(w.at(), w.body("a", { spec: { maybe: null, never: null } })));
      expect(made["spec"]).toMatchObject({ maybe: null, never: "there" });
    },
    "a field that is patched away gets its default again": async (fixture) => {
      const w = await widgets(fixture, { spec: nested });
      await fixture.api.done(post(w.at(), w.body("a", { spec: { size: 9 } })));
      expect((await fixture.api.done(mergePatch(w.at("a"), { spec: { size: null } })))["spec"]).toMatchObject({
        size: 3,
      });
    },
    "a default that came later is seen when an old object is read": async (fixture) => {
      const w = await widgets(fixture, { spec: { type: "object", properties: { x: { type: "string" } } } });
      await fixture.api.done(post(w.at(), w.body("old", { spec: {} })));
      const path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/x/default";
      const headers = { "content-type": "application/json-patch+json" };
      await fixture.api.done({
        method: "PATCH",
        path: w.definitionPath,
        headers,
        body: [{ op: "add", path, value: "late" }],
      });
      const seen = await until("the default is seen", async () => {
        const { spec } = (await fixture.api.done(get(w.at("old")))) as { spec?: { x?: string } };
        return spec?.x;
      });
      expect(seen).toBe("late");
      expect((await fixture.api.list(w.at())).items[0]?.["spec"]).toEqual({ x: "late" });
    },
    "defaults belong to no applier": async (fixture) => {
      const w = await widgets(fixture, { spec: nested });
      const made = await fixture.api.done(
        apply(w.at("a"), w.body("a", { spec: { size: 1 } }), { fieldManager: "one" }),
      );
      expect(made.metadata.managedFields?.[0]?.fieldsV1).toEqual({ "f:spec": { "f:size": {} } });
      const after = await fixture.api.done(
        apply(w.at("a"), w.body("a", { spec: { never: "mine" } }), { fieldManager: "two" }),
      );
      expect(after["spec"]).toMatchObject({ size: 1, never: "mine" });
    },
    "a null where none is allowed is dropped, wherever it stands": async (fixture) => {
      const string = { type: "string" };
      const map = { type: "object", additionalProperties: string };
      const list = { type: "array", items: { type: "object", properties: { word: string } } };
      const w = await widgets(fixture, { spec: { type: "object", properties: { map, list, word: string } } });
      await fixture.api.done(post(w.at(), w.body("a", { spec: { map: { l: "v" }, list: [{ word: null }] } })));
      const patched = (...operations: object[]) => fixture.api.done(jsonPatch(w.at("a"), operations));
      const after = await patched({ op: "add", path: "/spec/map/k", value: null });
      expect(after["spec"]).toEqual({ map: { l: "v" }, list: [{}] });
      expect(await patched({ op: "add", path: "/spec", value: null })).not.toHaveProperty("spec");
    },
  },
};
