// Label and field selectors on lists and watches.
import { expect } from "vitest";

import { get, mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import { configMap, event, pod, secret } from "../fixtures.ts";
import { names } from "../object.ts";
import type { Subject, World } from "../world.ts";

/** Four configmaps: three with an app, one without labels. */
async function furnish(world: World): Promise<void> {
  await world.make("configmaps", configMap("bare"));
  await world.make("configmaps", configMap("web-1", {}, { labels: { app: "web", tier: "front" } }));
  await world.make("configmaps", configMap("web-2", {}, { labels: { app: "web", tier: "back" } }));
  await world.make("configmaps", configMap("db", {}, { labels: { app: "db", tier: "back" } }));
}

/** Key: a label selector; value: the names that it selects of those above. */
const selections: Readonly<Record<string, readonly string[]>> = {
  "app=web": ["web-1", "web-2"],
  "app==web": ["web-1", "web-2"],
  "app!=web": ["bare", "db"],
  "app in (web, db)": ["db", "web-1", "web-2"],
  "app notin (web)": ["bare", "db"],
  app: ["db", "web-1", "web-2"],
  "!app": ["bare"],
  "app=web,tier=back": ["web-2"],
  "app,tier!=back": ["web-1"],
  "app=nobody": [],
};

const selecting = Object.fromEntries(
  Object.entries(selections).map(([labelSelector, expected]) => [
    `the label selector ${labelSelector} selects ${expected.length} of 4`,
    async (world: World) => {
      await furnish(world);
      expect(names(await world.api.list(world.at("configmaps"), { labelSelector }))).toEqual(expected);
    },
  ]),
);

export const selectors: Subject = {
  name: "label and field selectors",
  cases: {
    ...selecting,
    "a label selector that does not parse is a bad request": async (world) => {
      await world.api.refused(get(world.at("configmaps"), { labelSelector: "a in (b" }), 400, "BadRequest");
    },
    "selectors that almost parse are bad requests": async (world) => {
      for (const labelSelector of ["a=b,", ",", "a==b==c", "a b", "!a=b", "a>x"]) {
        await world.api.refused(get(world.at("configmaps"), { labelSelector }), 400, "BadRequest");
      }
      for (const fieldSelector of ["metadata.name", "metadata.name in (a)"]) {
        await world.api.refused(get(world.at("configmaps"), { fieldSelector }), 400, "BadRequest");
      }
    },
    "labels are compared as numbers": async (world) => {
      for (const [name, n] of [
        ["small", "3"],
        ["large", "20"],
        ["none", "x"],
      ] as const) {
        await world.make("configmaps", configMap(name, {}, { labels: { n } }));
      }
      expect(names(await world.api.list(world.at("configmaps"), { labelSelector: "n>5" }))).toEqual(["large"]);
      expect(names(await world.api.list(world.at("configmaps"), { labelSelector: "n<5" }))).toEqual(["small"]);
    },
    "an empty value is a value": async (world) => {
      await world.make("configmaps", configMap("empty", {}, { labels: { a: "" } }));
      await world.make("configmaps", configMap("bare"));
      expect(names(await world.api.list(world.at("configmaps"), { labelSelector: "a=" }))).toEqual(["empty"]);
      expect(names(await world.api.list(world.at("configmaps"), { labelSelector: "a!=" }))).toEqual(["bare"]);
      expect(names(await world.api.list(world.at("configmaps"), { labelSelector: "a in (,x)" }))).toEqual(["empty"]);
    },
    "the field metadata.name selects one": async (world) => {
      await furnish(world);
      const fieldSelector = "metadata.name=db";
      expect(names(await world.api.list(world.at("configmaps"), { fieldSelector }))).toEqual(["db"]);
    },
    "a field selector can be negated": async (world) => {
      await furnish(world);
      const fieldSelector = "metadata.name!=db";
      expect(names(await world.api.list(world.at("configmaps"), { fieldSelector }))).toEqual([
        "bare",
        "web-1",
        "web-2",
      ]);
    },
    "the field metadata.namespace selects across namespaces": async (world) => {
      await furnish(world);
      const fieldSelector = `metadata.namespace=${world.namespace}`;
      expect((await world.api.list("/api/v1/configmaps", { fieldSelector })).items).toHaveLength(4);
    },
    "label and field selectors both hold": async (world) => {
      await furnish(world);
      const query = { labelSelector: "app=web", fieldSelector: "metadata.name!=web-1" };
      expect(names(await world.api.list(world.at("configmaps"), query))).toEqual(["web-2"]);
    },
    "a field that is not selectable is a bad request": async (world) => {
      const status = await world.api.refused(
        get(world.at("configmaps"), { fieldSelector: "data.k=v" }),
        400,
        "BadRequest",
      );
      expect(status.message).toContain("is not a known field selector");
    },
    "pods are selected by their node": async (world) => {
      await world.make("pods", pod("here", { nodeName: "node-1" }));
      await world.make("pods", pod("nowhere"));
      expect(names(await world.api.list(world.at("pods"), { fieldSelector: "spec.nodeName=node-1" }))).toEqual([
        "here",
      ]);
      expect(names(await world.api.list(world.at("pods"), { fieldSelector: "spec.nodeName=" }))).toEqual(["nowhere"]);
      await world.api.done({ method: "DELETE", path: world.at("pods", "here"), query: { gracePeriodSeconds: 0 } });
    },
    "pods are selected by their phase": async (world) => {
      await world.make("pods", pod("running"));
      await world.make("pods", pod("pending"));
      await world.api.done(mergePatch(world.at("pods", "running", "status"), { status: { phase: "Running" } }));
      expect(names(await world.api.list(world.at("pods"), { fieldSelector: "status.phase=Running" }))).toEqual([
        "running",
      ]);
    },
    "secrets are selected by their type": async (world) => {
      await world.make("secrets", secret("plain"));
      await world.make("secrets", secret("mine", { type: "example.com/mine" }));
      expect(names(await world.api.list(world.at("secrets"), { fieldSelector: "type=example.com/mine" }))).toEqual([
        "mine",
      ]);
    },
    "events are selected by what they are about": async (world) => {
      await world.make("events", event(world, "one"));
      const involvedObject = { kind: "Node", namespace: world.namespace, name: "other" };
      await world.make("events", event(world, "two", { involvedObject }));
      const fieldSelector = "involvedObject.kind=Node,involvedObject.name=other";
      expect(names(await world.api.list(world.at("events"), { fieldSelector }))).toEqual(["two"]);
    },
    "custom resources are selected by name": async (world) => {
      const w = await widgets(world);
      for (const name of ["a", "b"]) await world.api.done(post(w.at(), w.body(name)));
      expect(names(await world.api.list(w.at(), { fieldSelector: "metadata.name=b" }))).toEqual(["b"]);
      await world.api.refused(get(w.at(), { fieldSelector: "spec.x=1" }), 400, "BadRequest");
    },
    "custom resources are selected by the fields that their definition names": async (world) => {
      const spec = { type: "object", properties: { color: { type: "string" } } };
      const w = await widgets(world, { spec, selectableFields: [{ jsonPath: ".spec.color" }] });
      for (const color of ["red", "blue"]) await world.api.done(post(w.at(), w.body(color, { spec: { color } })));
      expect(names(await world.api.list(w.at(), { fieldSelector: "spec.color=blue" }))).toEqual(["blue"]);
    },
    "a watch with a selector tells of entering and leaving it": async (world) => {
      const label = (app: string) => mergePatch(world.at("configmaps", "a"), { metadata: { labels: { app } } });
      const { metadata } = await world.api.list(world.at("configmaps"));
      const query = { labelSelector: "app=web", resourceVersion: metadata.resourceVersion };
      await using watch = await world.api.watch(world.at("configmaps"), query);
      await world.make("configmaps", configMap("a"));
      for (const app of ["web", "db", "web"]) await world.api.done(label(app));
      const events = await watch.take(3);
      expect(events.map(({ type }) => type)).toEqual(["ADDED", "DELETED", "ADDED"]);
    },
    "a watch of one name sees that object only": async (world) => {
      const { metadata } = await world.api.list(world.at("configmaps"));
      const query = { fieldSelector: "metadata.name=b", resourceVersion: metadata.resourceVersion };
      await using watch = await world.api.watch(world.at("configmaps"), query);
      for (const name of ["a", "b"]) await world.make("configmaps", configMap(name));
      expect((await watch.event()).object.metadata.name).toBe("b");
    },
    "a watch of a node's pods begins with a pod's binding": async (world) => {
      const { metadata } = await world.api.list(world.at("pods"));
      const query = { fieldSelector: "spec.nodeName=node-1", resourceVersion: metadata.resourceVersion };
      await using watch = await world.api.watch(world.at("pods"), query);
      await world.make("pods", pod("a"));
      const target = { apiVersion: "v1", kind: "Node", name: "node-1" };
      await world.api.done(post(world.at("pods", "a", "binding"), { metadata: { name: "a" }, target }));
      await world.api.done({ method: "DELETE", path: world.at("pods", "a"), query: { gracePeriodSeconds: 0 } });
      expect(await watch.event()).toMatchObject({ type: "ADDED", object: { spec: { nodeName: "node-1" } } });
      let { type } = await watch.event();
      while (type === "MODIFIED") ({ type } = await watch.event());
      expect(type).toBe("DELETED");
    },
    "a collection is deleted by field selector": async (world) => {
      await furnish(world);
      await world.api.done({
        method: "DELETE",
        path: world.at("configmaps"),
        query: { fieldSelector: "metadata.name=db" },
      });
      expect(names(await world.api.list(world.at("configmaps")))).toEqual(["bare", "web-1", "web-2"]);
    },
  },
};
