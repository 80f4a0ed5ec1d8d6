// Strategic merge patch: lists of the built-in kinds are merged by the key of their elements.
import { expect } from "vitest";

import { get, post, strategicPatch } from "../call.ts";
import { widgets } from "../crd.ts";
import { unique, type Subject, type Fixture } from "../fixture.ts";
import { configMap, deployment, node, pod } from "../fixtures.ts";
import { dig, type KubeObject } from "../object.ts";

const main = { name: "main", image: "busybox", env: [{ name: "A", value: "1" }] };
const side = { name: "side", image: "busybox" };

/** Patches the pod template of a deployment with two containers. */
async function template(fixture: Fixture, spec: object): Promise<unknown> {
  await fixture.make("deployments", deployment("a", [main, side]));
  const after = await fixture.api.done(
    strategicPatch(fixture.at("deployments", "a"), { spec: { template: { spec } } }),
  );
  return dig(after, "spec", "template", "spec");
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly env?: unknown;
}

/** The containers without what the server has added by default. */
function containers(spec: unknown): Container[] {
  const all = dig(spec, "containers") as readonly Container[];
  return all.map(({ name, image, env }) => (env === undefined ? { name, image } : { name, image, env }));
}

async function withOwners(fixture: Fixture): Promise<{ first: KubeObject; path: string }> {
  const first = await fixture.make("configmaps", configMap("first"));
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "first", uid: first.metadata.uid };
  await fixture.make("configmaps", configMap("a", {}, { ownerReferences: [owner], finalizers: ["x.test/1"] }));
  const path = fixture.at("configmaps", "a");
  fixture.after(async () => {
    await fixture.api.send(strategicPatch(path, { metadata: { finalizers: null } }));
  });
  return { first, path };
}

const toleration = (key: string) => ({ key, operator: "Exists", effect: "NoSchedule" });
const conditions = (type: string, status: string) => ({ status: { conditions: [{ type, status }] } });
const address = (type: string, value: string) => ({ status: { addresses: [{ type, address: value }] } });

