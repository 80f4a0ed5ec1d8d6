// Nodes.
import { expect } from "vitest";

import { get, mergePatch, strategicPatch } from "../call.ts";
import { unique, type Subject, type Fixture } from "../fixture.ts";
import { node } from "../fixtures.ts";
import { dig } from "../object.ts";

async function makeNode(fixture: Fixture): Promise<string> {
  const name = unique("node");
  await fixture.lend("/api/v1/nodes", node(name, { labels: { owner: fixture.namespace } }));
  return `/api/v1/nodes/${name}`;
}

const condition = (type: string, status: string) => ({
  status: { conditions: [{ type, status, reason: "Tested" }] },
});

export const nodes: Subject = {
  name: "nodes",
  cases: {
    "a node belongs to no namespace": async (fixture) => {
      const path = await makeNode(fixture);
      const seen = await fixture.api.done(get(path));
      expect(seen.kind).toBe("Node");
      expect(seen.metadata).not.toHaveProperty("namespace");
    },
    "nodes are selected by label": async (fixture) => {
      const path = await makeNode(fixture);
      const { items } = await fixture.api.list("/api/v1/nodes", { labelSelector: `owner=${fixture.namespace}` });
      expect(items.map(({ metadata }) => `/api/v1/nodes/${metadata.name}`)).toEqual([path]);
    },
    "a node's pod range is set once": async (fixture) => {
      const path = await makeNode(fixture);
      const spec = { podCIDR: "10.1.2.0/24", podCIDRs: ["10.1.2.0/24"] };
      expect((await fixture.api.done(mergePatch(path, { spec })))["spec"]).toMatchObject(spec);
      const other = { podCIDR: "10.9.9.0/24", podCIDRs: ["10.9.9.0/24"] };
      await fixture.api.refused(mergePatch(path, { spec: other }), 422, "Invalid");
    },
    "a node's taints are written": async (fixture) => {
      const path = await makeNode(fixture);
      const taint = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" };
      const after = await fixture.api.done(mergePatch(path, { spec: { taints: [taint] } }));
      expect(dig(after, "spec", "taints")).toEqual([taint]);
    },
    "a node's conditions are merged by type": async (fixture) => {
      const path = `${await makeNode(fixture)}/status`;
      await fixture.api.done(strategicPatch(path, condition("Ready", "True")));
      const after = await fixture.api.done(strategicPatch(path, condition("NetworkUnavailable", "False")));
      const conditions = dig(after, "status", "conditions") as { type: string }[];
      expect(conditions.map(({ type }) => type).sort()).toEqual(["NetworkUnavailable", "Ready"]);
    },
    "a node's annotations are patched": async (fixture) => {
      const path = await makeNode(fixture);
      const annotations = { "k8s.ovn.org/node-subnets": '{"default":["10.1.2.0/24"]}' };
      expect(
        (await fixture.api.done(mergePatch(path, { metadata: { annotations } }))).metadata.annotations,
      ).toMatchObject(annotations);
    },
  },
};
