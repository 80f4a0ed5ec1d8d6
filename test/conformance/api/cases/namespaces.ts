// Namespaces: how they begin, and how they end with all that is in them.
import { expect } from "vitest";

import { del, get, mergePatch, post, put } from "../call.ts";
import { condition, widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap, lease } from "../fixtures.ts";
import { dig } from "../object.ts";
import { until } from "../until.ts";

const path = (fixture: Fixture) => `/api/v1/namespaces/${fixture.namespace}`;
const gone = (fixture: Fixture) =>
  until("the namespace is gone", async () => !(await fixture.api.exists(path(fixture))));

/** The namespace is being deleted, and a configmap that somebody holds keeps it from going. */
async function terminating(fixture: Fixture): Promise<void> {
  await fixture.make("configmaps", configMap("held", {}, { finalizers: ["x.test/hold"] }));
  fixture.after(async () => {
    await fixture.api.send(mergePatch(fixture.at("configmaps", "held"), { metadata: { finalizers: null } }));
  });
  await fixture.api.done(del(path(fixture)));
}

export const namespaces: Subject = {
  name: "namespaces",
  cases: {
    "a namespace begins active, held and labelled with its name": async (fixture) => {
      expect(await fixture.api.done(get(path(fixture)))).toMatchObject({
        metadata: { labels: { "kubernetes.io/metadata.name": fixture.namespace } },
        spec: { finalizers: ["kubernetes"] },
        status: { phase: "Active" },
      });
    },
    "the label with its name cannot be lost": async (fixture) => {
      const after = await fixture.api.done(mergePatch(path(fixture), { metadata: { labels: null } }));
      expect(after.metadata.labels).toEqual({ "kubernetes.io/metadata.name": fixture.namespace });
    },
    "the namespaces of the system are there": async (fixture) => {
      const there = async () => {
        const { items } = await fixture.api.list("/api/v1/namespaces");
        const seen = new Set(items.map(({ metadata }) => metadata.name));
        return ["default", "kube-system", "kube-public", "kube-node-lease"].every((name) => seen.has(name));
      };
      expect(await until("the namespaces of the system are there", there)).toBe(true);
    },
    "the namespace default cannot be deleted": async (fixture) => {
      await fixture.api.refused(del("/api/v1/namespaces/default"), 403, "Forbidden");
    },
    "delete marks a namespace as terminating": async (fixture) => {
      await terminating(fixture);
      const seen = await fixture.api.done(get(path(fixture)));
      expect(seen).toMatchObject({
        metadata: { deletionTimestamp: expect.any(String) },
        status: { phase: "Terminating" },
      });
    },
    "nothing new is made in a terminating namespace": async (fixture) => {
      await terminating(fixture);
      const status = await fixture.api.refused(post(fixture.at("configmaps"), configMap("late")), 403, "Forbidden");
      expect(status.message).toContain("because it is being terminated");
      expect(status.details?.causes?.[0]).toMatchObject({ reason: "NamespaceTerminating" });
    },
    "what is in a terminating namespace can be changed": async (fixture) => {
      await terminating(fixture);
      const after = await fixture.api.done(mergePatch(fixture.at("configmaps", "held"), { data: { k: "v" } }));
      expect(after["data"]).toEqual({ k: "v" });
    },
    "a namespace goes with all that is in it": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      await fixture.make("leases", lease("a"));
      await fixture.api.done(del(path(fixture)));
      await gone(fixture);
      await fixture.api.refused(get(fixture.at("configmaps", "a")), 404, "NotFound");
      expect((await fixture.api.list(fixture.at("leases"))).items).toEqual([]);
    },
    "custom resources go with their namespace": async (fixture) => {
      const w = await widgets(fixture);
      await fixture.api.done(post(w.at(), w.body("a")));
      await fixture.api.done(del(path(fixture)));
      await gone(fixture);
      await fixture.api.refused(get(w.at("a")), 404, "NotFound");
    },
    "a namespace waits for what is held, and says so": async (fixture) => {
      await terminating(fixture);
      await until("the namespace says what it waits for", async () => {
        const seen = await fixture.api.done(get(path(fixture)));
        return condition(seen, "NamespaceFinalizersRemaining")?.status === "True";
      });
      await fixture.api.done(mergePatch(fixture.at("configmaps", "held"), { metadata: { finalizers: null } }));
      await gone(fixture);
    },
    "the finalize subresource lets a namespace go": async (fixture) => {
      const own = ["kubernetes", "x.test/hold"];
      const before = await fixture.api.done(get(path(fixture)));
      const set = (finalizers: readonly string[]) =>
        put(`${path(fixture)}/finalize`, { ...before, metadata: { name: fixture.namespace }, spec: { finalizers } });
      expect(dig(await fixture.api.done(set(own)), "spec", "finalizers")).toEqual(own);
      await fixture.api.done(del(path(fixture)));
      await until("only our finalizer is left", async () => {
        const seen = dig(await fixture.api.done(get(path(fixture))), "spec", "finalizers") as readonly string[];
        return seen.length === 1;
      });
      await fixture.api.done(set([]));
      await gone(fixture);
    },
    "a name is free again when its namespace is gone": async (fixture) => {
      const first = await fixture.api.done(get(path(fixture)));
      await fixture.api.done(del(path(fixture)));
      await gone(fixture);
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: fixture.namespace } };
      const second = await fixture.api.done(post("/api/v1/namespaces", body));
      expect(second.metadata.uid).not.toBe(first.metadata.uid);
    },
  },
};