export const strategic: Subject = {
  name: "strategic merge patch",
  cases: {
    "containers are merged by name": async (fixture) => {
      const spec = await template(fixture, { containers: [{ name: "side", image: "other" }] });
      expect(containers(spec)).toEqual([main, { name: "side", image: "other" }]);
    },
    "a container of a new name is added": async (fixture) => {
      const spec = await template(fixture, { containers: [{ name: "new", image: "busybox" }] });
      expect(
        containers(spec)
          .map(({ name }) => name)
          .sort(),
      ).toEqual(["main", "new", "side"]);
    },
    "what only the patch has comes before what only the object has": async (fixture) => {
      const added = { name: "new", image: "busybox", env: [{ name: "B", value: "2" }] };
      const spec = await template(fixture, { containers: [added] });
      expect(containers(spec).map(({ name }) => name)).toEqual(["new", "main", "side"]);
      const patch = { spec: { template: { spec: { containers: [{ ...main, env: added.env }] } } } };
      const after = await fixture.api.done(strategicPatch(fixture.at("deployments", "a"), patch));
      const all = containers(dig(after, "spec", "template", "spec"));
      expect(all.find(({ name }) => name === "main")?.env).toEqual([...added.env, ...main.env]);
    },
    "what only the object has stays before what it preceded": async (fixture) => {
      const spec = await template(fixture, {
        containers: [
          { name: "new", image: "busybox" },
          { name: "side", tty: true },
        ],
      });
      expect(containers(spec).map(({ name }) => name)).toEqual(["new", "main", "side"]);
    },
    "$setElementOrder places what it does not name": async (fixture) => {
      const order = { "$setElementOrder/containers": [{ name: "new" }, { name: "main" }] };
      const spec = await template(fixture, { ...order, containers: [{ name: "new", image: "busybox" }] });
      expect(containers(spec).map(({ name }) => name)).toEqual(["new", "main", "side"]);
    },
    "a list that the object does not have is taken as it is": async (fixture) => {
      const ports = [
        { containerPort: 53, protocol: "TCP" },
        { containerPort: 53, protocol: "UDP" },
      ];
      const spec = await template(fixture, { containers: [{ name: "main", ports }] });
      expect(dig(spec, "containers", 0, "ports")).toEqual(ports);
    },
    "a map with a directive, where the object has none, is dropped": async (fixture) => {
      await fixture.make("configmaps", { metadata: { name: "a" } });
      const data = { $patch: "replace", k: "new" };
      expect(await fixture.api.done(strategicPatch(fixture.at("configmaps", "a"), { data }))).not.toHaveProperty(
        "data",
      );
    },
    "$patch delete removes an element": async (fixture) => {
      const spec = await template(fixture, { containers: [{ name: "side", $patch: "delete" }] });
      expect(containers(spec)).toEqual([main]);
    },
    "$patch replace replaces the list": async (fixture) => {
      const spec = await template(fixture, { containers: [{ $patch: "replace" }, { name: "only", image: "busybox" }] });
      expect(containers(spec)).toEqual([{ name: "only", image: "busybox" }]);
    },
    "$setElementOrder orders the list": async (fixture) => {
      const order = { "$setElementOrder/containers": [{ name: "side" }, { name: "main" }] };
      const spec = await template(fixture, { ...order, containers: [{ name: "side", image: "other" }] });
      expect(containers(spec).map(({ name }) => name)).toEqual(["side", "main"]);
    },
    "lists inside list elements are merged too": async (fixture) => {
      const env = [{ name: "B", value: "2" }];
      const spec = await template(fixture, { containers: [{ name: "main", env }] });
      expect(containers(spec)[0]?.env).toEqual(
        expect.arrayContaining([
          { name: "A", value: "1" },
          { name: "B", value: "2" },
        ]),
      );
    },
    "$retainKeys keeps only the keys that it lists": async (fixture) => {
      await fixture.make("deployments", deployment("a"));
      const strategy = { $retainKeys: ["type"], type: "Recreate" };
      const after = await fixture.api.done(strategicPatch(fixture.at("deployments", "a"), { spec: { strategy } }));
      expect(dig(after, "spec", "strategy")).toEqual({ type: "Recreate" });
    },
    "a list without a merge key is replaced": async (fixture) => {
      const body = deployment("a");
      const spec = { ...body.spec.template.spec, tolerations: [toleration("a"), toleration("b")] };
      await fixture.make("deployments", { ...body, spec: { ...body.spec, template: { ...body.spec.template, spec } } });
      const patch = { spec: { template: { spec: { tolerations: [toleration("c")] } } } };
      const after = await fixture.api.done(strategicPatch(fixture.at("deployments", "a"), patch));
      expect(dig(after, "spec", "template", "spec", "tolerations")).toEqual([toleration("c")]);
    },
    "owner references are merged by uid": async (fixture) => {
      const { first, path } = await withOwners(fixture);
      const second = await fixture.make("configmaps", configMap("second"));
      const owner = { apiVersion: "v1", kind: "ConfigMap", name: "second", uid: second.metadata.uid };
      const after = await fixture.api.done(strategicPatch(path, { metadata: { ownerReferences: [owner] } }));
      expect(after.metadata.ownerReferences?.map(({ uid }) => uid).sort()).toEqual(
        [first.metadata.uid, second.metadata.uid].sort(),
      );
    },
    "an owner reference is removed by its uid": async (fixture) => {
      const { first, path } = await withOwners(fixture);
      const ownerReferences = [{ $patch: "delete", uid: first.metadata.uid }];
      const after = await fixture.api.done(strategicPatch(path, { metadata: { ownerReferences } }));
      expect(after.metadata.ownerReferences ?? []).toEqual([]);
    },
    "finalizers are united": async (fixture) => {
      const { path } = await withOwners(fixture);
      const after = await fixture.api.done(strategicPatch(path, { metadata: { finalizers: ["x.test/2"] } }));
      expect([...(after.metadata.finalizers ?? [])].sort()).toEqual(["x.test/1", "x.test/2"]);
    },
    "$deleteFromPrimitiveList removes a finalizer": async (fixture) => {
      const { path } = await withOwners(fixture);
      await fixture.api.done(strategicPatch(path, { metadata: { finalizers: ["x.test/2"] } }));
      const patch = { metadata: { "$deleteFromPrimitiveList/finalizers": ["x.test/1"] } };
      expect((await fixture.api.done(strategicPatch(path, patch))).metadata.finalizers).toEqual(["x.test/2"]);
    },
    "the conditions of a pod are merged by type": async (fixture) => {
      await fixture.make("pods", pod("a"));
      const path = fixture.at("pods", "a", "status");
      await fixture.api.done(strategicPatch(path, conditions("Ready", "False")));
      await fixture.api.done(strategicPatch(path, conditions("x.test/Own", "True")));
      await fixture.api.done(strategicPatch(path, conditions("Ready", "True")));
      const seen = dig(await fixture.api.done(get(path)), "status", "conditions") as { type: string; status: string }[];
      expect(Object.fromEntries(seen.map(({ type, status }) => [type, status]))).toMatchObject({
        Ready: "True",
        "x.test/Own": "True",
      });
    },
    "the addresses of a node are merged by type": async (fixture) => {
      const name = unique("node");
      await fixture.lend("/api/v1/nodes", node(name));
      const path = `/api/v1/nodes/${name}/status`;
      await fixture.api.done(strategicPatch(path, address("InternalIP", "192.0.2.1")));
      const after = await fixture.api.done(strategicPatch(path, address("Hostname", name)));
      expect(dig(after, "status", "addresses")).toHaveLength(2);
    },
    "maps are merged and null removes": async (fixture) => {
      await fixture.make("configmaps", configMap("a", { keep: "1", drop: "1" }));
      const after = await fixture.api.done(
        strategicPatch(fixture.at("configmaps", "a"), { data: { drop: null, add: "2" } }),
      );
      expect(after["data"]).toEqual({ keep: "1", add: "2" });
    },
    "$patch replace replaces a map": async (fixture) => {
      await fixture.make("configmaps", configMap("a", { drop: "1" }));
      const after = await fixture.api.done(
        strategicPatch(fixture.at("configmaps", "a"), { data: { $patch: "replace", add: "2" } }),
      );
      expect(after["data"]).toEqual({ add: "2" });
    },
    "a custom resource takes no strategic merge patch": async (fixture) => {
      const w = await widgets(fixture);
      await fixture.api.done(post(w.at(), w.body("a")));
      await fixture.api.refused(strategicPatch(w.at("a"), { spec: { x: 1 } }), 415, "UnsupportedMediaType");
    },
  },
};
