// Optimistic concurrency: versions as guards, and what many writers at once get.
import { expect } from "vitest";

import { get, jsonPatch, mergePatch, post, put } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject } from "../fixture.ts";
import { configMap, lease } from "../fixtures.ts";

const writers = Array.from({ length: 12 }, (_, index) => index);
const count = (statuses: readonly number[], code: number) => statuses.filter((status) => status === code).length;

export const concurrency: Subject = {
  name: "optimistic concurrency",
  cases: {
    "an update with an old version is a Conflict": async (fixture) => {
      const created = await fixture.make("configmaps", configMap("a", { k: "1" }));
      await fixture.api.done(put(fixture.at("configmaps", "a"), { ...created, data: { k: "2" } }));
      const call = put(fixture.at("configmaps", "a"), { ...created, data: { k: "3" } });
      const status = await fixture.api.refused(call, 409, "Conflict");
      expect(status.message).toBe(
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; ' +
          "please apply your changes to the latest version and try again",
      );
      expect(status.details).toMatchObject({ name: "a", kind: "configmaps" });
    },
    "an update without a version overwrites a configmap": async (fixture) => {
      await fixture.make("configmaps", configMap("a", { k: "1" }));
      const updated = await fixture.api.done(put(fixture.at("configmaps", "a"), configMap("a", { k: "2" })));
      expect(updated["data"]).toEqual({ k: "2" });
    },
    "an update without a version is refused for a lease": async (fixture) => {
      await fixture.make("leases", lease("a"));
      const call = put(fixture.at("leases", "a"), lease("a", { holderIdentity: "me" }));
      const status = await fixture.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ field: "metadata.resourceVersion" });
    },
    "an update without a version is refused for a custom resource": async (fixture) => {
      const w = await widgets(fixture);
      await fixture.api.done(post(w.at(), w.body("a")));
      const status = await fixture.api.refused(put(w.at("a"), w.body("a", { spec: { x: 1 } })), 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ field: "metadata.resourceVersion" });
    },
    "an update with another uid is a Conflict": async (fixture) => {
      const created = await fixture.make("configmaps", configMap("a"));
      const metadata = { ...created.metadata, uid: "11111111-2222-3333-4444-555555555555" };
      const status = await fixture.api.refused(
        put(fixture.at("configmaps", "a"), { ...created, metadata }),
        409,
        "Conflict",
      );
      expect(status.message).toContain("Precondition failed: UID in precondition");
    },
    "an update of an object that was made again is a Conflict": async (fixture) => {
      const first = await fixture.make("configmaps", configMap("a"));
      await fixture.api.done({ method: "DELETE", path: fixture.at("configmaps", "a") });
      await fixture.make("configmaps", configMap("a"));
      await fixture.api.refused(put(fixture.at("configmaps", "a"), { ...first, data: { k: "v" } }), 409, "Conflict");
    },
    "a merge patch with an old version is a Conflict": async (fixture) => {
      const created = await fixture.make("configmaps", configMap("a", { k: "1" }));
      await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), { data: { k: "2" } }));
      const { resourceVersion } = created.metadata;
      const call = mergePatch(fixture.at("configmaps", "a"), { metadata: { resourceVersion }, data: { k: "3" } });
      await fixture.api.refused(call, 409, "Conflict");
    },
    "a JSON patch that replaces the version with an old one is a Conflict": async (fixture) => {
      const { metadata } = await fixture.make("configmaps", configMap("a", { k: "1" }));
      await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), { data: { k: "2" } }));
      const call = jsonPatch(fixture.at("configmaps", "a"), [
        { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
        { op: "replace", path: "/data/k", value: "3" },
      ]);
      await fixture.api.refused(call, 409, "Conflict");
    },
    "a version that is no number is refused": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const call = put(fixture.at("configmaps", "a"), configMap("a", { k: "v" }, { resourceVersion: "abc" }));
      const reply = await fixture.api.send(call);
      // The real server says 500, by accident rather than by contract.
      expect(reply.status).toBeGreaterThanOrEqual(400);
      expect(reply.body).toMatchObject({ kind: "Status", status: "Failure" });
    },
    "of many who create one name, one wins": async (fixture) => {
      const replies = await Promise.all(
        writers.map((index) => fixture.api.send(post(fixture.at("configmaps"), configMap("a", { by: String(index) })))),
      );
      const statuses = replies.map(({ status }) => status);
      expect(count(statuses, 201)).toBe(1);
      expect(count(statuses, 409)).toBe(writers.length - 1);
      const winner = replies.find(({ status }) => status === 201);
      expect(await fixture.api.done(get(fixture.at("configmaps", "a")))).toEqual(winner?.body);
    },
    "of many who update one version, one wins": async (fixture) => {
      const created = await fixture.make("configmaps", configMap("a"));
      const replies = await Promise.all(
        writers.map((index) =>
          fixture.api.send(put(fixture.at("configmaps", "a"), { ...created, data: { by: String(index) } })),
        ),
      );
      const statuses = replies.map(({ status }) => status);
      expect([count(statuses, 200), count(statuses, 409)]).toEqual([1, writers.length - 1]);
    },
    "patches without a version all land": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const keys = writers.map((index) => `k${index}`);
      await Promise.all(
        keys.map((key) => fixture.api.done(mergePatch(fixture.at("configmaps", "a"), { data: { [key]: "v" } }))),
      );
      const after = await fixture.api.done(get(fixture.at("configmaps", "a")));
      expect(Object.keys(after["data"] as object).sort()).toEqual(keys.sort());
    },
    "versions grow with each write, whatever the object": async (fixture) => {
      const versions: bigint[] = [];
      for (const name of ["a", "b"])
        versions.push(BigInt((await fixture.make("configmaps", configMap(name))).metadata.resourceVersion));
      versions.push(BigInt((await fixture.make("leases", lease("a"))).metadata.resourceVersion));
      versions.push(BigInt((await fixture.api.list(fixture.at("leases"))).metadata.resourceVersion));
      expect(versions).toEqual([...versions].sort((x, y) => (x < y ? -1 : 1)));
      expect(new Set(versions.slice(0, 3)).size).toBe(3);
    },
    "of many who add a key under a test that it is absent, one wins": async (fixture) => {
      await fixture.make("configmaps", configMap("a", { first: "v" }));
      const take = (index: number) =>
        jsonPatch(fixture.at("configmaps", "a"), [
          { op: "test", path: "/data/address", value: null },
          { op: "add", path: "/data/address", value: String(index) },
        ]);
      const replies = await Promise.all(writers.map((index) => fixture.api.send(take(index))));
      const statuses = replies.map(({ status }) => status);
      expect([count(statuses, 200), count(statuses, 422)]).toEqual([1, writers.length - 1]);
    },
    "of many who delete one object, one is told that it did": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const call = { method: "DELETE", path: fixture.at("configmaps", "a") };
      const statuses = (await Promise.all(writers.map(() => fixture.api.send(call)))).map(({ status }) => status);
      expect([count(statuses, 200), count(statuses, 404)]).toEqual([1, writers.length - 1]);
    },
    "generated names never meet": async (fixture) => {
      const call = post(fixture.at("configmaps"), { metadata: { generateName: "gen-" } });
      const made = await Promise.all(Array.from({ length: 40 }, () => fixture.api.done(call)));
      expect(new Set(made.map(({ metadata }) => metadata.name)).size).toBe(40);
    },
  },
};
