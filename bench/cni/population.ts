// Nodes, pods and the daemons' identities, made as a cluster has them before a measurement begins.
//
// A daemon's identity is its DaemonSet pod's: a token of the one service account, bound to that pod and its node.
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import type { Access } from "../../test/lab/rest.ts";
import type { BenchPod } from "./attachment.ts";
import { type BenchLab, podNamespace, systemNamespace } from "./lab.ts";

const nodes = defineResource<AnyObject>({ group: "", version: "v1", plural: "nodes", kind: "Node", namespaced: false });
const pods = defineResource<AnyObject>({ group: "", version: "v1", plural: "pods", kind: "Pod", namespaced: true });
const nodeAccount = "holdfast-node";
const controllerAccount = "holdfast-controller";
/** The API server takes some hundred creates a second from this many at once; more only wait in line. */
const makersAtOnce = 32;

/** A day: no benchmark is longer. */
const tokenSeconds = 24 * 3600;

export async function makeNodes(lab: BenchLab, names: readonly string[]): Promise<void> {
  await eachAtOnce(names, (name) => lab.admin.create(nodes, { metadata: { name } }));
}

/** `count` pods, dealt to the nodes in turn, each named `prefix-N`. */
export async function makePods(
  lab: BenchLab,
  { prefix, count, on }: { prefix: string; count: number; on: readonly string[] },
): Promise<BenchPod[]> {
  return eachAtOnce(
    Array.from({ length: count }, (_, index) => index),
    async (index) => {
      const node = on[index % on.length]!;
      const pod = podObject(podNamespace, `${prefix}-${index}`, { nodeName: node });
      const { uid = "" } = (await lab.admin.create(pods, pod)).metadata;
      return { namespace: podNamespace, name: `${prefix}-${index}`, uid, node };
    },
  );
}

/** One for each node, in their order. */
export function makeIdentities(lab: BenchLab, names: readonly string[]): Promise<Access[]> {
  return eachAtOnce(names, async (nodeName) => {
    const name = `${nodeAccount}-${nodeName}`;
    const pod = podObject(systemNamespace, name, { nodeName, serviceAccountName: nodeAccount });
    const { uid = "" } = (await lab.admin.create(pods, pod)).metadata;
    return tokenOf(lab, nodeAccount, { boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid } });
  });
}

export function controllerIdentity(lab: BenchLab): Promise<Access> {
  return tokenOf(lab, controllerAccount, {});
}

async function tokenOf(lab: BenchLab, account: string, more: Readonly<Record<string, unknown>>): Promise<Access> {
  const { status } = await lab.cluster.rest.create<{ status: { token: string } }>(
    `/api/v1/namespaces/${systemNamespace}/serviceaccounts/${account}/token`,
    {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: tokenSeconds, ...more },
    },
  );
  return { ...lab.cluster.access, token: status.token };
}

function podObject(namespace: string, name: string, spec: Readonly<Record<string, unknown>>): AnyObject {
  const containers = [{ name: "main", image: "none", imagePullPolicy: "Never" }];
  return { metadata: { namespace, name }, spec: { containers, ...spec } };
}

export async function eachAtOnce<From, To>(
  items: readonly From[],
  make: (item: From, index: number) => Promise<To>,
  atOnce = makersAtOnce,
): Promise<To[]> {
  const made: To[] = [];
  let next = 0;
  const maker = async () => {
    for (let index = next++; index < items.length; index = next++) made[index] = await make(items[index]!, index);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, maker));
  return made;
}
