// The control plane on top of etcd: kube-apiserver, kube-controller-manager and, where there are nodes, kube-scheduler.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Component } from "./component.ts";
import { type TokenHolder, writeKubeconfig } from "./credentials.ts";
import { type EtcdPlan, etcdUrl } from "./etcd.ts";
import type { Identities } from "./identities.ts";
import type { Rest } from "./rest.ts";

export interface ControlPlanePlan extends EtcdPlan {
  /** Where the API server listens, in its own place. */
  readonly bindAddress: string;
  readonly port: number;
  readonly advertiseAddress: string;
  readonly nodeNames: readonly string[];
  readonly serviceAccounts: boolean;
  readonly apiserverArgs: readonly string[];
}

const serviceNetwork = "10.96.0.0/16";

export function makeApiServer(plan: ControlPlanePlan, identities: Identities, rest: Rest): Component {
  const { folder } = plan.state;
  const admission = [
    ...(plan.serviceAccounts ? [] : ["--disable-admission-plugins=ServiceAccount"]),
    ...(plan.nodeNames.length > 0 ? ["--enable-admission-plugins=NodeRestriction"] : []),
  ];
  const args = [
    `--etcd-servers=${etcdUrl(folder)}`,
    `--bind-address=${plan.bindAddress}`,
    `--advertise-address=${plan.advertiseAddress}`,
    `--secure-port=${plan.port}`,
    `--tls-cert-file=${identities.serving.certificate}`,
    `--tls-private-key-file=${identities.serving.key}`,
    `--token-auth-file=${identities.tokenFile}`,
    `--authorization-mode=Node,RBAC`,
    `--service-account-issuer=https://kubernetes.default.svc`,
    `--service-account-key-file=${identities.signingKey}`,
    `--service-account-signing-key-file=${identities.signingKey}`,
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
  const args = [
    `--kubeconfig=${kubeconfigFor("controller-manager", plan, identities, identities.controllerManager)}`,
    `--root-ca-file=${identities.authority.own.certificate}`,
    `--service-account-private-key-file=${identities.signingKey}`,
    `--authentication-skip-lookup`,
    `--leader-elect=false`,
    `--profiling=false`,
    // A node that says nothing is NotReady after 20 s instead of 50: every test that loses one waits for it.
    `--node-monitor-grace-period=20s`,
    `--node-monitor-period=2s`,
    // The default is 20 a second: a namespace that goes asks for every kind, and waited seconds for that.
    `--kube-api-qps=1000`,
    `--kube-api-burst=2000`,
    `--controllers=${controllers.join(",")}`,
    // On the machine's own loopback a port of its own would only be one more to collide.
    plan.nodeNames.length > 0 ? "--bind-address=127.0.0.1" : "--secure-port=0",
  ];
  return component(plan, "kube-controller-manager", args, async () => true);
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
  const args = [
    `--kubeconfig=${kubeconfigFor("scheduler", plan, identities, identities.scheduler)}`,
    `--authentication-skip-lookup`,
    `--leader-elect=false`,
    `--bind-address=127.0.0.1`,
  ];
  return component(plan, "kube-scheduler", args, async () => true);
}

/** For a component, which runs in the same place as the API server. */
function kubeconfigFor(
  name: string,
  plan: ControlPlanePlan,
  { authority }: Identities,
  { token }: TokenHolder,
): string {
  const ca = readFileSync(authority.own.certificate, "utf8");
  const access = { url: `https://127.0.0.1:${plan.port}`, ca, token };
  return writeKubeconfig(join(plan.state.folder, `${name}.kubeconfig`), access);
}

function component(
  plan: ControlPlanePlan,
  name: "kube-apiserver" | "kube-controller-manager" | "kube-scheduler",
  args: readonly string[],
  isReady: () => Promise<boolean>,
): Component {
  const logFile = join(plan.state.folder, `${name}.log`);
  return new Component(
    { name, command: [plan.binaries.path(name), ...args], place: plan.place, logFile, isReady },
    plan.state,
  );
}
