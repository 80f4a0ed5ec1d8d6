// Creating, reading, replacing and removing one object.
import { expect } from "vitest";

import { del, get, post, put } from "../call.ts";
import { configMap, deployment, lease, pod } from "../fixtures.ts";
import { names } from "../object.ts";
import type { Subject } from "../world.ts";

export const crud: Subject = {
  name: "create, read, update, delete",
  cases: {
    "create answers 201 with the object, its identity and its version": async (world) => {
      const reply = await world.api.send(post(world.at("configmaps"), configMap("a", { k: "v" })));
      expect(reply.status).toBe(201);
      expect(reply.headers["content-type"]).toBe("application/json");
      expect(reply.body).toMatchObject({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: {
          name: "a",
          namespace: world.namespace,
          uid: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
          resourceVersion: expect.stringMatching(/^[1-9][0-9]*$/),
          creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        },
        data: { k: "v" },
      });
    },
    "get answers with what was created": async (world) => {
      const created = await world.make("configmaps", configMap("a", { k: "v" }));
      expect(await world.api.done(get(world.at("configmaps", "a")))).toEqual(created);
    },
    "create ignores the uid and the creation time that the client sends": async (world) => {
      const uid = "11111111-2222-3333-4444-555555555555";
      const created = await world.make(
        "configmaps",
        configMap("a", {}, { uid, creationTimestamp: "2001-01-01T00:00:00Z" }),
      );
      expect(created.metadata.uid).not.toBe(uid);
      expect(created.metadata.creationTimestamp).not.toContain("2001");
    },
    "create with a resourceVersion is refused": async (world) => {
      const reply = await world.api.send(post(world.at("configmaps"), configMap("a", {}, { resourceVersion: "1" })));
      expect(reply.status).toBe(500);
      expect(reply.body).toMatchObject({ message: "resourceVersion should not be set on objects to be created" });
    },
    "create of a name that is taken is AlreadyExists": async (world) => {
      await world.make("configmaps", configMap("a"));
      const status = await world.api.refused(post(world.at("configmaps"), configMap("a")), 409, "AlreadyExists");
      expect(status.message).toBe('configmaps "a" already exists');
      expect(status.details).toEqual({ name: "a", kind: "configmaps" });
    },
    "create in a namespace that does not exist is NotFound": async (world) => {
      const call = post("/api/v1/namespaces/nowhere-at-all/configmaps", configMap("a"));
      const status = await world.api.refused(call, 404, "NotFound");
      expect(status.message).toBe('namespaces "nowhere-at-all" not found');
    },
    "a namespace in the body that differs from the path is refused": async (world) => {
      const call = post(world.at("configmaps"), configMap("a", {}, { namespace: "elsewhere" }));
      const status = await world.api.refused(call, 400, "BadRequest");
      expect(status.message).toContain("does not match the namespace");
    },
    "a kind in the body that differs from the path is refused": async (world) => {
      await world.api.refused(post(world.at("configmaps"), pod("a")), 400, "BadRequest");
    },
    "a body without kind and apiVersion is taken as the path's": async (world) => {
      const created = await world.make("configmaps", { metadata: { name: "a" }, data: { k: "v" } });
      expect(created).toMatchObject({ kind: "ConfigMap", apiVersion: "v1", data: { k: "v" } });
    },
    "update replaces the whole object": async (world) => {
      const created = await world.make("configmaps", configMap("a", { k: "v", l: "w" }, { labels: { x: "y" } }));
      const updated = await world.api.done(put(world.at("configmaps", "a"), configMap("a", { k: "2" })));
      expect(updated["data"]).toEqual({ k: "2" });
      expect(updated.metadata.labels).toBeUndefined();
      expect(updated.metadata.uid).toBe(created.metadata.uid);
      expect(updated.metadata.creationTimestamp).toBe(created.metadata.creationTimestamp);
      expect(BigInt(updated.metadata.resourceVersion)).toBeGreaterThan(BigInt(created.metadata.resourceVersion));
    },
    "an update that changes nothing keeps the version": async (world) => {
      const created = await world.make("configmaps", configMap("a", { k: "v" }));
      const updated = await world.api.done(put(world.at("configmaps", "a"), created));
      expect(updated.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    },
    "update of an object that does not exist is NotFound": async (world) => {
      const status = await world.api.refused(put(world.at("configmaps", "a"), configMap("a")), 404, "NotFound");
      expect(status.details).toMatchObject({ name: "a", kind: "configmaps" });
    },
    "update of a lease that does not exist creates it": async (world) => {
      const reply = await world.api.send(put(world.at("leases", "a"), lease("a", { holderIdentity: "me" })));
      expect(reply.status).toBe(201);
      expect(reply.body).toMatchObject({ kind: "Lease", spec: { holderIdentity: "me" } });
    },
    "a name in the body that differs from the path is refused": async (world) => {
      await world.make("configmaps", configMap("a"));
      const call = put(world.at("configmaps", "a"), configMap("b"));
      const status = await world.api.refused(call, 400, "BadRequest");
      expect(status.message).toContain("the name of the object (b) does not match the name on the URL (a)");
    },
    "delete answers with a Status of success that names the object": async (world) => {
      const created = await world.make("configmaps", configMap("a"));
      expect(await world.api.done(del(world.at("configmaps", "a")))).toMatchObject({
        kind: "Status",
        status: "Success",
        details: { name: "a", kind: "configmaps", uid: created.metadata.uid },
      });
      const status = await world.api.refused(get(world.at("configmaps", "a")), 404, "NotFound");
      expect(status.message).toBe('configmaps "a" not found');
    },
    "delete of a pod answers with the pod": async (world) => {
      const created = await world.make("pods", pod("a"));
      const answer = await world.api.done(del(world.at("pods", "a")));
      expect(answer).toMatchObject({ kind: "Pod", metadata: { uid: created.metadata.uid } });
    },
    "an object that is made again has another uid": async (world) => {
      const first = await world.make("configmaps", configMap("a"));
      await world.api.done(del(world.at("configmaps", "a")));
      const second = await world.make("configmaps", configMap("a"));
      expect(second.metadata.uid).not.toBe(first.metadata.uid);
    },
    "delete of a collection removes what the selector selects": async (world) => {
      await world.make("configmaps", configMap("a", {}, { labels: { go: "yes" } }));
      await world.make("configmaps", configMap("b", {}, { labels: { go: "yes" } }));
      await world.make("configmaps", configMap("c", {}, { labels: { go: "no" } }));
      await world.api.done(del(world.at("configmaps"), undefined, { labelSelector: "go=yes" }));
      expect(names(await world.api.list(world.at("configmaps")))).toEqual(["c"]);
    },
    "delete of a collection without a selector empties it": async (world) => {
      await world.make("configmaps", configMap("a"));
      await world.make("configmaps", configMap("b"));
      await world.api.done(del(world.at("configmaps")));
      expect(names(await world.api.list(world.at("configmaps")))).toEqual([]);
    },
    "a list has a kind, a version, and items in the order of their names": async (world) => {
      for (const name of ["b", "a", "c"]) await world.make("configmaps", configMap(name));
      const list = await world.api.list(world.at("configmaps"));
      expect(list).toMatchObject({ kind: "ConfigMapList", apiVersion: "v1" });
      expect(list.metadata.resourceVersion).toMatch(/^[1-9][0-9]*$/);
      expect(names(list)).toEqual(["a", "b", "c"]);
    },
    "an empty list has an empty array of items": async (world) => {
      expect((await world.api.list(world.at("leases"))).items).toEqual([]);
    },
    "the items of a built-in list carry neither kind nor apiVersion": async (world) => {
      await world.make("configmaps", configMap("a"));
      const [item] = (await world.api.list(world.at("configmaps"))).items;
      expect(item).toBeDefined();
      expect(item).not.toHaveProperty("kind");
      expect(item).not.toHaveProperty("apiVersion");
    },
    "a list across namespaces holds objects of each": async (world) => {
      const other = await world.neighbour();
      await world.make("leases", lease("here"));
      await other.make("leases", lease("there"));
      const { items } = await world.api.list("/apis/coordination.k8s.io/v1/leases");
      const seen = items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
      expect(seen).toEqual(expect.arrayContaining([`${world.namespace}/here`, `${other.namespace}/there`]));
    },
    "a kind of another group is served below its group": async (world) => {
      const created = await world.make("deployments", deployment("a"));
      expect(created).toMatchObject({ apiVersion: "apps/v1", kind: "Deployment", metadata: { generation: 1 } });
      expect(names(await world.api.list(world.at("deployments")))).toEqual(["a"]);
    },
  },
};
