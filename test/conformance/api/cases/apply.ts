// Server-side apply: fields belong to the manager who applied them.
import { expect } from "vitest";

import { apply, get, mergePatch, put, type Call } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap, deployment } from "../fixtures.ts";
import { dig, type KubeObject } from "../object.ts";

/** The call by which `manager` applies a configmap named a. */
function applying(fixture: Fixture, manager: string, data: Record<string, string>, more: object = {}): Call {
  return apply(fixture.at("configmaps", "a"), configMap("a", data), { fieldManager: manager, ...more });
}

const keyed = {
  type: "array",
  items: { type: "object", properties: { name: { type: "string" }, port: { type: "integer" } }, required: ["name"] },
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["name"],
};

/** Without even an empty map of data, which would be a field that its manager owns. */
const bare = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
const data = (object: KubeObject) => object["data"];

export const serverSideApply: Subject = {
  name: "server-side apply",
  cases: {
    "apply creates what is absent with 201, and answers 200 afterwards": async (fixture) => {
      const first = await fixture.api.send(applying(fixture, "one", { k: "v" }));
      expect(first.status).toBe(201);
      expect(first.body).toMatchObject({ kind: "ConfigMap", data: { k: "v" }, metadata: { name: "a" } });
      expect((await fixture.api.send(applying(fixture, "one", { k: "2" }))).status).toBe(200);
    },
    "apply of the same again keeps the version": async (fixture) => {
      const first = await fixture.api.done(applying(fixture, "one", { k: "v" }));
      const second = await fixture.api.done(applying(fixture, "one", { k: "v" }));
      expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    },
    "a field that its manager no longer applies is removed": async (fixture) => {
      await fixture.api.done(applying(fixture, "one", { k: "v", l: "w" }));
      expect(data(await fixture.api.done(applying(fixture, "one", { k: "v" })))).toEqual({ k: "v" });
    },
    "two managers apply different fields of one object": async (fixture) => {
      await fixture.api.done(applying(fixture, "one", { k: "v" }));
      expect(data(await fixture.api.done(applying(fixture, "two", { l: "w" })))).toEqual({ k: "v", l: "w" });
      expect(data(await fixture.api.done(applying(fixture, "one", {})))).toEqual({ l: "w" });
    },
    "a field that two managers share goes when both let go": async (fixture) => {
      await fixture.api.done(applying(fixture, "one", { k: "v" }));
      await fixture.api.done(applying(fixture, "two", { k: "v" }));
      expect(data(await fixture.api.done(applying(fixture, "one", {})))).toEqual({ k: "v" });
      expect(data(await fixture.api.done(applying(fixture, "two", {})))).not.toEqual({ k: "v" });
    },
    "another's field with another value is a Conflict that names manager and field": async (fixture) => {
      await fixture.api.done(applying(fixture, "one", { k: "v" }));
      const status = await fixture.api.refused(applying(fixture, "two", { k: "w" }), 409, "Conflict");
      expect(status.details?.causes).toEqual([
        { reason: "FieldManagerConflict", message: expect.stringContaining('conflict with "one"'), field: ".data.k" },
      ]);
      expect(status.message).toContain("Apply failed with 1 conflict");
    },
    "force takes the field over": async (fixture) => {
      await fixture.api.done(applying(fixture, "one", { k: "v" }));
      expect(data(await fixture.api.done(applying(fixture, "two", { k: "w" }, { force: true })))).toEqual({ k: "w" });
      await fixture.api.refused(applying(fixture, "one", { k: "v" }), 409, "Conflict");
    },
    "a field that was written by update conflicts with apply": async (fixture) => {
      await fixture.make("configmaps", configMap("a", { k: "v" }));
      const status = await fixture.api.refused(applying(fixture, "one", { k: "w" }), 409, "Conflict");
      expect(status.details?.causes?.[0]?.message).toContain("using v1");
    },
    "an update may overwrite an applied field, and takes it over": async (fixture) => {
      await fixture.api.done(applying(fixture, "one", { k: "v" }));
      await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), { data: { k: "w" } }, { fieldManager: "two" }));
      await fixture.api.refused(applying(fixture, "one", { k: "v" }), 409, "Conflict");
    },
    "apply without a fieldManager is refused": async (fixture) => {
      const call = apply(fixture.at("configmaps", "a"), configMap("a"));
      const status = await fixture.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ field: "fieldManager" });
    },
    "force belongs to apply alone": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const call = mergePatch(fixture.at("configmaps", "a"), {}, { force: true, fieldManager: "one" });
      await fixture.api.refused(call, 422, "Invalid");
    },
    "apply with managedFields is a bad request": async (fixture) => {
      const managedFields = [
        { manager: "x", operation: "Apply", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: {} },
      ];
      const body = configMap("a", {}, { managedFields });
      await fixture.api.refused(apply(fixture.at("configmaps", "a"), body, { fieldManager: "one" }), 400, "BadRequest");
    },
    "apply with another name than the path's is a bad request": async (fixture) => {
      const call = apply(fixture.at("configmaps", "a"), configMap("b"), { fieldManager: "one" });
      await fixture.api.refused(call, 400, "BadRequest");
    },
    "apply without apiVersion and kind is a bad request": async (fixture) => {
      const call = apply(fixture.at("configmaps", "a"), { metadata: { name: "a" } }, { fieldManager: "one" });
      await fixture.api.refused(call, 400, "BadRequest");
    },
    "apply with an old version is a Conflict": async (fixture) => {
      const { metadata } = await fixture.api.done(applying(fixture, "one", { k: "v" }));
      await fixture.api.done(applying(fixture, "one", { k: "w" }));
      const body = configMap("a", { k: "x" }, { resourceVersion: metadata.resourceVersion });
      await fixture.api.refused(apply(fixture.at("configmaps", "a"), body, { fieldManager: "one" }), 409, "Conflict");
    },
    "apply of an absent object with a uid is a Conflict": async (fixture) => {
      const body = configMap("a", {}, { uid: "11111111-2222-3333-4444-555555555555" });
      await fixture.api.refused(apply(fixture.at("configmaps", "a"), body, { fieldManager: "one" }), 409, "Conflict");
    },
    "apply takes YAML": async (fixture) => {
      const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v # said in YAML\n";
      const call = apply(fixture.at("configmaps", "a"), yaml, { fieldManager: "one" });
      expect(data(await fixture.api.done(call))).toEqual({ k: "v" });
    },
    "applied containers are merged by name": async (fixture) => {
      const path = fixture.at("deployments", "a");
      await fixture.api.done(
        apply(path, deployment("a", [{ name: "main", image: "busybox" }]), { fieldManager: "one" }),
      );
      const template = { spec: { containers: [{ name: "side", image: "busybox" }] } };
      const partial = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec: { template } };
      const after = await fixture.api.done(apply(path, partial, { fieldManager: "two" }));
      const containers = dig(after, "spec", "template", "spec", "containers") as { name: string }[];
      expect(containers.map(({ name }) => name)).toEqual(["main", "side"]);
      const without = { ...partial, spec: { template: { spec: { containers: [] } } } };
      const last = await fixture.api.done(apply(path, without, { fieldManager: "two" }));
      expect(dig(last, "spec", "template", "spec", "containers")).toHaveLength(1);
    },
    "applied finalizers are a set that managers share": async (fixture) => {
      const call = (manager: string, ...finalizers: string[]) =>
        apply(
          fixture.at("configmaps", "a"),
          { ...bare, metadata: { name: "a", finalizers } },
          { fieldManager: manager },
        );
      await fixture.api.done(call("one", "x.test/1"));
      expect((await fixture.api.done(call("two", "x.test/2"))).metadata.finalizers).toEqual(["x.test/1", "x.test/2"]);
      expect((await fixture.api.done(call("one"))).metadata.finalizers).toEqual(["x.test/2"]);
      expect((await fixture.api.done(call("two"))).metadata.finalizers).toBeUndefined();
    },
    "a list without a merge key belongs to one manager as a whole": async (fixture) => {
      const list = { type: "array", items: { type: "string" } };
      const w = await widgets(fixture, { spec: { type: "object", properties: { list } } });
      const call = (manager: string, ...values: string[]) =>
        apply(w.at("a"), w.body("a", { spec: { list: values } }), { fieldManager: manager });
      await fixture.api.done(call("one", "a"));
      const status = await fixture.api.refused(call("two", "b"), 409, "Conflict");
      expect(status.details?.causes?.[0]?.field).toBe(".spec.list");
    },
    "list-type map and set in a definition merge what is applied": async (fixture) => {
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
      const tags = { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" };
      const w = await widgets(fixture, { spec: { type: "object", properties: { ports, tags } } });
      const call = (manager: string, spec: object) =>
        apply(w.at("a"), w.body("a", { spec }), { fieldManager: manager });
      await fixture.api.done(call("one", { ports: [{ name: "http", port: 80 }], tags: ["x"] }));
      const after = await fixture.api.done(call("two", { ports: [{ name: "dns", port: 53 }], tags: ["y"] }));
      expect(after["spec"]).toEqual({
        ports: [
          { name: "http", port: 80 },
          { name: "dns", port: 53 },
        ],
        tags: ["x", "y"],
      });
    },
    "an atomic map belongs to one manager as a whole": async (fixture) => {
      const map = { type: "object", additionalProperties: { type: "string" }, "x-kubernetes-map-type": "atomic" };
      const w = await widgets(fixture, { spec: { type: "object", properties: { map } } });
      const call = (manager: string, value: object) =>
        apply(w.at("a"), w.body("a", { spec: { map: value } }), { fieldManager: manager });
      await fixture.api.done(call("one", { a: "1" }));
      const status = await fixture.api.refused(call("two", { b: "2" }), 409, "Conflict");
      expect(status.details?.causes?.[0]?.field).toBe(".spec.map");
    },
    "apply to the status subresource touches the status only": async (fixture) => {
      const w = await widgets(fixture, { subresources: { status: {} } });
      await fixture.api.done(apply(w.at("a"), w.body("a", { spec: { x: 1 } }), { fieldManager: "one" }));
      const body = w.body("a", { spec: { x: 9 }, status: { y: 1 } });
      const after = await fixture.api.done(apply(w.at("a", "status"), body, { fieldManager: "two" }));
      expect(after).toMatchObject({ spec: { x: 1 }, status: { y: 1 } });
    },
    "apply as a dry run writes nothing": async (fixture) => {
      const answer = await fixture.api.done(applying(fixture, "one", { k: "v" }, { dryRun: "All" }));
      expect(data(answer)).toEqual({ k: "v" });
      expect(await fixture.api.exists(fixture.at("configmaps", "a"))).toBe(false);
    },
    "an update with what was read keeps the managers": async (fixture) => {
      const first = await fixture.api.done(applying(fixture, "one", { k: "v" }));
      await fixture.api.done(put(fixture.at("configmaps", "a"), first));
      const after = await fixture.api.done(get(fixture.at("configmaps", "a")));
      expect(after.metadata.managedFields).toEqual(first.metadata.managedFields);
    },
    "apply of a field that the kind does not have is refused": async (fixture) => {
      const call = apply(fixture.at("configmaps", "a"), { ...configMap("a"), datum: {} }, { fieldManager: "one" });
      const reply = await fixture.api.send(call);
      expect(reply.status).toBeGreaterThanOrEqual(400);
      expect(reply.body).toMatchObject({ message: expect.stringContaining(".datum: field not declared in schema") });
    },
    "an element of a keyed list goes when both of its appliers let go": async (fixture) => {
      const w = await widgets(fixture, { spec: { type: "object", properties: { ports: keyed } } });
      const call = (manager: string, ...ports: object[]) =>
        apply(w.at("a"), w.body("a", { spec: { ports } }), { fieldManager: manager });
      const [http, dns] = [
        { name: "http", port: 80 },
        { name: "dns", port: 53 },
      ];
      await fixture.api.done(call("one", http));
      await fixture.api.done(call("two", http, dns));
      expect(dig(await fixture.api.done(call("one")), "spec", "ports")).toEqual([http, dns]);
      expect(dig(await fixture.api.done(call("two", dns)), "spec", "ports")).toEqual([dns]);
    },
    "what somebody removed comes back when its applier applies again": async (fixture) => {
      await fixture.api.done(applying(fixture, "one", { k: "v" }));
      await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), { data: { k: null } }, { fieldManager: "two" }));
      expect(data(await fixture.api.done(applying(fixture, "one", { k: "v" })))).toEqual({ k: "v" });
    },
    "one manager's apply to the object and to its status are apart": async (fixture) => {
      const w = await widgets(fixture, { subresources: { status: {} } });
      await fixture.api.done(apply(w.at("a"), w.body("a", { spec: { x: 1 } }), { fieldManager: "one" }));
      await fixture.api.done(apply(w.at("a", "status"), w.body("a", { status: { y: 1 } }), { fieldManager: "one" }));
      const after = await fixture.api.done(apply(w.at("a"), w.body("a", { spec: { z: 1 } }), { fieldManager: "one" }));
      expect(after).toMatchObject({ spec: { z: 1 }, status: { y: 1 } });
      expect(after["spec"]).not.toHaveProperty("x");
      expect(after.metadata.managedFields?.map(({ subresource }) => subresource ?? "").sort()).toEqual(["", "status"]);
    },
    "apply of a custom resource goes through its schema": async (fixture) => {
      const w = await widgets(fixture, {
        spec: { type: "object", properties: { x: { type: "integer", maximum: 3 } } },
      });
      const call = (x: unknown) => apply(w.at("a"), w.body("a", { spec: { x } }), { fieldManager: "one" });
      await fixture.api.refused(call(4), 422, "Invalid");
      expect((await fixture.api.done(call(3)))["spec"]).toEqual({ x: 3 });
    },
  },
};
