// All nodes of a cluster, prepared and started side by side.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { cgroupFolders, makeCgroups } from "./cgroup.ts";
import type { ControlPlanePlan, Identities } from "./control-plane.ts";
import { writeKubeconfig } from "./credentials.ts";
import { ensureImages, type LabImages } from "./images.ts";
import { bridgeAddress, type LabNetwork, nodeAddress, podNetwork } from "./network.ts";
import {
  type CniOptions,
  containerdConfig,
  defaultConflist,
  kubeletConfig,
  type NodeFacts,
  writePluginFolder,
} from "./node-files.ts";
import { prepareMounts } from "./node-mounts.ts";
import { LabNode } from "./node.ts";
import type { Access, Rest } from "./rest.ts";
import { until } from "./wait.ts";

export interface NodesGround {
  readonly plan: ControlPlanePlan;
  readonly identities: Identities;
  readonly network: LabNetwork;
  readonly rest: Rest;
  readonly access: Access;
}

export interface NodesOptions {
  readonly cni?: CniOptions;
  readonly signal?: AbortSignal;
}

/** Resolves when every node is Ready and the default service account is there: pods can be created. */
export async function startNodes(ground: NodesGround, options: NodesOptions): Promise<LabNode[]> {
  const images = await ensureImages();
  const nodes = await Promise.all(
    ground.plan.nodeNames.map((name, at) => prepareNode(ground, options, images, name, at + 1)),
  );
  await Promise.all(nodes.map((node) => node.start(options.signal)));
  const { signal } = options;
  await Promise.all(nodes.map((node) => node.waitReady(signal ? { signal } : {})));
  await until(() => ground.rest.get("/api/v1/namespaces/default/serviceaccounts/default"), {
    what: "the default service account",
    signal,
  });
  return nodes;
}

async function prepareNode(
  ground: NodesGround,
  options: NodesOptions,
  images: LabImages,
  name: string,
  index: number,
): Promise<LabNode> {
  const { plan, identities, network, rest, access } = ground;
  const { state, binaries } = plan;
  const facts: NodeFacts = { name, index, address: nodeAddress(index), podNetwork: podNetwork(index) };
  const folder = join(state.folder, name);
  const cgroup = `${state.state.name}-${name}`;
  const cgroups = cgroupFolders(cgroup);
  state.recordCgroups(cgroups);
  makeCgroups(cgroups);
  mkdirSync(folder);
  prepareMounts(folder);

  const serving = await identities.authority.sign(`kubelet-${name}`, {
    commonName: `system:node:${name}`,
    organization: "system:nodes",
    names: [`DNS:${name}`, `IP:${facts.address}`],
  });
  writeFileSync(
    join(folder, "kubelet.yaml"),
    kubeletConfig(facts, cgroup, serving, identities.authority.own.certificate),
  );
  writeFileSync(join(folder, "containerd.toml"), containerdConfig());
  const { conflist = defaultConflist, pluginFolder } = options.cni ?? {};
  const list = typeof conflist === "function" ? conflist(facts) : conflist;
  writeFileSync(join(folder, "cni-net", "10-lab.conflist"), JSON.stringify(list, undefined, 1));
  writePluginFolder(join(folder, "cni-bin"), pluginFolder, new Map());
  const kubeconfig = writeKubeconfig(join(folder, "kubelet.kubeconfig"), {
    url: `https://${bridgeAddress}:${plan.port}`,
    ca: access.ca,
    token: identities.nodes.get(name)!.token,
  });
  return new LabNode({ ...facts, folder, binaries, images, network, state, rest, kubeconfig });
}
