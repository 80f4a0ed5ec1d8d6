// Label and field selectors on lists and watches.
import { expect } from "vitest";

import { get, mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap, event, pod, secret } from "../fixtures.ts";
import { names } from "../object.ts";

/** Four configmaps: three with an app, one without labels. */
async function furnish(fixture: Fixture): Promise<void> {
  await fixture.make("configmaps", configMap("bare"));
  await fixture.make("configmaps", configMap("web-1", {}, { labels: { app: "web", tier: "front" } }));
  await fixture.make("configmaps", configMap("web-2", {}, { labels: { app: "web", tier: "back" } }));
  await fixture.make("configmaps", configMap("db", {}, { labels: { app: "db", tier: "back" } }));
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
    async (fixture: Fixture) => {
      await furnish(fixture);
      expect(names(await fixture.api.list(fixture.at("configmaps"), { labelSelector }))).toEqual(expected);
    },
  ]),
);

export const selectors: Subject = {
  name: "label and field selectors",
  cases: {
    ...selecting,
    "a label selector that does not parse is a bad request": async (fixture) => {
      await fixture.api.refused(get(fixture.at("configmaps"), { labelSelector: "a in (b" }), 400, "BadRequest");
    },
    "selectors that almost parse are bad requests": async (fixture) => {
      for (const labelSelector of ["a=b,", ",", "a==b==c", "a b", "!a=b", "a>x"]) {
        await fixture.api.refused(get(fixture.at("configmaps"), { labelSelector }), 400, "BadRequest");
      }
      for (const fieldSelector of ["metadata.name", "metadata.name in (a)"]) {
        await fixture.api.refused(get(fixture.at("configmaps"), { fieldSelector }), 400, "BadRequest");
      }
    },
    "labels are compared as numbers": async (fixture) => {
      for (const [name, n] of [
        ["small", "3"],
        ["large", "20"],
        ["none", "x"],
      ] as const) {
        await fixture.make("configmaps", configMap(name, {}, { labels: { n } }));
      }
      expect(names(await fixture.api.list(fixture.at("configmaps"), { labelSelector: "n>5" }))).toEqual(["large"]);
      expect(names(await fixture.api.list(fixture.at("configmaps"), { labelSelector: "n<5" }))).toEqual(["small"]);
    },
    "an empty value is a value": async (fixture) => {
      await fixture.make("configmaps", configMap("empty", {}, { labels: { a: "" } }));
      await fixture.make("configmaps", configMap("bare"));
      expect(names(await fixture.api.list(fixture.at("configmaps"), { labelSelector: "a=" }))).toEqual(["empty"]);
      expect(names(await fixture.api.list(fixture.at("configmaps"), { labelSelector: "a!=" }))).toEqual(["bare"]);
      expect(names(await fixture.api.list(fixture.at("configmaps"), { labelSelector: "a in (,x)" }))).toEqual([
        "empty",
      ]);
    },
    "the field metadata.name selects one": async (fixture) => {
      await furnish(fixture);
      const fieldSelector = "metadata.name=db";
      expect(names(await fixture.api.list(fixture.at("configmaps"), { fieldSelector }))).toEqual(["db"]);
    },
    "a field selector can be negated": async (fixture) => {
      await furnish(fixture);
      const fieldSelector = "metadata.name!=db";
      expect(names(await fixture.api.list(fixture.at("configmaps"), { fieldSelector }))).toEqual([
        "bare",
        "web-1",
        "web-2",
      ]);
    },
    "the field metadata.namespace selects across namespaces": async (fixture) => {
      await furnish(fixture);
      const fieldSelector = `metadata.namespace=${fixture.namespace}`;
      expect((await fixture.api.list("/api/v1/configmaps", { fieldSelector })).items).toHaveLength(4);
    },
    "label and field selectors both hold": async (fixture) => {
      await furnish(fixture);
      const query = { labelSelector: "app=web", fieldSelector: "metadata.name!=web-1" };
      expect(names(await fixture.api.list(fixture.at("configmaps"), query))).toEqual(["web-2"]);
    },
    "a field that is not selectable is a bad request": async (fixture) => {
      const status = await fixture.api.refused(
        get(fixture.at("configmaps"), { fieldSelector: "data.k=v" }),
        400,
        "BadRequest",
      );
      expect(status.message).toContain("is not a known field selector");
    },
    "pods are selected by their node": async (fixture) => {
      await fixture.make("pods", pod("here", { nodeName: "node-1" }));
      await fixture.make("pods", pod("nowhere"));
      expect(names(await fixture.api.list(fixture.at("pods"), { fieldSelector: "spec.nodeName=node-1" }))).toEqual([
        "here",
      ]);
      expect(names(await fixture.api.list(fixture.at("pods"), { fieldSelector: "spec.nodeName=" }))).toEqual([
        "nowhere",
      ]);
      await fixture.api.done({ method: "DELETE", path: fixture.at("pods", "here"), query: { gracePeriodSeconds: 0 } });
    },
    "pods are selected by their phase": async (fixture) => {
      await fixture.make("pods", pod("running"));
      await fixture.make("pods", pod("pending"));
      await fixture.api.done(mergePatch(fixture.at("pods", "running", "status"), { status: { phase: "Running" } }));
      expect(names(await fixture.api.list(fixture.at("pods"), { fieldSelector: "status.phase=Running" }))).toEqual([
        "running",
      ]);
    },
    "secrets are selected by their type": async (fixture) => {
      await fixture.make("secrets", secret("plain"));
      await fixture.make("secrets", secret("mine", { type: "example.com/mine" }));
      expect(names(await fixture.api.list(fixture.at("secrets"), { fieldSelector: "type=example.com/mine" }))).toEqual([
        "mine",
      ]);
    },
    "events are selected by what they are about": async (fixture) => {
      await fixture.make("events", event(fixture, "one"));
      const involvedObject = { kind: "Node", namespace: fixture.namespace, name: "other" };
      await fixture.make("events", event(fixture, "two", { involvedObject }));
      const fieldSelector = "involvedObject.kind=Node,involvedObject.name=other";
      expect(names(await fixture.api.list(fixture.at("events"), { fieldSelector }))).toEqual(["two"]);
    },
    "custom resources are selected by name": async (fixture) => {
      const w = await widgets(fixture);
      for (const name of ["a", "b"]) await fixture.api.done(post(w.at(), w.body(name)));
      expect(names(await fixture.api.list(w.at(), { fieldSelector: "metadata.name=b" }))).toEqual(["b"]);
      await fixture.api.refused(get(w.at(), { fieldSelector: "spec.x=1" }), 400, "BadRequest");
    },
    "custom resources are selected by the fields that their definition names": async (fixture) => {
      const spec = { type: "object", properties: { color: { type: "string" } } };
      const w = await widgets(fixture, { spec, selectableFields: [{ jsonPath: ".spec.color" }] });
      for (const color of ["red", "blue"]) await fixture.api.done(post(w.at(), w.body(color, { spec: { color } })));
      expect(names(await fixture.api.list(w.at(), { fieldSelector: "spec.color=blue" }))).toEqual(["blue"]);
    },
    "a watch with a selector tells of entering and leaving it": async (fixture) => {
      const label = (app: string) => mergePatch(fixture.at("configmaps", "a"), { metadata: { labels: { app } } });
      const { metadata } = await fixture.api.list(fixture.at("configmaps"));
      const query = { labelSelector: "app=web", resourceVersion: metadata.resourceVersion };
      await using watch = await fixture.api.watch(fixture.at("configmaps"), query);
      await fixture.make("configmaps", configMap("a"));
      for (const app of ["web", "db", "web"]) await fixture.api.done(label(app));
      const events = await watch.take(3);
      expect(events.map(({ type }) => type)).toEqual(["ADDED", "DELETED", "ADDED"]);
    },
    "a watch of one name sees that object only": async (fixture) => {
      const { metadata } = await fixture.api.list(fixture.at("configmaps"));
      const query = { fieldSelector: "metadata.name=b", resourceVersion: metadata.resourceVersion };
      await using watch = await fixture.api.watch(fixture.at("configmaps"), query);
      for (const name of ["a", "b"]) await fixture.make("configmaps", configMap(name));
      expect((await watch.event()).object.metadata.name).toBe("b");
    },
    "a watch of a node's pods begins with a pod's binding": async (fixture) => {
      const { metadata } = await fixture.api.list(fixture.at("pods"));
      const query = { fieldSelector: "spec.nodeName=node-1", resourceVersion: metadata.resourceVersion };
      await using watch = await fixture.api.watch(fixture.at("pods"), query);
      await fixture.make("pods", pod("a"));
      const target = { apiVersion: "v1", kind: "Node", name: "node-1" };
      await fixture.api.done(post(fixture.at("pods", "a", "binding"), { metadata: { name: "a" }, target }));
      await fixture.api.done({ method: "DELETE", path: fixture.at("pods", "a"), query: { gracePeriodSeconds: 0 } });
      expect(await watch.event()).toMatchObject({ type: "ADDED", object: { spec: { nodeName: "node-1" } } });
      let { type } = await watch.event();
      while (type === "MODIFIED") ({ type } = await watch.event());
      expect(type).toBe("DELETED");
    },
    "a collection is deleted by field selector": async (fixture) => {
      await furnish(fixture);
      await fixture.api.done({
        method: "DELETE",
        path: fixture.at("configmaps"),
        query: { fieldSelector: "metadata.name=db" },
      });
      expect(names(await fixture.api.list(fixture.at("configmaps")))).toEqual(["bare", "web-1", "web-2"]);
    },
  },
};
