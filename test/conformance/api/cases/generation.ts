// metadata.generation, and the status subresource that is written apart from the rest.
import { expect } from "vitest";

import { get, mergePatch, post, put } from "../call.ts";
import { widgets } from "../crd.ts";
import { unique, type Subject } from "../fixture.ts";
import { configMap, deployment, node, pod } from "../fixtures.ts";
import { dig } from "../object.ts";

const withStatus = { subresources: { status: {} } };

export const generation: Subject = {
  name: "generation and status",
  cases: {
    "a custom resource begins at generation 1": async (fixture) => {
      const w = await widgets(fixture, withStatus);
      expect((await fixture.api.done(post(w.at(), w.body("a")))).metadata.generation).toBe(1);
    },
    "a change of the spec raises the generation": async (fixture) => {
      const w = await widgets(fixture, withStatus);
      await fixture.api.done(post(w.at(), w.body("a", { spec: { x: 1 } })));
      const changed = await fixture.api.done(mergePatch(w.at("a"), { spec: { x: 2 } }));
      expect(changed.metadata.generation).toBe(2);
    },
    "a change of the metadata does not raise the generation": async (fixture) => {
      const w = await widgets(fixture, withStatus);
      await fixture.api.done(post(w.at(), w.body("a")));
      const changed = await fixture.api.done(mergePatch(w.at("a"), { metadata: { labels: { x: "y" } } }));
      expect(changed.metadata.generation).toBe(1);
    },
    "a change of the status does not raise the generation": async (fixture) => {
      const w = await widgets(fixture, withStatus);
      await fixture.api.done(post(w.at(), w.body("a")));
      const changed = await fixture.api.done(mergePatch(w.at("a", "status"), { status: { x: 1 } }));
      expect(changed.metadata.generation).toBe(1);
      expect(changed["status"]).toEqual({ x: 1 });
    },
    "without a status subresource a change of the status raises the generation": async (fixture) => {
      const w = await widgets(fixture);
      await fixture.api.done(post(w.at(), w.body("a", { status: { x: 1 } })));
      const changed = await fixture.api.done(mergePatch(w.at("a"), { status: { x: 2 } }));
      expect(changed).toMatchObject({ metadata: { generation: 2 }, status: { x: 2 } });
    },
    "without a status subresource its path does not exist": async (fixture) => {
      const w = await widgets(fixture);
      await fixture.api.done(post(w.at(), w.body("a")));
      await fixture.api.refused(get(w.at("a", "status")), 404, "NotFound");
    },
    "a client cannot set the generation": async (fixture) => {
      const w = await widgets(fixture, withStatus);
      const created = await fixture.api.done(post(w.at(), w.body("a", {}, { generation: 7 })));
      expect(created.metadata.generation).toBe(1);
      const changed = await fixture.api.done(mergePatch(w.at("a"), { metadata: { generation: 9 } }));
      expect(changed.metadata.generation).toBe(1);
    },
    "a status in the body of a create is dropped": async (fixture) => {
      const w = await widgets(fixture, withStatus);
      const created = await fixture.api.done(post(w.at(), w.body("a", { spec: { x: 1 }, status: { y: 1 } })));
      expect(created).not.toHaveProperty("status");
    },
    "a status in the body of an update is ignored": async (fixture) => {
      const w = await widgets(fixture, withStatus);
      await fixture.api.done(post(w.at(), w.body("a")));
      const before = await fixture.api.done(mergePatch(w.at("a", "status"), { status: { y: 1 } }));
      const after = await fixture.api.done(put(w.at("a"), { ...before, spec: { x: 1 }, status: { y: 2 } }));
      expect(after).toMatchObject({ spec: { x: 1 }, status: { y: 1 } });
    },
    "a write of the status changes neither spec nor labels": async (fixture) => {
      const w = await widgets(fixture, withStatus);
      const created = await fixture.api.done(post(w.at(), w.body("a", { spec: { x: 1 } })));
      const metadata = { ...created.metadata, labels: { x: "y" } };
      const call = put(w.at("a", "status"), { ...created, metadata, spec: { x: 2 }, status: { y: 1 } });
      const after = await fixture.api.done(call);
      expect(after).toMatchObject({ spec: { x: 1 }, status: { y: 1 } });
      expect(after.metadata.labels).toBeUndefined();
    },
    "a write of the status with an old version is a Conflict": async (fixture) => {
      const w = await widgets(fixture, withStatus);
      const created = await fixture.api.done(post(w.at(), w.body("a")));
      await fixture.api.done(mergePatch(w.at("a"), { spec: { x: 1 } }));
      await fixture.api.refused(put(w.at("a", "status"), { ...created, status: { y: 1 } }), 409, "Conflict");
    },
    "get of the status subresource answers with the whole object": async (fixture) => {
      const w = await widgets(fixture, withStatus);
      await fixture.api.done(post(w.at(), w.body("a", { spec: { x: 1 } })));
      expect(await fixture.api.done(get(w.at("a", "status")))).toMatchObject({ kind: "Widget", spec: { x: 1 } });
    },
    "a configmap has no generation": async (fixture) => {
      expect((await fixture.make("configmaps", configMap("a"))).metadata).not.toHaveProperty("generation");
    },
    "a deployment's generation follows its spec": async (fixture) => {
      await fixture.make("deployments", deployment("a"));
      const labelled = await fixture.api.done(
        mergePatch(fixture.at("deployments", "a"), { metadata: { labels: { x: "y" } } }),
      );
      expect(labelled.metadata.generation).toBe(1);
      const scaled = await fixture.api.done(mergePatch(fixture.at("deployments", "a"), { spec: { replicas: 3 } }));
      expect(scaled.metadata.generation).toBe(2);
    },
    "a pod's status is written through its subresource only": async (fixture) => {
      await fixture.make("pods", pod("a"));
      const ignored = await fixture.api.done(mergePatch(fixture.at("pods", "a"), { status: { phase: "Running" } }));
      expect(dig(ignored, "status", "phase")).toBe("Pending");
      const written = await fixture.api.done(
        mergePatch(fixture.at("pods", "a", "status"), { status: { phase: "Running" } }),
      );
      expect(dig(written, "status", "phase")).toBe("Running");
    },
    "a node's status is written through its subresource": async (fixture) => {
      const name = unique("node");
      await fixture.lend("/api/v1/nodes", node(name));
      const status = { capacity: { cpu: "2" }, addresses: [{ type: "InternalIP", address: "192.0.2.1" }] };
      const written = await fixture.api.done(mergePatch(`/api/v1/nodes/${name}/status`, { status }));
      expect(written["status"]).toMatchObject(status);
      const ignored = await fixture.api.done(
        mergePatch(`/api/v1/nodes/${name}`, { status: { capacity: { cpu: "9" } } }),
      );
      expect(dig(ignored, "status", "capacity", "cpu")).toBe("2");
    },
  },
};
