// Networks and workloads of the tests: attachment definitions whose addresses are ours, and pods that ask for them.
import type { Cluster } from "../cluster.ts";
import { isReady, type ObservedPod, podSpec } from "../pods.ts";
import { RestError } from "../rest.ts";
import { until } from "../wait.ts";

export interface NetworkPlan {
  readonly name: string;
  readonly namespace?: string;
  /** `bridge`: one wire per node. `macvlan`: one wire for all nodes, on their own cables. */
  readonly wire: "bridge" | "macvlan";
  /** The `ipam` object without its type. */
  readonly ipam: Readonly<Record<string, unknown>>;
  /** `holdfast`, or the name it is installed under besides. */
  readonly ipamType?: string;
}

const bridgeNameLength = 15;

export async function defineNetwork(lab: Cluster, plan: NetworkPlan): Promise<void> {
  const { name, namespace = "default" } = plan;
  await lab.rest.create(definitionsOf(namespace), {
    apiVersion: "k8s.cni.cncf.io/v1",
    kind: "NetworkAttachmentDefinition",
    metadata: { name, namespace },
    spec: { config: JSON.stringify(networkConfig(plan)) },
  });
}

/** The same network, as somebody edits it while pods run. */
export async function redefineNetwork(lab: Cluster, plan: NetworkPlan): Promise<void> {
  const { name, namespace = "default" } = plan;
  await lab.rest.patch(`${definitionsOf(namespace)}/${name}`, {
    spec: { config: JSON.stringify(networkConfig(plan)) },
  });
}

const definitionsOf = (namespace: string) =>
  `/apis/k8s.cni.cncf.io/v1/namespaces/${namespace}/network-attachment-definitions`;

export function networkConfig({ name, wire, ipam, ipamType = "holdfast" }: NetworkPlan): object {
  const link =
    wire === "bridge"
      ? { type: "bridge", bridge: `b-${name}`.slice(0, bridgeNameLength) }
      : { type: "macvlan", master: "eth0", mode: "bridge" };
  return { cniVersion: "1.0.0", name, ...link, capabilities: { ips: true }, ipam: { ...ipam, type: ipamType } };
}

export interface WorkloadPlan {
  readonly name: string;
  readonly networks: string;
  readonly replicas: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A template whose pods do nothing, spread over all nodes. */
function templateOf({ name, networks, annotations }: WorkloadPlan, generation: string) {
  return {
    metadata: {
      labels: { app: name },
      annotations: { ...annotations, "k8s.v1.cni.cncf.io/networks": networks, generation },
    },
    spec: {
      ...podSpec(["sleep", "infinity"]),
      topologySpreadConstraints: [
        {
          maxSkew: 2,
          topologyKey: "kubernetes.io/hostname",
          whenUnsatisfiable: "ScheduleAnyway",
          labelSelector: { matchLabels: { app: name } },
        },
      ],
    },
  };
}

const apps = "/apis/apps/v1/namespaces/default";

export async function deploy(lab: Cluster, plan: WorkloadPlan): Promise<void> {
  await lab.rest.create(`${apps}/deployments`, {
    metadata: { name: plan.name },
    spec: {
      replicas: plan.replicas,
      selector: { matchLabels: { app: plan.name } },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "50%", maxUnavailable: "50%" } },
      template: templateOf(plan, "1"),
    },
  });
}

export async function deployStateful(lab: Cluster, plan: WorkloadPlan): Promise<void> {
  await lab.rest.create(`${apps}/statefulsets`, {
    metadata: { name: plan.name },
    spec: {
      replicas: plan.replicas,
      serviceName: plan.name,
      podManagementPolicy: "Parallel",
      selector: { matchLabels: { app: plan.name } },
      template: templateOf(plan, "1"),
    },
  });
}

export async function scale(
  lab: Cluster,
  kind: "deployments" | "statefulsets",
  name: string,
  replicas: number,
): Promise<void> {
  await lab.rest.patch(`${apps}/${kind}/${name}`, { spec: { replicas } });
}

/** Every pod is replaced by another of the same template. */
export async function roll(lab: Cluster, name: string, generation: string): Promise<void> {
  await lab.rest.patch(`${apps}/deployments/${name}`, {
    spec: { template: { metadata: { annotations: { generation } } } },
  });
}

/** What kubelet says about why a pod has no sandbox; the newest that contains the words, where some are given. */
export function refusalOf(lab: Cluster, name: string, words = "", namespace = "default"): Promise<string> {
  const query = `fieldSelector=reason=FailedCreatePodSandBox,involvedObject.name=${name}`;
  return until(
    async () => {
      const { items } = await lab.rest.get<{ items: { message: string }[] }>(
        `/api/v1/namespaces/${namespace}/events?${query}`,
      );
      return items.map(({ message }) => message).find((message) => message.includes(words));
    },
    { what: `an event about ${name} with ${JSON.stringify(words)}`, everyMs: 200 },
  );
}

export function runningPod(lab: Cluster, name: string, namespace = "default"): Promise<ObservedPod> {
  return until(
    async () => {
      const pod = await lab.rest.get<ObservedPod>(`/api/v1/namespaces/${namespace}/pods/${name}`);
      return isReady(pod) && pod;
    },
    { what: `pod ${namespace}/${name} to run`, everyMs: 200, timeoutMs: 120_000 },
  );
}

/** Deletes it and waits until the API server has forgotten it. */
export async function removePod(lab: Cluster, name: string, namespace = "default"): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  await lab.rest.delete(path);
  await until(
    async () =>
      lab.rest.get(path).then(
        () => false,
        (error: unknown) => error instanceof RestError && error.code === 404,
      ),
    { what: `pod ${namespace}/${name} to be gone`, everyMs: 200 },
  );
}

export async function createPod(
  lab: Cluster,
  name: string,
  networks: string,
  more: { node?: string; namespace?: string; annotations?: Readonly<Record<string, string>> } = {},
): Promise<void> {
  const { node, namespace = "default", annotations } = more;
  await lab.rest.create(`/api/v1/namespaces/${namespace}/pods`, {
    metadata: { name, labels: { app: name }, annotations: { ...annotations, "k8s.v1.cni.cncf.io/networks": networks } },
    spec: { ...podSpec(["sleep", "infinity"]), ...(node !== undefined && { nodeName: node }) },
  });
}
