// The files a node is configured by: kubelet's, containerd's, its CNI configuration and its plugin folder.
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";

import type { KeyPair } from "./certificates.ts";
import { pauseImage } from "./images.ts";
import { podNetwork } from "./network.ts";

export interface NodeFacts {
  readonly name: string;
  /** From 1. */
  readonly index: number;
  readonly address: string;
  /** What the default network gives its pods, as in 10.88.1.0/24. */
  readonly podNetwork: string;
}

export type Conflist = Readonly<Record<string, unknown>>;

export interface CniOptions {
  /** The CNI network configuration list of every node, or a function that makes each node's. */
  readonly conflist?: Conflist | ((node: NodeFacts) => Conflist);
  /** Its files stand beside Debian's plugins, and before them where names are the same. */
  readonly pluginFolder?: string;
}

const debianPlugins = "/usr/lib/cni";

/** Bridge and host-local: a pod network per node, routed between nodes. */
export function defaultConflist(node: NodeFacts): Conflist {
  return {
    cniVersion: "1.0.0",
    name: "lab",
    plugins: [
      {
        type: "bridge",
        bridge: "cni0",
        isGateway: true,
        ipam: {
          type: "host-local",
          ranges: [[{ subnet: podNetwork(node.index) }]],
          routes: [{ dst: "0.0.0.0/0" }],
        },
      },
    ],
  };
}

export function writePluginFolder(
  folder: string,
  own: string | undefined,
  /** Key: the plugin's name there; value: the program. */
  more: ReadonlyMap<string, string>,
): void {
  mkdirSync(folder, { recursive: true });
  const targets = new Map<string, string>();
  for (const source of [debianPlugins, ...(own === undefined ? [] : [own])]) {
    for (const name of readdirSync(source)) targets.set(name, join(source, name));
  }
  for (const [name, target] of more) targets.set(name, target);
  for (const [name, target] of targets) symlinkSync(target, join(folder, name));
}

export function containerdConfig(): string {
  return `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"
`;
}

export function kubeletConfig(node: NodeFacts, cgroup: string, serving: KeyPair, clientCa: string): string {
  return JSON.stringify({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: node.address,
    healthzBindAddress: "127.0.0.1",
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: clientCa } },
    authorization: { mode: "Webhook" },
    tlsCertFile: serving.certificate,
    tlsPrivateKeyFile: serving.key,
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${cgroup}`,
    // Old kernels and small machines are good enough for a test.
    failCgroupV1: false,
    failSwapOn: false,
    oomScoreAdj: 0,
    evictionHard: {
      "memory.available": "0%",
      "nodefs.available": "0%",
      "imagefs.available": "0%",
      "nodefs.inodesFree": "0%",
    },
    imageGCHighThresholdPercent: 100,
    resolvConf: "",
    syncFrequency: "10s",
    nodeStatusUpdateFrequency: "4s",
    nodeLeaseDurationSeconds: 20, // renewed every quarter of it
    kubeAPIQPS: 500,
    kubeAPIBurst: 500,
    registryPullQPS: 0,
    maxPods: 200,
  });
}
