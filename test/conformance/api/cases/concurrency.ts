// Optimistic concurrency: versions as guards, and what many writers at once get.
import { expect } from "vitest";

import { get, jsonPatch, mergePatch, post, put } from "../call.ts";
import { widgets } from "../crd.ts";
import { configMap, lease } from "../fixtures.ts";
import type { Subject } from "../world.ts";

const writers = Array.from({ length: 12 }, (_, index) => index);
const count = (statuses: readonly number[], code: number) => statuses.filter((status) => status === code).length;

export const concurrency: Subject = {
  name: "optimistic concurrency",
  cases: {
    "an update with an old version is a Conflict": async (world) => {
      const created = await world.make("configmaps", configMap("a", { k: "1" }));
      await world.api.done(put(world.at("configmaps", "a"), { ...created, data: { k: "2" } }));
      const call = put(world.at("configmaps", "a"), { ...created, data: { k: "3" } });
      const status = await world.api.refused(call, 409, "Conflict");
      expect(status.message).toBe(
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; ' +
          "please apply your changes to the latest version and try again",
      );
      expect(status.details).toMatchObject({ name: "a", kind: "configmaps" });
    },
    "an update without a version overwrites a configmap": async (world) => {
      await world.make("configmaps", configMap("a", { k: "1" }));
      const updated = await world.api.done(put(world.at("configmaps", "a"), configMap("a", { k: "2" })));
      expect(updated["data"]).toEqual({ k: "2" });
    },
    "an update without a version is refused for a lease": async (world) => {
      await world.make("leases", lease("a"));
      const call = put(world.at("leases", "a"), lease("a", { holderIdentity: "me" }));
      const status = await world.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ field: "metadata.resourceVersion" });
    },
    "an update without a version is refused for a custom resource": async (world) => {
      const w = await widgets(world);
      await world.api.done(post(w.at(), w.body("a")));
      const status = await world.api.refused(put(w.at("a"), w.body("a", { spec: { x: 1 } })), 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ field: "metadata.resourceVersion" });
    },
    "an update with another uid is a Conflict": async (world) => {
      const created = await world.make("configmaps", configMap("a"));
      const metadata = { ...created.metadata, uid: "11111111-2222-3333-4444-555555555555" };
      const status = await world.api.refused(
        put(world.at("configmaps", "a"), { ...created, metadata }),
        409,
        "Conflict",
      );
      expect(status.message).toContain("Precondition failed: UID in precondition");
    },
    "an update of an object that was made again is a Conflict": async (world) => {
      const first = await world.make("configmaps", configMap("a"));
      await world.api.done({ method: "DELETE", path: world.at("configmaps", "a") });
      await world.make("configmaps", configMap("a"));
      await world.api.refused(put(world.at("configmaps", "a"), { ...first, data: { k: "v" } }), 409, "Conflict");
    },
    "a merge patch with an old version is a Conflict": async (world) => {
      const created = await world.make("configmaps", configMap("a", { k: "1" }));
      await world.api.done(mergePatch(world.at("configmaps", "a"), { data: { k: "2" } }));
      const { resourceVersion } = created.metadata;
      const call = mergePatch(world.at("configmaps", "a"), { metadata: { resourceVersion }, data: { k: "3" } });
      await world.api.refused(call, 409, "Conflict");
    },
    "a JSON patch that replaces the version with an old one is a Conflict": async (world) => {
      const { metadata } = await world.make("configmaps", configMap("a", { k: "1" }));
      await world.api.done(mergePatch(world.at("configmaps", "a"), { data: { k: "2" } }));
      const call = jsonPatch(world.at("configmaps", "a"), [
        { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
        { op: "replace", path: "/data/k", value: "3" },
      ]);
      await world.api.refused(call, 409, "Conflict");
    },
    "a version that is no number is refused": async (world) => {
      await world.make("configmaps", configMap("a"));
      const call = put(world.at("configmaps", "a"), configMap("a", { k: "v" }, { resourceVersion: "abc" }));
      const reply = await world.api.send(call);
      // The real server says 500, by accident rather than by contract.
      expect(reply.status).toBeGreaterThanOrEqual(400);
      expect(reply.body).toMatchObject({ kind: "Status", status: "Failure" });
    },
    "of many who create one name, one wins": async (world) => {
      const replies = await Promise.all(
        writers.map((index) => world.api.send(post(world.at("configmaps"), configMap("a", { by: String(index) })))),
      );
      const statuses = replies.map(({ status }) => status);
      expect(count(statuses, 201)).toBe(1);
      expect(count(statuses, 409)).toBe(writers.length - 1);
      const winner = replies.find(({ status }) => status === 201);
      expect(await world.api.done(get(world.at("configmaps", "a")))).toEqual(winner?.body);
    },
    "of many who update one version, one wins": async (world) => {
      const created = await world.make("configmaps", configMap("a"));
      const replies = await Promise.all(
        writers.map((index) =>
          world.api.send(put(world.at("configmaps", "a"), { ...created, data: { by: String(index) } })),
        ),
      );
      const statuses = replies.map(({ status }) => status);
      expect([count(statuses, 200), count(statuses, 409)]).toEqual([1, writers.length - 1]);
    },
    "patches without a version all land": async (world) => {
      await world.make("configmaps", configMap("a"));
      const keys = writers.map((index) => `k${index}`);
      await Promise.all(
        keys.map((key) => world.api.done(mergePatch(world.at("configmaps", "a"), { data: { [key]: "v" } }))),
      );
      const after = await world.api.done(get(world.at("configmaps", "a")));
      expect(Object.keys(after["data"] as object).sort()).toEqual(keys.sort());
    },
    "versions grow with each write, whatever the object": async (world) => {
      const versions: bigint[] = [];
      for (const name of ["a", "b"])
        versions.push(BigInt((await world.make("configmaps", configMap(name))).metadata.resourceVersion));
      versions.push(BigInt((await world.make("leases", lease("a"))).metadata.resourceVersion));
      versions.push(BigInt((await world.api.list(world.at("leases"))).metadata.resourceVersion));
      expect(versions).toEqual([...versions].sort((x, y) => (x < y ? -1 : 1)));
      expect(new Set(versions.slice(0, 3)).size).toBe(3);
    },
    "of many who add a key under a test that it is absent, one wins": async (world) => {
      await world.make("configmaps", configMap("a", { first: "v" }));
      const take = (index: number) =>
        jsonPatch(world.at("configmaps", "a"), [
          { op: "test", path: "/data/address", value: null },
          { op: "add", path: "/data/address", value: String(index) },
        ]);
      const replies = await Promise.all(writers.map((index) => world.api.send(take(index))));
      const statuses = replies.map(({ status }) => status);
      expect([count(statuses, 200), count(statuses, 422)]).toEqual([1, writers.length - 1]);
    },
    "of many who delete one object, one is told that it did": async (world) => {
      await world.make("configmaps", configMap("a"));
      const call = { method: "DELETE", path: world.at("configmaps", "a") };
      const statuses = (await Promise.all(writers.map(() => world.api.send(call)))).map(({ status }) => status);
      expect([count(statuses, 200), count(statuses, 404)]).toEqual([1, writers.length - 1]);
    },
    "generated names never meet": async (world) => {
      const call = post(world.at("configmaps"), { metadata: { generateName: "gen-" } });
      const made = await Promise.all(Array.from({ length: 40 }, () => world.api.done(call)));
      expect(new Set(made.map(({ metadata }) => metadata.name)).size).toBe(40);
    },
  },
};
