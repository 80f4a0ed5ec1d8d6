// All nodes of a cluster, prepared and started side by side.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { cgroupFolders } from "./cgroup.ts";
import type { ControlPlanePlan } from "./control-plane.ts";
import { writeKubeconfig } from "./credentials.ts";
import type { Identities } from "./identities.ts";
import { ensureImages, type LabImages } from "./images.ts";
import { bridgeAddress, type LabNetwork, nodeAddress, podNetwork } from "./network.ts";
import { ensurePlugin } from "./networks/build.ts";
import { installNetworks, type NetworksOptions, pluginName, withNetworks } from "./networks/install.ts";
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
import { together, until } from "./wait.ts";

export interface NodesFixture {
  readonly plan: ControlPlanePlan;
  readonly identities: Identities;
  readonly network: LabNetwork;
  readonly rest: Rest;
  readonly access: Access;
}

export interface NodesOptions {
  /** What gives pods their network; bridge and host-local otherwise. */
  readonly cni?: CniOptions;
  /** Secondary networks by the delegating plugin; false leaves the conflist as it was given. */
  readonly networks?: NetworksOptions | false;
  readonly signal?: AbortSignal;
}

/** What every node shares. */
interface Common extends NodesFixture {
  readonly options: NodesOptions;
  readonly images: LabImages;
  /** How nodes reach the API server. */
  readonly server: Omit<Access, "token">;
  /** The delegating plugin; undefined when it is not wanted. */
  readonly networks: { readonly program: string; readonly kubeconfig: string } | undefined;
}

/** Resolves when every node is Ready and the default service account is there: pods can be created. */
export async function startNodes(fixture: NodesFixture, options: NodesOptions): Promise<LabNode[]> {
  const { plan, rest, access } = fixture;
  const server = { url: `https://${bridgeAddress}:${plan.port}`, ca: access.ca };
  const [images, program, kubeconfig] = await Promise.all([
    ensureImages(),
    options.networks === false ? "" : ensurePlugin(),
    options.networks === false ? "" : installNetworks(rest, server, plan.state.folder),
  ]);
  const networks = options.networks === false ? undefined : { program, kubeconfig };
  const common = { ...fixture, options, images, server, networks };
  const nodes = await together(
    plan.nodeNames.map((name, at) => async (signal: AbortSignal) => {
      const node = await prepareNode(common, name, at + 1);
      await node.start(signal);
      await node.waitReady({ signal });
      return node;
    }),
    options.signal,
  );
  const account = "/api/v1/namespaces/default/serviceaccounts/default";
  await until(() => rest.get(account), { what: "the default service account", signal: options.signal });
  return nodes;
}

async function prepareNode(common: Common, name: string, index: number): Promise<LabNode> {
  const { plan, identities, images, network, rest, server } = common;
  const { state, binaries } = plan;
  const facts: NodeFacts = { name, index, address: nodeAddress(index), podNetwork: podNetwork(index) };
  const folder = join(state.folder, name);
  const cgroup = `${state.state.name}-${name}`;
  const cgroups = cgroupFolders(cgroup);
  state.recordCgroups(cgroups);
  mkdirSync(folder);
  prepareMounts(folder);

  const serving = await identities.authority.sign(`kubelet-${name}`, {
    commonName: `system:node:${name}`,
    organization: "system:nodes",
    names: [`DNS:${name}`, `IP:${facts.address}`],
  });
  const clientCa = identities.authority.own.certificate;
  writeFileSync(join(folder, "kubelet.json"), kubeletConfig(facts, cgroup, serving, clientCa));
  writeFileSync(join(folder, "containerd.toml"), containerdConfig());
  writeCni(common, facts, folder);
  const { token } = identities.nodes.get(name)!;
  const kubeconfig = writeKubeconfig(join(folder, "kubelet.kubeconfig"), { ...server, token });
  return new LabNode({ ...facts, folder, binaries, images, network, state, rest, kubeconfig, cgroups });
}

function writeCni({ options, networks }: Common, facts: NodeFacts, folder: string): void {
  const { conflist = defaultConflist, pluginFolder } = options.cni ?? {};
  const given = typeof conflist === "function" ? conflist(facts) : conflist;
  const list = networks === undefined ? given : withNetworks(given, networks.kubeconfig, options.networks || {});
  const more = networks === undefined ? [] : [[pluginName, networks.program] as const];
  writeFileSync(join(folder, "cni-net", "10-lab.conflist"), JSON.stringify(list, undefined, 1));
  writePluginFolder(join(folder, "cni-bin"), pluginFolder, new Map(more));
}
