// Nodes.
import { expect } from "vitest";

import { get, mergePatch, strategicPatch } from "../call.ts";
import { node } from "../fixtures.ts";
import { dig } from "../object.ts";
import { unique, type Subject, type World } from "../world.ts";

async function makeNode(world: World): Promise<string> {
  const name = unique("node");
  await world.lend("/api/v1/nodes", node(name, { labels: { owner: world.namespace } }));
  return `/api/v1/nodes/${name}`;
}

const condition = (type: string, status: string) => ({
  status: { conditions: [{ type, status, reason: "Tested" }] },
});

export const nodes: Subject = {
  name: "nodes",
  cases: {
    "a node belongs to no namespace": async (world) => {
      const path = await makeNode(world);
      const seen = await world.api.done(get(path));
      expect(seen.kind).toBe("Node");
      expect(seen.metadata).not.toHaveProperty("namespace");
    },
    "nodes are selected by label": async (world) => {
      const path = await makeNode(world);
      const { items } = await world.api.list("/api/v1/nodes", { labelSelector: `owner=${world.namespace}` });
      expect(items.map(({ metadata }) => `/api/v1/nodes/${metadata.name}`)).toEqual([path]);
    },
    "a node's pod range is set once": async (world) => {
      const path = await makeNode(world);
      const spec = { podCIDR: "10.1.2.0/24", podCIDRs: ["10.1.2.0/24"] };
      expect((await world.api.done(mergePatch(path, { spec })))["spec"]).toMatchObject(spec);
      const other = { podCIDR: "10.9.9.0/24", podCIDRs: ["10.9.9.0/24"] };
      await world.api.refused(mergePatch(path, { spec: other }), 422, "Invalid");
    },
    "a node's taints are written": async (world) => {
      const path = await makeNode(world);
      const taint = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" };
      const after = await world.api.done(mergePatch(path, { spec: { taints: [taint] } }));
      expect(dig(after, "spec", "taints")).toEqual([taint]);
    },
    "a node's conditions are merged by type": async (world) => {
      const path = `${await makeNode(world)}/status`;
      await world.api.done(strategicPatch(path, condition("Ready", "True")));
      const after = await world.api.done(strategicPatch(path, condition("NetworkUnavailable", "False")));
      const conditions = dig(after, "status", "conditions") as { type: string }[];
      expect(conditions.map(({ type }) => type).sort()).toEqual(["NetworkUnavailable", "Ready"]);
    },
    "a node's annotations are patched": async (world) => {
      const path = await makeNode(world);
      const annotations = { "k8s.ovn.org/node-subnets": '{"default":["10.1.2.0/24"]}' };
      expect(
        (await world.api.done(mergePatch(path, { metadata: { annotations } }))).metadata.annotations,
      ).toMatchObject(annotations);
    },
  },
};
