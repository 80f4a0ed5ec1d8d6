// Fields that a schema does not know: pruned, kept, warned of or refused.
import { expect } from "vitest";

import { get, jsonPatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject } from "../fixture.ts";
import { configMap } from "../fixtures.ts";

const strict = { type: "object", properties: { known: { type: "string" } } };
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export const pruning: Subject = {
  name: "unknown fields",
  cases: {
    "fields that the schema does not know are pruned, at every depth": async (fixture) => {
      const deep = {
        type: "object",
        properties: { known: { type: "string" }, list: { type: "array", items: strict } },
      };
      const w = await widgets(fixture, { spec: deep });
      const spec = { known: "v", unknown: 1, list: [{ known: "v", unknown: 1 }] };
      const made = await fixture.api.done(post(w.at(), { ...w.body("a", { spec }), top: "level" }));
      expect(made["spec"]).toEqual({ known: "v", list: [{ known: "v" }] });
      expect(made).not.toHaveProperty("top");
      expect(await fixture.api.done(get(w.at("a")))).toEqual(made);
    },
    "x-kubernetes-preserve-unknown-fields keeps them": async (fixture) => {
      const w = await widgets(fixture, { spec: open });
      const spec = { any: { thing: [1, "two", null] } };
      expect((await fixture.api.done(post(w.at(), w.body("a", { spec }))))["spec"]).toEqual(spec);
    },
    "below kept fields, what the schema knows is pruned again": async (fixture) => {
      const w = await widgets(fixture, { spec: { ...open, properties: { inner: strict } } });
      const spec = { other: 1, inner: { known: "v", unknown: 1 } };
      const made = await fixture.api.done(post(w.at(), w.body("a", { spec })));
      expect(made["spec"]).toEqual({ other: 1, inner: { known: "v" } });
    },
    "additionalProperties keeps keys of any name": async (fixture) => {
      const w = await widgets(fixture, { spec: { type: "object", additionalProperties: { type: "string" } } });
      expect((await fixture.api.done(post(w.at(), w.body("a", { spec: { any: "v" } }))))["spec"]).toEqual({ any: "v" });
    },
    "an embedded resource keeps its metadata and must name itself": async (fixture) => {
      const template = { ...open, "x-kubernetes-embedded-resource": true };
      const w = await widgets(fixture, { spec: { type: "object", properties: { template } } });
      const object = { apiVersion: "v1", kind: "Anything", metadata: { name: "inner", labels: { x: "y" } }, more: 1 };
      const made = await fixture.api.done(post(w.at(), w.body("a", { spec: { template: object } })));
      expect(made["spec"]).toEqual({ template: object });
      const call = post(w.at(), w.body("b", { spec: { template: { metadata: { name: "inner" } } } }));
      await fixture.api.refused(call, 422, "Invalid");
    },
    "a schema that keeps everything keeps what is beside spec": async (fixture) => {
      const w = await widgets(fixture, { schema: open });
      const made = await fixture.api.done(post(w.at(), { ...w.body("a"), anything: { goes: true } }));
      expect(made["anything"]).toEqual({ goes: true });
    },
    "fields that metadata does not have are dropped": async (fixture) => {
      const w = await widgets(fixture, { schema: open });
      const made = await fixture.api.done(post(w.at(), w.body("a", {}, { nonsense: 1 })));
      expect(made.metadata).not.toHaveProperty("nonsense");
    },
    "a patch of an unknown field alone changes nothing": async (fixture) => {
      const w = await widgets(fixture, { spec: strict });
      const made = await fixture.api.done(post(w.at(), w.body("a", { spec: { known: "v" } })));
      const call = jsonPatch(w.at("a"), [{ op: "add", path: "/spec/unknown", value: 1 }]);
      expect((await fixture.api.done(call)).metadata.resourceVersion).toBe(made.metadata.resourceVersion);
    },
    "fieldValidation=Strict refuses an unknown field of a custom resource": async (fixture) => {
      const w = await widgets(fixture, { spec: strict });
      const call = post(w.at(), w.body("a", { spec: { unknown: 1 } }), { fieldValidation: "Strict" });
      const status = await fixture.api.refused(call, 400, "BadRequest");
      expect(status.message).toContain('unknown field "spec.unknown"');
    },
    "fieldValidation=Strict refuses an unknown field of a built-in kind": async (fixture) => {
      const body = { ...configMap("a"), datum: {} };
      const status = await fixture.api.refused(
        post(fixture.at("configmaps"), body, { fieldValidation: "Strict" }),
        400,
        "BadRequest",
      );
      expect(status.message).toContain('unknown field "datum"');
    },
    "unknown fields of a built-in kind are dropped with a warning": async (fixture) => {
      const reply = await fixture.api.send(post(fixture.at("configmaps"), { ...configMap("a"), datum: {} }));
      expect(reply.status).toBe(201);
      expect(reply.body).not.toHaveProperty("datum");
      expect(reply.headers["warning"]).toBe('299 - "unknown field \\"datum\\""');
    },
    "fieldValidation=Ignore says nothing": async (fixture) => {
      const reply = await fixture.api.send(
        post(fixture.at("configmaps"), { ...configMap("a"), datum: {} }, { fieldValidation: "Ignore" }),
      );
      expect(reply.status).toBe(201);
      expect(reply.headers["warning"]).toBeUndefined();
    },
    "a field that is given twice is warned of, and refused when strict": async (fixture) => {
      const body = '{"metadata":{"name":"a"},"data":{"k":"1","k":"2"}}';
      const reply = await fixture.api.send(post(fixture.at("configmaps"), body));
      expect(reply.status).toBe(201);
      expect(reply.body).toMatchObject({ data: { k: "2" } });
      expect(reply.headers["warning"]).toContain("duplicate field");
      await fixture.api.refused(post(fixture.at("configmaps"), body, { fieldValidation: "Strict" }), 400, "BadRequest");
    },
    "an unknown fieldValidation is Invalid": async (fixture) => {
      await fixture.api.refused(
        post(fixture.at("configmaps"), configMap("a"), { fieldValidation: "Loose" }),
        422,
        "Invalid",
      );
    },
  },
};
