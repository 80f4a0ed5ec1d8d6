// Server-side apply to lists and maps: the order of elements, and who owns a list, a map and an element as such.
import { expect } from "vitest";

import { apply, post, put } from "../call.ts";
import { widgets, type Widgets } from "../crd.ts";
import { deployment } from "../fixtures.ts";
import { dig, type KubeObject } from "../object.ts";
import type { Subject, World } from "../world.ts";

const string = { type: "string" };
const ports = {
  type: "array",
  items: { type: "object", properties: { name: string, port: { type: "integer" } }, required: ["name"] },
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["name"],
};
const tags = { type: "array", items: string, "x-kubernetes-list-type": "set" };
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

const listed = (world: World) => widgets(world, { spec: { type: "object", properties: { ports, tags, open } } });
const applying = (w: Widgets, fieldManager: string, spec: object, more: object = {}) =>
  apply(w.at("a"), w.body("a", { spec }), { fieldManager, ...more });

const [http, dns] = [
  { name: "http", port: 80 },
  { name: "dns", port: 53 },
];

/** A configmap named a, with labels that somebody applies. */
const labelling = (world: World, fieldManager: string, labels?: object, more: object = {}) => {
  const metadata = labels === undefined ? { name: "a" } : { name: "a", labels };
  return apply(
    world.at("configmaps", "a"),
    { apiVersion: "v1", kind: "ConfigMap", metadata },
    { fieldManager, ...more },
  );
};

const container = (object: KubeObject) => dig(object, "spec", "template", "spec", "containers", 0);

export const applyLists: Subject = {
  name: "server-side apply to lists and maps",
  cases: {
    "an element of which another manager has a value only goes with its key": async (world) => {
      const path = world.at("deployments", "a");
      const env = (b: string) => [
        { name: "A", value: "1" },
        { name: "B", value: b },
      ];
      const body = (more: object) => deployment("a", [{ name: "main", image: "busybox", ...more }]);
      const first = await world.api.done(apply(path, body({ env: env("1") }), { fieldManager: "two" }));
      const { resourceVersion } = first.metadata;
      const written = { ...body({ env: env("2") }), metadata: { name: "a", resourceVersion } };
      await world.api.done(put(path, written, { fieldManager: "one" }));
      const after = await world.api.done(apply(path, body({}), { fieldManager: "two" }));
      expect(container(after)).toMatchObject({ name: "main" });
      expect(container(after)).not.toHaveProperty("env");
    },
    "elements of a keyed list take the applier's order": async (world) => {
      const w = await listed(world);
      await world.api.done(applying(w, "one", { ports: [http] }));
      const after = await world.api.done(applying(w, "two", { ports: [dns, http] }));
      expect(dig(after, "spec", "ports")).toEqual([dns, http]);
    },
    "elements of a set take the applier's order, and another order is a change": async (world) => {
      const w = await listed(world);
      const first = await world.api.done(applying(w, "one", { tags: ["a", "x", "b"] }));
      const after = await world.api.done(applying(w, "two", { tags: ["b", "a"] }));
      expect(dig(after, "spec", "tags")).toEqual(["x", "b", "a"]);
      expect(after.metadata.generation).toBe((first.metadata.generation ?? 0) + 1);
    },
    "an element that only the object has stays before the one that it preceded": async (world) => {
      const w = await listed(world);
      await world.api.done(applying(w, "one", { tags: ["a", "x", "b", "y"] }));
      const after = await world.api.done(applying(w, "two", { tags: ["new", "a", "b", "last"] }));
      expect(dig(after, "spec", "tags")).toEqual(["new", "a", "x", "b", "y", "last"]);
    },
    "an element that is applied twice is refused, and none of the two is lost": async (world) => {
      const w = await listed(world);
      for (const spec of [{ tags: ["a", "a"] }, { ports: [http, dns, { ...http, port: 81 }] }]) {
        const { status, body } = await world.api.send(applying(w, "one", spec));
        expect(status).toBe(500);
        expect(dig(body, "message")).toContain("duplicate entries for key");
      }
    },
    "an empty map that somebody applied is a field that conflicts": async (world) => {
      await world.api.done(labelling(world, "two", {}));
      const status = await world.api.refused(labelling(world, "one", { x: "1" }), 409, "Conflict");
      expect(status.details?.causes).toEqual([expect.objectContaining({ field: ".metadata.labels" })]);
    },
    "an updater owns the map that it made, even when all entries are gone": async (world) => {
      const path = world.at("configmaps", "a");
      const { metadata } = await world.api.done(
        post(world.at("configmaps"), { metadata: { name: "a" }, data: { k: "v" } }, { fieldManager: "zero" }),
      );
      const { resourceVersion } = metadata;
      const body = { metadata: { name: "a", resourceVersion, labels: { x: "2" } }, data: { k: "v" } };
      await world.api.done(put(path, body, { fieldManager: "one" }));
      await world.api.done(labelling(world, "two", { x: "1" }, { force: true }));
      expect((await world.api.done(labelling(world, "two"))).metadata.labels).toBeUndefined();
      const status = await world.api.refused(labelling(world, "one", { x: "1" }), 409, "Conflict");
      expect(status.details?.causes).toEqual([expect.objectContaining({ field: ".metadata.labels" })]);
    },
    "a preserved field that becomes of another type conflicts as a whole": async (world) => {
      for (const [before, after] of [
        [{}, "a"],
        ["a", { k: "a" }],
      ]) {
        const w = await listed(world);
        await world.api.done(post(w.at(), w.body("a", { spec: { open: { any: before } } }), { fieldManager: "one" }));
        const status = await world.api.refused(applying(w, "one", { open: { any: after } }), 409, "Conflict");
        expect(status.details?.causes).toEqual([expect.objectContaining({ field: ".spec.open.any" })]);
      }
    },
    "an empty keyed list that somebody applies is no field": async (world) => {
      const w = await listed(world);
      const after = await world.api.done(applying(w, "one", { ports: [], tags: ["a"] }));
      expect(after.metadata.managedFields?.[0]?.fieldsV1).toEqual({ "f:spec": { "f:tags": { 'v:"a"': {} } } });
    },
    "what was there before anybody applied belongs to before-first-apply": async (world) => {
      const path = world.at("configmaps", "a");
      await world.api.done(post(world.at("configmaps"), { metadata: { name: "a" } }, { fieldManager: "zero" }));
      const body = (k: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { k } });
      const updated = await world.api.done(put(path, body("v"), { fieldManager: "one" }));
      expect(updated.metadata.managedFields ?? []).toEqual([]);
      const status = await world.api.refused(apply(path, body("w"), { fieldManager: "two" }), 409, "Conflict");
      expect(status.details?.causes?.[0]?.message).toContain('conflict with "before-first-apply" using v1');
      const after = await world.api.done(apply(path, body("v"), { fieldManager: "two" }));
      expect(after.metadata.managedFields?.map(({ manager, operation }) => [manager, operation])).toEqual(
        expect.arrayContaining([
          ["before-first-apply", "Update"],
          ["two", "Apply"],
        ]),
      );
    },
  },
};
