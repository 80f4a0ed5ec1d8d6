// Namespaces: how they begin, and how they end with all that is in them.
import { expect } from "vitest";

import { del, get, mergePatch, post, put } from "../call.ts";
import { condition, widgets } from "../crd.ts";
import { configMap, lease } from "../fixtures.ts";
import { dig } from "../object.ts";
import { until } from "../until.ts";
import type { Subject, World } from "../world.ts";

const path = (world: World) => `/api/v1/namespaces/${world.namespace}`;
const gone = (world: World) => until("the namespace is gone", async () => !(await world.api.exists(path(world))));

/** The namespace is being deleted, and a configmap that somebody holds keeps it from going. */
async function terminating(world: World): Promise<void> {
  await world.make("configmaps", configMap("held", {}, { finalizers: ["x.test/hold"] }));
  world.after(async () => {
    await world.api.send(mergePatch(world.at("configmaps", "held"), { metadata: { finalizers: null } }));
  });
  await world.api.done(del(path(world)));
}

export const namespaces: Subject = {
  name: "namespaces",
  cases: {
    "a namespace begins active, held and labelled with its name": async (world) => {
      expect(await world.api.done(get(path(world)))).toMatchObject({
        metadata: { labels: { "kubernetes.io/metadata.name": world.namespace } },
        spec: { finalizers: ["kubernetes"] },
        status: { phase: "Active" },
      });
    },
    "the label with its name cannot be lost": async (world) => {
      const after = await world.api.done(mergePatch(path(world), { metadata: { labels: null } }));
      expect(after.metadata.labels).toEqual({ "kubernetes.io/metadata.name": world.namespace });
    },
    "the namespaces of the system are there": async (world) => {
      const there = async () => {
        const { items } = await world.api.list("/api/v1/namespaces");
        const seen = new Set(items.map(({ metadata }) => metadata.name));
        return ["default", "kube-system", "kube-public", "kube-node-lease"].every((name) => seen.has(name));
      };
      expect(await until("the namespaces of the system are there", there)).toBe(true);
    },
    "the namespace default cannot be deleted": async (world) => {
      await world.api.refused(del("/api/v1/namespaces/default"), 403, "Forbidden");
    },
    "delete marks a namespace as terminating": async (world) => {
      await terminating(world);
      const seen = await world.api.done(get(path(world)));
      expect(seen).toMatchObject({
        metadata: { deletionTimestamp: expect.any(String) },
        status: { phase: "Terminating" },
      });
    },
    "nothing new is made in a terminating namespace": async (world) => {
      await terminating(world);
      const status = await world.api.refused(post(world.at("configmaps"), configMap("late")), 403, "Forbidden");
      expect(status.message).toContain("because it is being terminated");
      expect(status.details?.causes?.[0]).toMatchObject({ reason: "NamespaceTerminating" });
    },
    "what is in a terminating namespace can be changed": async (world) => {
      await terminating(world);
      const after = await world.api.done(mergePatch(world.at("configmaps", "held"), { data: { k: "v" } }));
      expect(after["data"]).toEqual({ k: "v" });
    },
    "a namespace goes with all that is in it": async (world) => {
      await world.make("configmaps", configMap("a"));
      await world.make("leases", lease("a"));
      await world.api.done(del(path(world)));
      await gone(world);
      await world.api.refused(get(world.at("configmaps", "a")), 404, "NotFound");
      expect((await world.api.list(world.at("leases"))).items).toEqual([]);
    },
    "custom resources go with their namespace": async (world) => {
      const w = await widgets(world);
      await world.api.done(post(w.at(), w.body("a")));
      await world.api.done(del(path(world)));
      await gone(world);
      await world.api.refused(get(w.at("a")), 404, "NotFound");
    },
    "a namespace waits for what is held, and says so": async (world) => {
      await terminating(world);
      await until("the namespace says what it waits for", async () => {
        const seen = await world.api.done(get(path(world)));
        return condition(seen, "NamespaceFinalizersRemaining")?.status === "True";
      });
      await world.api.done(mergePatch(world.at("configmaps", "held"), { metadata: { finalizers: null } }));
      await gone(world);
    },
    "the finalize subresource lets a namespace go": async (world) => {
      const own = ["kubernetes", "x.test/hold"];
      const before = await world.api.done(get(path(world)));
      const set = (finalizers: readonly string[]) =>
        put(`${path(world)}/finalize`, { ...before, metadata: { name: world.namespace }, spec: { finalizers } });
      expect(dig(await world.api.done(set(own)), "spec", "finalizers")).toEqual(own);
      await world.api.done(del(path(world)));
      await until("only our finalizer is left", async () => {
        const seen = dig(await world.api.done(get(path(world))), "spec", "finalizers") as readonly string[];
        return seen.length === 1;
      });
      await world.api.done(set([]));
      await gone(world);
    },
    "a name is free again when its namespace is gone": async (world) => {
      const first = await world.api.done(get(path(world)));
      await world.api.done(del(path(world)));
      await gone(world);
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: world.namespace } };
      const second = await world.api.done(post("/api/v1/namespaces", body));
      expect(second.metadata.uid).not.toBe(first.metadata.uid);
    },
  },
};
