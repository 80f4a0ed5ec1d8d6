// Garbage collection: dependents follow their owners, in the way that the deletion asks for.
import { expect } from "vitest";

import { del, get, mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import { configMap, node } from "../fixtures.ts";
import { ownedBy, type KubeObject } from "../object.ts";
import { until } from "../until.ts";
import { unique, type Subject, type World } from "../world.ts";

const path = (world: World, name: string) => world.at("configmaps", name);
const gone = (world: World, name: string) =>
  until(`${name} is collected`, async () => !(await world.api.exists(path(world, name))));

function dependent(
  world: World,
  name: string,
  owners: readonly KubeObject[],
  metadata: object = {},
): Promise<KubeObject> {
  const ownerReferences = owners.map((owner) => ownedBy(owner, { blockOwnerDeletion: true }));
  return world.make("configmaps", configMap(name, {}, { ownerReferences, ...metadata }));
}

const remove = (world: World, name: string, propagationPolicy?: string) =>
  world.api.done(del(path(world, name), propagationPolicy === undefined ? undefined : { propagationPolicy }));

export const collecting: Subject = {
  name: "garbage collection",
  cases: {
    "dependents follow their owner in the background": async (world) => {
      const owner = await world.make("configmaps", configMap("owner"));
      await dependent(world, "child", [owner]);
      await remove(world, "owner", "Background");
      expect(await world.api.exists(path(world, "owner"))).toBe(false);
      await gone(world, "child");
    },
    "a delete without a policy is in the background": async (world) => {
      const owner = await world.make("configmaps", configMap("owner"));
      await dependent(world, "child", [owner]);
      await remove(world, "owner");
      await gone(world, "child");
    },
    "collection goes down a chain": async (world) => {
      const first = await world.make("configmaps", configMap("first"));
      const second = await dependent(world, "second", [first]);
      await dependent(world, "third", [second]);
      await remove(world, "first", "Background");
      await gone(world, "second");
      await gone(world, "third");
    },
    "in the foreground the owner waits, marked, for its dependents": async (world) => {
      const owner = await world.make("configmaps", configMap("owner"));
      await dependent(world, "child", [owner], { finalizers: ["x.test/hold"] });
      const answer = await remove(world, "owner", "Foreground");
      expect(answer.metadata.finalizers).toContain("foregroundDeletion");
      await until(
        "the child is marked",
        async () => (await world.api.done(get(path(world, "child")))).metadata.deletionTimestamp,
      );
      expect((await world.api.done(get(path(world, "owner")))).metadata.finalizers).toContain("foregroundDeletion");
      await world.api.done(mergePatch(path(world, "child"), { metadata: { finalizers: null } }));
      await gone(world, "child");
      await gone(world, "owner");
    },
    "in the foreground an owner without dependents goes": async (world) => {
      await world.make("configmaps", configMap("owner"));
      await remove(world, "owner", "Foreground");
      await gone(world, "owner");
    },
    "orphaned dependents stay, without the owner": async (world) => {
      const owner = await world.make("configmaps", configMap("owner"));
      await dependent(world, "child", [owner]);
      // The collector has to know of the dependents before it can let them go: it orphans those that it has seen.
      await remove(world, "owner", "Orphan");
      await gone(world, "owner");
      const child = await world.api.done(get(path(world, "child")));
      expect(child.metadata.ownerReferences ?? []).toEqual([]);
      expect(child.metadata.deletionTimestamp).toBeUndefined();
    },
    "a dependent of two owners stays with the second": async (world) => {
      const [one, two] = [
        await world.make("configmaps", configMap("one")),
        await world.make("configmaps", configMap("two")),
      ];
      await dependent(world, "child", [one, two]);
      await remove(world, "one", "Background");
      const child = await until("the child has lost its first owner", async () => {
        const seen = await world.api.done(get(path(world, "child")));
        return seen.metadata.ownerReferences?.length === 1 && seen;
      });
      expect(child.metadata.ownerReferences?.[0]?.uid).toBe(two.metadata.uid);
      await remove(world, "two", "Background");
      await gone(world, "child");
    },
    "a dependent whose owner never was is collected": async (world) => {
      const absent = {
        apiVersion: "v1",
        kind: "ConfigMap",
        name: "never",
        uid: "11111111-2222-3333-4444-555555555555",
      };
      await world.make("configmaps", configMap("child", {}, { ownerReferences: [absent] }));
      await gone(world, "child");
    },
    "an owner of the same name and another uid is none": async (world) => {
      const owner = await world.make("configmaps", configMap("owner"));
      const ownerReferences = [ownedBy(owner, { uid: "11111111-2222-3333-4444-555555555555" })];
      await world.make("configmaps", configMap("child", {}, { ownerReferences }));
      await gone(world, "child");
      expect(await world.api.exists(path(world, "owner"))).toBe(true);
    },
    "an owner in another namespace is none": async (world) => {
      const other = await world.neighbour();
      const owner = await other.make("configmaps", configMap("owner"));
      await dependent(world, "child", [owner]);
      await gone(world, "child");
    },
    "a cluster-scoped owner takes its dependents along": async (world) => {
      const name = unique("node");
      const owner = await world.lend("/api/v1/nodes", node(name));
      await dependent(world, "child", [owner]);
      await world.api.done(del(`/api/v1/nodes/${name}`));
      await gone(world, "child");
    },
    "a dependent whose owner lives stays": async (world) => {
      const owner = await world.make("configmaps", configMap("owner"));
      await dependent(world, "child", [owner]);
      const witness = {
        apiVersion: "v1",
        kind: "ConfigMap",
        name: "never",
        uid: "11111111-2222-3333-4444-555555555555",
      };
      // When the witness is collected, the collector has looked at what came before it.
      await world.make("configmaps", configMap("witness", {}, { ownerReferences: [witness] }));
      await gone(world, "witness");
      expect(await world.api.exists(path(world, "child"))).toBe(true);
    },
    "a dependent with a finalizer is marked, and goes when it is let go": async (world) => {
      const owner = await world.make("configmaps", configMap("owner"));
      await dependent(world, "child", [owner], { finalizers: ["x.test/hold"] });
      await remove(world, "owner", "Background");
      await until(
        "the child is marked",
        async () => (await world.api.done(get(path(world, "child")))).metadata.deletionTimestamp,
      );
      await world.api.done(mergePatch(path(world, "child"), { metadata: { finalizers: null } }));
      await gone(world, "child");
    },
    "a collection is deleted with its dependents in the foreground": async (world) => {
      const owner = await world.make("configmaps", configMap("owner", {}, { labels: { role: "owner" } }));
      await dependent(world, "child", [owner]);
      await world.api.done(
        del(world.at("configmaps"), { propagationPolicy: "Foreground" }, { labelSelector: "role=owner" }),
      );
      await gone(world, "owner");
      await gone(world, "child");
    },
    "in the foreground a dependent that does not block is not waited for": async (world) => {
      const owner = await world.make("configmaps", configMap("owner"));
      const ownerReferences = [ownedBy(owner)];
      await world.make("configmaps", configMap("child", {}, { ownerReferences, finalizers: ["x.test/hold"] }));
      await remove(world, "owner", "Foreground");
      await gone(world, "owner");
      await world.api.done(mergePatch(path(world, "child"), { metadata: { finalizers: null } }));
      await gone(world, "child");
    },
    "a custom resource takes its dependents along": async (world) => {
      const w = await widgets(world);
      const owner = await world.api.done(post(w.at(), w.body("owner")));
      await dependent(world, "child", [owner]);
      await world.api.done(del(w.at("owner")));
      await gone(world, "child");
    },
    "a custom resource follows its owner": async (world) => {
      const w = await widgets(world);
      const owner = await world.make("configmaps", configMap("owner"));
      await world.api.done(post(w.at(), w.body("child", {}, { ownerReferences: [ownedBy(owner)] })));
      await remove(world, "owner");
      await until("the custom resource is collected", async () => !(await world.api.exists(w.at("child"))));
    },
  },
};
