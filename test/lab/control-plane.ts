// The control plane: etcd, kube-apiserver, kube-controller-manager and, where there are nodes, kube-scheduler.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Client } from "undici";

import type { KubeBinaries } from "../../tools/kube/build.ts";
import { CertificateAuthority, type KeyPair, makeSigningKey } from "./certificates.ts";
import { Component } from "./component.ts";
import { administrator, nodeUser, type TokenHolder, writeKubeconfig, writeTokenFile } from "./credentials.ts";
import type { Place } from "./place.ts";
import { type Access, Rest } from "./rest.ts";
import type { StateFile } from "./state.ts";

export interface ControlPlanePlan {
  readonly binaries: KubeBinaries;
  readonly state: StateFile;
  readonly place: Place;
  /** Where the API server listens, in its own place. */
  readonly bindAddress: string;
  readonly port: number;
  readonly advertiseAddress: string;
  readonly nodeNames: readonly string[];
  /** etcd forgets what the kernel had not written at a power cut; a kill of the process loses nothing. */
  readonly fsync: boolean;
  readonly serviceAccounts: boolean;
  readonly apiserverArgs: readonly string[];
}

export const serviceNetwork = "10.96.0.0/16";
/** The first address of the service network: what pods know as kubernetes.default.svc. */
export const apiServiceAddress = "10.96.0.1";

/** The credentials and certificates of a cluster; made before anything runs. */
export interface Identities {
  readonly authority: CertificateAuthority;
  readonly serving: KeyPair;
  readonly kubeletClient: KeyPair;
  readonly admin: TokenHolder;
  readonly controllerManager: TokenHolder;
  readonly scheduler: TokenHolder;
  /** Key: node name. */
  readonly nodes: ReadonlyMap<string, TokenHolder>;
}

export async function makeIdentities(
  folder: string,
  address: string,
  nodeNames: readonly string[],
): Promise<Identities> {
  const [authority] = await Promise.all([CertificateAuthority.make(folder), makeSigningKey(join(folder, "sa.key"))]);
  const names = [
    ...["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"].map((name) => `DNS:${name}`),
    ...new Set(["127.0.0.1", address, apiServiceAddress].map((address) => `IP:${address}`)),
  ];
  const [serving, kubeletClient] = await Promise.all([
    authority.sign("apiserver", { commonName: "kube-apiserver", names }),
    authority.sign("kubelet-client", { commonName: "kube-apiserver", organization: "system:masters" }),
  ]);
  const identities: Identities = {
    authority,
    serving,
    kubeletClient,
    admin: administrator("admin"),
    controllerManager: administrator("system:kube-controller-manager"),
    scheduler: { ...administrator("system:kube-scheduler"), groups: [] },
    nodes: new Map(nodeNames.map((name) => [name, nodeUser(name)])),
  };
  const { admin, controllerManager, scheduler, nodes } = identities;
  writeTokenFile(join(folder, "tokens"), [admin, controllerManager, scheduler, ...nodes.values()]);
  return identities;
}

export type EtcdPlan = Pick<ControlPlanePlan, "binaries" | "state" | "place" | "fsync">;

export function makeEtcd(plan: EtcdPlan): Component {
  const { folder } = plan.state;
  const client = `unix://${etcdSocket(folder)}`;
  // The peer address is never used by a single member, but etcd insists on one.
  const peer = `unix://${join(folder, "etcd-peer.sock")}`;
  return component(
    plan,
    "etcd",
    [
      ...["--data-dir", join(folder, "etcd"), "--log-level=warn"],
      ...["--listen-client-urls", client, "--advertise-client-urls", client],
      ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", `default=${peer}`],
      ...(plan.fsync ? [] : ["--unsafe-no-fsync"]),
    ],
    async () => {
      const health = new Client("http://etcd", { socketPath: etcdSocket(folder) });
      try {
        const { statusCode, body } = await health.request({ path: "/health", method: "GET" });
        await body.dump();
        return statusCode === 200;
      } finally {
        await health.destroy();
      }
    },
  );
}

export const etcdSocket = (folder: string) => join(folder, "etcd.sock");

