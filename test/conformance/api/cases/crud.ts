// Creating, reading, replacing and removing one object.
import { expect } from "vitest";

import { del, get, post, put } from "../call.ts";
import type { Subject } from "../fixture.ts";
import { configMap, deployment, lease, pod } from "../fixtures.ts";
import { names } from "../object.ts";

export const crud: Subject = {
  name: "create, read, update, delete",
  cases: {
    "create answers 201 with the object, its identity and its version": async (fixture) => {
      const reply = await fixture.api.send(post(fixture.at("configmaps"), configMap("a", { k: "v" })));
      expect(reply.status).toBe(201);
      expect(reply.headers["content-type"]).toBe("application/json");
      expect(reply.body).toMatchObject({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: {
          name: "a",
          namespace: fixture.namespace,
          uid: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
          resourceVersion: expect.stringMatching(/^[1-9][0-9]*$/),
          creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        },
        data: { k: "v" },
      });
    },
    "get answers with what was created": async (fixture) => {
      const created = await fixture.make("configmaps", configMap("a", { k: "v" }));
      expect(await fixture.api.done(get(fixture.at("configmaps", "a")))).toEqual(created);
    },
    "create ignores the uid and the creation time that the client sends": async (fixture) => {
      const uid = "11111111-2222-3333-4444-555555555555";
      const created = await fixture.make(
        "configmaps",
        configMap("a", {}, { uid, creationTimestamp: "2001-01-01T00:00:00Z" }),
      );
      expect(created.metadata.uid).not.toBe(uid);
      expect(created.metadata.creationTimestamp).not.toContain("2001");
    },
    "create with a resourceVersion is refused": async (fixture) => {
      const reply = await fixture.api.send(
        post(fixture.at("configmaps"), configMap("a", {}, { resourceVersion: "1" })),
      );
      expect(reply.status).toBe(500);
      expect(reply.body).toMatchObject({ message: "resourceVersion should not be set on objects to be created" });
    },
    "create of a name that is taken is AlreadyExists": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const status = await fixture.api.refused(post(fixture.at("configmaps"), configMap("a")), 409, "AlreadyExists");
      expect(status.message).toBe('configmaps "a" already exists');
      expect(status.details).toEqual({ name: "a", kind: "configmaps" });
    },
    "create in a namespace that does not exist is NotFound": async (fixture) => {
      const call = post("/api/v1/namespaces/nowhere-at-all/configmaps", configMap("a"));
      const status = await fixture.api.refused(call, 404, "NotFound");
      expect(status.message).toBe('namespaces "nowhere-at-all" not found');
    },
    "a namespace in the body that differs from the path is refused": async (fixture) => {
      const call = post(fixture.at("configmaps"), configMap("a", {}, { namespace: "elsewhere" }));
      const status = await fixture.api.refused(call, 400, "BadRequest");
      expect(status.message).toContain("does not match the namespace");
    },
    "a kind in the body that differs from the path is refused": async (fixture) => {
      await fixture.api.refused(post(fixture.at("configmaps"), pod("a")), 400, "BadRequest");
    },
    "a body without kind and apiVersion is taken as the path's": async (fixture) => {
      const created = await fixture.make("configmaps", { metadata: { name: "a" }, data: { k: "v" } });
      expect(created).toMatchObject({ kind: "ConfigMap", apiVersion: "v1", data: { k: "v" } });
    },
    "update replaces the whole object": async (fixture) => {
      const created = await fixture.make("configmaps", configMap("a", { k: "v", l: "w" }, { labels: { x: "y" } }));
      const updated = await fixture.api.done(put(fixture.at("configmaps", "a"), configMap("a", { k: "2" })));
      expect(updated["data"]).toEqual({ k: "2" });
      expect(updated.metadata.labels).toBeUndefined();
      expect(updated.metadata.uid).toBe(created.metadata.uid);
      expect(updated.metadata.creationTimestamp).toBe(created.metadata.creationTimestamp);
      expect(BigInt(updated.metadata.resourceVersion)).toBeGreaterThan(BigInt(created.metadata.resourceVersion));
    },
    "an update that changes nothing keeps the version": async (fixture) => {
      const created = await fixture.make("configmaps", configMap("a", { k: "v" }));
      const updated = await fixture.api.done(put(fixture.at("configmaps", "a"), created));
      expect(updated.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    },
    "update of an object that does not exist is NotFound": async (fixture) => {
      const status = await fixture.api.refused(put(fixture.at("configmaps", "a"), configMap("a")), 404, "NotFound");
      expect(status.details).toMatchObject({ name: "a", kind: "configmaps" });
    },
    "update of a lease that does not exist creates it": async (fixture) => {
      const reply = await fixture.api.send(put(fixture.at("leases", "a"), lease("a", { holderIdentity: "me" })));
      expect(reply.status).toBe(201);
      expect(reply.body).toMatchObject({ kind: "Lease", spec: { holderIdentity: "me" } });
    },
    "a name in the body that differs from the path is refused": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const call = put(fixture.at("configmaps", "a"), configMap("b"));
      const status = await fixture.api.refused(call, 400, "BadRequest");
      expect(status.message).toContain("the name of the object (b) does not match the name on the URL (a)");
    },
    "delete answers with a Status of success that names the object": async (fixture) => {
      const created = await fixture.make("configmaps", configMap("a"));
      expect(await fixture.api.done(del(fixture.at("configmaps", "a")))).toMatchObject({
        kind: "Status",
        status: "Success",
        details: { name: "a", kind: "configmaps", uid: created.metadata.uid },
      });
      const status = await fixture.api.refused(get(fixture.at("configmaps", "a")), 404, "NotFound");
      expect(status.message).toBe('configmaps "a" not found');
    },
    "delete of a pod answers with the pod": async (fixture) => {
      const created = await fixture.make("pods", pod("a"));
      const answer = await fixture.api.done(del(fixture.at("pods", "a")));
      expect(answer).toMatchObject({ kind: "Pod", metadata: { uid: created.metadata.uid } });
    },
    "an object that is made again has another uid": async (fixture) => {
      const first = await fixture.make("configmaps", configMap("a"));
      await fixture.api.done(del(fixture.at("configmaps", "a")));
      const second = await fixture.make("configmaps", configMap("a"));
      expect(second.metadata.uid).not.toBe(first.metadata.uid);
    },
    "delete of a collection removes what the selector selects": async (fixture) => {
      await fixture.make("configmaps", configMap("a", {}, { labels: { go: "yes" } }));
      await fixture.make("configmaps", configMap("b", {}, { labels: { go: "yes" } }));
      await fixture.make("configmaps", configMap("c", {}, { labels: { go: "no" } }));
      await fixture.api.done(del(fixture.at("configmaps"), undefined, { labelSelector: "go=yes" }));
      expect(names(await fixture.api.list(fixture.at("configmaps")))).toEqual(["c"]);
    },
    "delete of a collection without a selector empties it": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      await fixture.make("configmaps", configMap("b"));
      await fixture.api.done(del(fixture.at("configmaps")));
      expect(names(await fixture.api.list(fixture.at("configmaps")))).toEqual([]);
    },
    "a list has a kind, a version, and items in the order of their names": async (fixture) => {
      for (const name of ["b", "a", "c"]) await fixture.make("configmaps", configMap(name));
      const list = await fixture.api.list(fixture.at("configmaps"));
      expect(list).toMatchObject({ kind: "ConfigMapList", apiVersion: "v1" });
      expect(list.metadata.resourceVersion).toMatch(/^[1-9][0-9]*$/);
      expect(names(list)).toEqual(["a", "b", "c"]);
    },
    "an empty list has an empty array of items": async (fixture) => {
      expect((await fixture.api.list(fixture.at("leases"))).items).toEqual([]);
    },
    "the items of a built-in list carry neither kind nor apiVersion": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const [item] = (await fixture.api.list(fixture.at("configmaps"))).items;
      expect(item).toBeDefined();
      expect(item).not.toHaveProperty("kind");
      expect(item).not.toHaveProperty("apiVersion");
    },
    "a list across namespaces holds objects of each": async (fixture) => {
      const other = await fixture.neighbour();
      await fixture.make("leases", lease("here"));
      await other.make("leases", lease("there"));
      const { items } = await fixture.api.list("/apis/coordination.k8s.io/v1/leases");
      const seen = items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
      expect(seen).toEqual(expect.arrayContaining([`${fixture.namespace}/here`, `${other.namespace}/there`]));
    },
    "a kind of another group is served below its group": async (fixture) => {
      const created = await fixture.make("deployments", deployment("a"));
      expect(created).toMatchObject({ apiVersion: "apps/v1", kind: "Deployment", metadata: { generation: 1 } });
      expect(names(await fixture.api.list(fixture.at("deployments")))).toEqual(["a"]);
    },
  },
};
