// metadata.managedFields: who wrote which field, and how.
import { expect } from "vitest";

import { apply, get, mergePatch, post, put } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap, deployment } from "../fixtures.ts";
import type { KubeObject, ManagedFields } from "../object.ts";

const managers = (object: KubeObject): readonly ManagedFields[] => object.metadata.managedFields ?? [];
const of = (object: KubeObject, name: string) => managers(object).find(({ manager }) => manager === name);

const patchBy = (fixture: Fixture, fieldManager: string, body: object) =>
  fixture.api.done(mergePatch(fixture.at("configmaps", "a"), body, { fieldManager }));

export const fieldManagers: Subject = {
  name: "field managers",
  cases: {
    "a create is recorded as an Update by its manager": async (fixture) => {
      const created = await fixture.api.done(
        post(fixture.at("configmaps"), configMap("a", { k: "v" }), { fieldManager: "me" }),
      );
      expect(managers(created)).toEqual([
        {
          manager: "me",
          operation: "Update",
          apiVersion: "v1",
          time: expect.stringMatching(/Z$/),
          fieldsType: "FieldsV1",
          fieldsV1: { "f:data": { ".": {}, "f:k": {} } },
        },
      ]);
    },
    "an apply is recorded as Apply, without a dot for the maps above its fields": async (fixture) => {
      const body = configMap("a", { k: "v" }, { labels: { x: "y" } });
      const applied = await fixture.api.done(apply(fixture.at("configmaps", "a"), body, { fieldManager: "me" }));
      expect(of(applied, "me")).toMatchObject({
        operation: "Apply",
        fieldsV1: { "f:data": { "f:k": {} }, "f:metadata": { "f:labels": { "f:x": {} } } },
      });
    },
    "without a fieldManager the manager is named after the user agent": async (fixture) => {
      const call = post(fixture.at("configmaps"), configMap("a", { k: "v" }));
      const headers = { ...call.headers, "user-agent": "lighthouse/1.2 (linux)" };
      expect(managers(await fixture.api.done({ ...call, headers })).map(({ manager }) => manager)).toEqual([
        "lighthouse",
      ]);
    },
    "a change takes the field from its manager": async (fixture) => {
      await fixture.api.done(
        post(fixture.at("configmaps"), configMap("a", { k: "v", l: "w" }), { fieldManager: "one" }),
      );
      const after = await patchBy(fixture, "two", { data: { k: "2" } });
      expect(of(after, "one")?.fieldsV1).toEqual({ "f:data": { ".": {}, "f:l": {} } });
      expect(of(after, "two")?.fieldsV1).toEqual({ "f:data": { "f:k": {} } });
    },
    "a write of the same value takes no field": async (fixture) => {
      await fixture.api.done(post(fixture.at("configmaps"), configMap("a", { k: "v" }), { fieldManager: "one" }));
      const after = await patchBy(fixture, "two", { data: { k: "v" } });
      expect(managers(after).map(({ manager }) => manager)).toEqual(["one"]);
    },
    "a manager without fields disappears": async (fixture) => {
      await fixture.api.done(post(fixture.at("configmaps"), configMap("a"), { fieldManager: "one" }));
      await patchBy(fixture, "two", { data: { k: "v" } });
      const after = await patchBy(fixture, "three", { data: { k: null } });
      expect(of(after, "two")).toBeUndefined();
    },
    "a write of the status is recorded with its subresource": async (fixture) => {
      const w = await widgets(fixture, { subresources: { status: {} } });
      await fixture.api.done(post(w.at(), w.body("a", { spec: { x: 1 } }), { fieldManager: "me" }));
      const call = mergePatch(w.at("a", "status"), { status: { y: 1 } }, { fieldManager: "me" });
      const entries = managers(await fixture.api.done(call));
      expect(entries.map(({ subresource }) => subresource)).toEqual([undefined, "status"]);
      expect(entries[1]?.fieldsV1).toEqual({ "f:status": { ".": {}, "f:y": {} } });
    },
    "the elements of a keyed list are recorded by their key": async (fixture) => {
      const item = {
        type: "object",
        properties: { name: { type: "string" }, port: { type: "integer" } },
        required: ["name"],
      };
      const ports = {
        type: "array",
        items: item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
      };
      const w = await widgets(fixture, { spec: { type: "object", properties: { ports } } });
      const body = w.body("a", { spec: { ports: [{ name: "http", port: 80 }] } });
      const applied = await fixture.api.done(apply(w.at("a"), body, { fieldManager: "me" }));
      expect(of(applied, "me")?.fieldsV1).toEqual({
        "f:spec": { "f:ports": { 'k:{"name":"http"}': { ".": {}, "f:name": {}, "f:port": {} } } },
      });
    },
    "a map is a field of who makes it, and a part of a built-in kind that is always there is not": async (fixture) => {
      const object = { type: "object", properties: { number: { type: "integer", default: 3 } } };
      const w = await widgets(fixture, { spec: object });
      const made = await fixture.api.done(post(w.at(), w.body("a", { spec: {} }), { fieldManager: "me" }));
      expect(of(made, "me")?.fieldsV1).toEqual({ "f:spec": { ".": {}, "f:number": {} } });
      const body = deployment("a", [{ name: "main", image: "busybox", env: [{ name: "A", value: "1" }] }]);
      const deployed = await fixture.api.done(post(fixture.at("deployments"), body, { fieldManager: "me" }));
      const dots = (value: unknown, path: string): string[] =>
        Object.entries(value as object).flatMap(([key, below]) =>
          key === "." ? [path] : dots(below, `${path}/${key}`),
        );
      expect(dots(of(deployed, "me")?.fieldsV1, "").sort()).toEqual(
        [
          "/f:spec/f:strategy/f:rollingUpdate",
          "/f:spec/f:template/f:metadata/f:labels",
          '/f:spec/f:template/f:spec/f:containers/k:{"name":"main"}',
          '/f:spec/f:template/f:spec/f:containers/k:{"name":"main"}/f:env',
          '/f:spec/f:template/f:spec/f:containers/k:{"name":"main"}/f:env/k:{"name":"A"}',
        ].sort(),
      );
    },
    "managedFields of one empty entry clear them": async (fixture) => {
      const created = await fixture.api.done(
        post(fixture.at("configmaps"), configMap("a", { k: "v" }), { fieldManager: "me" }),
      );
      const metadata = { ...created.metadata, managedFields: [{}] };
      const after = await fixture.api.done(put(fixture.at("configmaps", "a"), { ...created, metadata }));
      expect(managers(after)).toEqual([]);
    },
    "after they were cleared, writes that do not apply are tracked no more": async (fixture) => {
      await fixture.api.done(post(fixture.at("configmaps"), configMap("a", { k: "v" }), { fieldManager: "me" }));
      await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), { metadata: { managedFields: [{}] } }));
      expect(managers(await patchBy(fixture, "two", { data: { k: "2" } }))).toEqual([]);
    },
    "an apply after they were cleared brings tracking back": async (fixture) => {
      await fixture.api.done(post(fixture.at("configmaps"), configMap("a", { k: "v" }), { fieldManager: "me" }));
      await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), { metadata: { managedFields: [{}] } }));
      const call = apply(fixture.at("configmaps", "a"), configMap("a", { l: "w" }), { fieldManager: "one" });
      const after = await fixture.api.done(call);
      expect(of(after, "one")).toMatchObject({ operation: "Apply" });
    },
    "a fieldManager longer than 128 characters is Invalid": async (fixture) => {
      const call = post(fixture.at("configmaps"), configMap("a"), { fieldManager: "m".repeat(129) });
      await fixture.api.refused(call, 422, "Invalid");
    },
    "lists and gets carry the managers": async (fixture) => {
      await fixture.api.done(post(fixture.at("configmaps"), configMap("a", { k: "v" }), { fieldManager: "me" }));
      expect(managers(await fixture.api.done(get(fixture.at("configmaps", "a"))))).toHaveLength(1);
      const { items } = await fixture.api.list(fixture.at("configmaps"));
      expect(items[0]?.metadata.managedFields).toHaveLength(1);
    },
  },
};