export function makeApiServer(plan: ControlPlanePlan, identities: Identities, rest: Rest): Component {
  const { folder } = plan.state;
  const admission = [
    ...(plan.serviceAccounts ? [] : ["--disable-admission-plugins=ServiceAccount"]),
    ...(plan.nodeNames.length > 0 ? ["--enable-admission-plugins=NodeRestriction"] : []),
  ];
  const args = [
    `--etcd-servers=unix://${etcdSocket(folder)}`,
    `--bind-address=${plan.bindAddress}`,
    `--advertise-address=${plan.advertiseAddress}`,
    `--secure-port=${plan.port}`,
    `--tls-cert-file=${identities.serving.certificate}`,
    `--tls-private-key-file=${identities.serving.key}`,
    `--token-auth-file=${join(folder, "tokens")}`,
    `--authorization-mode=Node,RBAC`,
    `--service-account-issuer=https://kubernetes.default.svc`,
    `--service-account-key-file=${join(folder, "sa.key")}`,
    `--service-account-signing-key-file=${join(folder, "sa.key")}`,
    `--service-cluster-ip-range=${serviceNetwork}`,
    `--endpoint-reconciler-type=none`,
    `--kubelet-preferred-address-types=InternalIP`,
    `--kubelet-certificate-authority=${identities.authority.own.certificate}`,
    `--kubelet-client-certificate=${identities.kubeletClient.certificate}`,
    `--kubelet-client-key=${identities.kubeletClient.key}`,
    `--allow-privileged=true`,
    `--shutdown-delay-duration=0`,
    `--profiling=false`,
    ...admission,
    ...plan.apiserverArgs,
  ];
  return component(plan, "kube-apiserver", args, async () => (await rest.get("/readyz")) === "ok");
}

export function makeControllerManager(plan: ControlPlanePlan, identities: Identities): Component {
  const controllers = ["garbage-collector-controller", "namespace-controller"];
  if (plan.nodeNames.length > 0) controllers.push(...nodeControllers);
  else if (plan.serviceAccounts) controllers.push(...serviceAccountControllers);
  const { folder } = plan.state;
  const secure = plan.nodeNames.length > 0 ? ["--bind-address=127.0.0.1"] : ["--secure-port=0"];
  const kubeconfig = writeKubeconfig(
    join(folder, "controller-manager.kubeconfig"),
    access(plan, identities, identities.controllerManager),
  );
  return component(
    plan,
    "kube-controller-manager",
    [
      ...["--kubeconfig", kubeconfig, "--authentication-skip-lookup", "--leader-elect=false", "--profiling=false"],
      ...[
        "--root-ca-file",
        identities.authority.own.certificate,
        "--service-account-private-key-file",
        join(folder, "sa.key"),
      ],
      // A node that died is NotReady after 20 s and not after 40, and its pods leave it at once when they are told to.
      ...["--node-monitor-grace-period=20s", "--node-monitor-period=2s"],
      `--controllers=${controllers.join(",")}`,
      ...secure,
    ],
    async () => true,
  );
}

const serviceAccountControllers = ["serviceaccount-controller", "root-ca-certificate-publisher-controller"];
const nodeControllers = [
  ...serviceAccountControllers,
  "deployment-controller",
  "replicaset-controller",
  "daemonset-controller",
  "statefulset-controller",
  "job-controller",
  "node-lifecycle-controller",
  "pod-garbage-collector-controller",
  "taint-eviction-controller",
];

export function makeScheduler(plan: ControlPlanePlan, identities: Identities): Component {
  const kubeconfig = writeKubeconfig(
    join(plan.state.folder, "scheduler.kubeconfig"),
    access(plan, identities, identities.scheduler),
  );
  return component(
    plan,
    "kube-scheduler",
    [
      ...[
        "--kubeconfig",
        kubeconfig,
        "--authentication-skip-lookup",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
      ],
    ],
    async () => true,
  );
}

/** How a component, which runs in the control plane's own place, reaches the API server. */
function access(plan: ControlPlanePlan, identities: Identities, holder: TokenHolder): Access {
  const ca = readFileSync(identities.authority.own.certificate, "utf8");
  return { url: `https://127.0.0.1:${plan.port}`, ca, token: holder.token };
}

function component(
  plan: EtcdPlan,
  name: "etcd" | "kube-apiserver" | "kube-controller-manager" | "kube-scheduler",
  args: readonly string[],
  isReady: () => Promise<boolean>,
): Component {
  const logFile = join(plan.state.folder, `${name}.log`);
  return new Component(
    { name, command: [plan.binaries.path(name), ...args], place: plan.place, logFile, isReady },
    plan.state,
  );
}
