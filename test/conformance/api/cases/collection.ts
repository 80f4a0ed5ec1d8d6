// Garbage collection: dependents follow their owners, in the way that the deletion asks for.
import { expect } from "vitest";

import { del, get, mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import { unique, type Subject, type Fixture } from "../fixture.ts";
import { configMap, node } from "../fixtures.ts";
import { ownedBy, type KubeObject } from "../object.ts";
import { until } from "../until.ts";

const path = (fixture: Fixture, name: string) => fixture.at("configmaps", name);
const gone = (fixture: Fixture, name: string) =>
  until(`${name} is collected`, async () => !(await fixture.api.exists(path(fixture, name))));

function dependent(
  fixture: Fixture,
  name: string,
  owners: readonly KubeObject[],
  metadata: object = {},
): Promise<KubeObject> {
  const ownerReferences = owners.map((owner) => ownedBy(owner, { blockOwnerDeletion: true }));
  return fixture.make("configmaps", configMap(name, {}, { ownerReferences, ...metadata }));
}

const remove = (fixture: Fixture, name: string, propagationPolicy?: string) =>
  fixture.api.done(del(path(fixture, name), propagationPolicy === undefined ? undefined : { propagationPolicy }));

export const collecting: Subject = {
  name: "garbage collection",
  cases: {
    "dependents follow their owner in the background": async (fixture) => {
      const owner = await fixture.make("configmaps", configMap("owner"));
      await dependent(fixture, "child", [owner]);
      await remove(fixture, "owner", "Background");
      expect(await fixture.api.exists(path(fixture, "owner"))).toBe(false);
      await gone(fixture, "child");
    },
    "a delete without a policy is in the background": async (fixture) => {
      const owner = await fixture.make("configmaps", configMap("owner"));
      await dependent(fixture, "child", [owner]);
      await remove(fixture, "owner");
      await gone(fixture, "child");
    },
    "collection goes down a chain": async (fixture) => {
      const first = await fixture.make("configmaps", configMap("first"));
      const second = await dependent(fixture, "second", [first]);
      await dependent(fixture, "third", [second]);
      await remove(fixture, "first", "Background");
      await gone(fixture, "second");
      await gone(fixture, "third");
    },
    "in the foreground the owner waits, marked, for its dependents": async (fixture) => {
      const owner = await fixture.make("configmaps", configMap("owner"));
      await dependent(fixture, "child", [owner], { finalizers: ["x.test/hold"] });
      const answer = await remove(fixture, "owner", "Foreground");
      expect(answer.metadata.finalizers).toContain("foregroundDeletion");
      await until(
        "the child is marked",
        async () => (await fixture.api.done(get(path(fixture, "child")))).metadata.deletionTimestamp,
      );
      expect((await fixture.api.done(get(path(fixture, "owner")))).metadata.finalizers).toContain("foregroundDeletion");
      await fixture.api.done(mergePatch(path(fixture, "child"), { metadata: { finalizers: null } }));
      await gone(fixture, "child");
      await gone(fixture, "owner");
    },
    "in the foreground an owner without dependents goes": async (fixture) => {
      await fixture.make("configmaps", configMap("owner"));
      await remove(fixture, "owner", "Foreground");
      await gone(fixture, "owner");
    },
    "orphaned dependents stay, without the owner": async (fixture) => {
      const owner = await fixture.make("configmaps", configMap("owner"));
      await dependent(fixture, "child", [owner]);
      // The collector has to know of the dependents before it can let them go: it orphans those that it has seen.
      await remove(fixture, "owner", "Orphan");
      await gone(fixture, "owner");
      const child = await fixture.api.done(get(path(fixture, "child")));
      expect(child.metadata.ownerReferences ?? []).toEqual([]);
      expect(child.metadata.deletionTimestamp).toBeUndefined();
    },
    "a dependent of two owners stays with the second": async (fixture) => {
      const [one, two] = [
        await fixture.make("configmaps", configMap("one")),
        await fixture.make("configmaps", configMap("two")),
      ];
      await dependent(fixture, "child", [one, two]);
      await remove(fixture, "one", "Background");
      const child = await until("the child has lost its first owner", async () => {
        const seen = await fixture.api.done(get(path(fixture, "child")));
        return seen.metadata.ownerReferences?.length === 1 && seen;
      });
      expect(child.metadata.ownerReferences?.[0]?.uid).toBe(two.metadata.uid);
      await remove(fixture, "two", "Background");
      await gone(fixture, "child");
    },
    "a dependent whose owner never was is collected": async (fixture) => {
      const absent = {
        apiVersion: "v1",
        kind: "ConfigMap",
        name: "never",
        uid: "11111111-2222-3333-4444-555555555555",
      };
      await fixture.make("configmaps", configMap("child", {}, { ownerReferences: [absent] }));
      await gone(fixture, "child");
    },
    "an owner of the same name and another uid is none": async (fixture) => {
      const owner = await fixture.make("configmaps", configMap("owner"));
      const ownerReferences = [ownedBy(owner, { uid: "11111111-2222-3333-4444-555555555555" })];
      await fixture.make("configmaps", configMap("child", {}, { ownerReferences }));
      await gone(fixture, "child");
      expect(await fixture.api.exists(path(fixture, "owner"))).toBe(true);
    },
    "an owner in another namespace is none": async (fixture) => {
      const other = await fixture.neighbour();
      const owner = await other.make("configmaps", configMap("owner"));
      await dependent(fixture, "child", [owner]);
      await gone(fixture, "child");
    },
    "a cluster-scoped owner takes its dependents along": async (fixture) => {
      const name = unique("node");
      const owner = await fixture.lend("/api/v1/nodes", node(name));
      await dependent(fixture, "child", [owner]);
      await fixture.api.done(del(`/api/v1/nodes/${name}`));
      await gone(fixture, "child");
    },
    "a dependent whose owner lives stays": async (fixture) => {
      const owner = await fixture.make("configmaps", configMap("owner"));
      await dependent(fixture, "child", [owner]);
      const witness = {
        apiVersion: "v1",
        kind: "ConfigMap",
        name: "never",
        uid: "11111111-2222-3333-4444-555555555555",
      };
      // When the witness is collected, the collector has looked at what came before it.
      await fixture.make("configmaps", configMap("witness", {}, { ownerReferences: [witness] }));
      await gone(fixture, "witness");
      expect(await fixture.api.exists(path(fixture, "child"))).toBe(true);
    },
    "a dependent with a finalizer is marked, and goes when it is let go": async (fixture) => {
      const owner = await fixture.make("configmaps", configMap("owner"));
      await dependent(fixture, "child", [owner], { finalizers: ["x.test/hold"] });
      await remove(fixture, "owner", "Background");
      await until(
        "the child is marked",
        async () => (await fixture.api.done(get(path(fixture, "child")))).metadata.deletionTimestamp,
      );
      await fixture.api.done(mergePatch(path(fixture, "child"), { metadata: { finalizers: null } }));
      await gone(fixture, "child");
    },
    "a collection is deleted with its dependents in the foreground": async (fixture) => {
      const owner = await fixture.make("configmaps", configMap("owner", {}, { labels: { role: "owner" } }));
      await dependent(fixture, "child", [owner]);
      await fixture.api.done(
        del(fixture.at("configmaps"), { propagationPolicy: "Foreground" }, { labelSelector: "role=owner" }),
      );
      await gone(fixture, "owner");
      await gone(fixture, "child");
    },
    "in the foreground a dependent that does not block is not waited for": async (fixture) => {
      const owner = await fixture.make("configmaps", configMap("owner"));
      const ownerReferences = [ownedBy(owner)];
      await fixture.make("configmaps", configMap("child", {}, { ownerReferences, finalizers: ["x.test/hold"] }));
      await remove(fixture, "owner", "Foreground");
      await gone(fixture, "owner");
      await fixture.api.done(mergePatch(path(fixture, "child"), { metadata: { finalizers: null } }));
      await gone(fixture, "child");
    },
    "a custom resource takes its dependents along": async (fixture) => {
      const w = await widgets(fixture);
      const owner = await fixture.api.done(post(w.at(), w.body("owner")));
      await dependent(fixture, "child", [owner]);
      await fixture.api.done(del(w.at("owner")));
      await gone(fixture, "child");
    },
    "a custom resource follows its owner": async (fixture) => {
      const w = await widgets(fixture);
      const owner = await fixture.make("configmaps", configMap("owner"));
      await fixture.api.done(post(w.at(), w.body("child", {}, { ownerReferences: [ownedBy(owner)] })));
      await remove(fixture, "owner");
      await until("the custom resource is collected", async () => !(await fixture.api.exists(w.at("child"))));
    },
  },
};
