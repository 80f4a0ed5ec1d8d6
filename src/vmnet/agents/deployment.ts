// The Deployment and the PodDisruptionBudget of one managed pool, as they should be. Pure.
//
// Two agents by default. Bindings are durable before a guest asks, so every agent gives the same answer, and a rolling
// update adds an agent before it takes one away. An agent answers for the server's address from its packet socket and
// configures nothing: of root's powers it has NET_RAW alone.
import { hashLabel } from "../../api/holds/owner-record.ts";
import { holdUpgradeAnnotation } from "../../api/vmnet/marks.ts";
import type { StoredManagedPool } from "../../cluster/resources.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { agentAccount, agentLabels, agentName, agentOfAnnotation, agentReplicasAnnotation } from "./names.ts";
import { agentSelector, agentSpecAnnotation, type PoolName } from "./names.ts";
import type { AgentBudget, AgentDeployment, AgentTemplate } from "./objects.ts";
import type { Placement } from "./placement.ts";

export interface AgentSettings {
  readonly systemNamespace: string;
  readonly image: string;
  /** Of pools that say nothing. */
  readonly replicas: number;
}

export interface AgentPlan {
  readonly pool: DeepReadonly<StoredManagedPool>;
  readonly network: { readonly namespace: string; readonly name: string };
  readonly placement: Placement;
  /** The Deployment that is there; undefined: none. */
  readonly found?: DeepReadonly<AgentDeployment> | undefined;
}

export const defaultAgentReplicas = 2;
/** More answer nothing that two do not. */
const mostReplicas = 9;
const interfaceName = "eth1";
const stateFolder = "/var/lib/holdfast-agent";
/** In a network namespace of its own: no port of the node. */
const agentMetricsPort = 9466;

export const poolNameOf = ({ metadata }: DeepReadonly<StoredManagedPool>): PoolName => ({
  namespace: metadata.namespace ?? "",
  name: metadata.name ?? "",
});

/** Undefined: the annotation is absent, or no number from 1 to 9 (`isWrong`). */
export function replicasAsked(pool: DeepReadonly<StoredManagedPool>): { count?: number; isWrong: boolean } {
  const text = pool.metadata.annotations?.[agentReplicasAnnotation];
  if (text === undefined) return { isWrong: false };
  const count = /^[1-9]$/.test(text) ? Number(text) : undefined;
  return count === undefined || count > mostReplicas ? { isWrong: true } : { count, isWrong: false };
}

export function agentDeployment(plan: AgentPlan, settings: AgentSettings): AgentDeployment {
  const { pool, found } = plan;
  const own = poolNameOf(pool);
  // The whole template stays, not the image alone: an old image need not know the options of a new template.
  const isHeld = pool.metadata.annotations?.[holdUpgradeAnnotation] !== undefined;
  const template = isHeld && found !== undefined ? (found.spec.template as AgentTemplate) : templateOf(plan, settings);
  const isPaused = pool.spec.paused === true;
  const spec = {
    replicas: isPaused ? 0 : (replicasAsked(pool).count ?? settings.replicas),
    selector: { matchLabels: agentSelector(own) },
    strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    // An agent that is ready has its bindings; two seconds show that it stays so.
    minReadySeconds: 2,
    revisionHistoryLimit: 2,
    template,
  };
  return { metadata: metadataOf(own, settings, spec), spec };
}

/** A drain takes one agent at a time; with a single one, it takes that: a node must be drainable. */
export function agentBudget(pool: PoolName, settings: Pick<AgentSettings, "systemNamespace">): AgentBudget {
  const spec = { maxUnavailable: 1, selector: { matchLabels: agentSelector(pool) } };
  return { metadata: metadataOf(pool, settings, spec), spec };
}

function metadataOf(pool: PoolName, { systemNamespace }: Pick<AgentSettings, "systemNamespace">, spec: object) {
  return {
    name: agentName(pool),
    namespace: systemNamespace,
    labels: agentLabels(pool),
    annotations: {
      [agentOfAnnotation]: `${pool.namespace}/${pool.name}`,
      [agentSpecAnnotation]: hashLabel(JSON.stringify(spec)),
    },
  };
}

function templateOf({ pool, network, placement }: AgentPlan, settings: AgentSettings): AgentTemplate {
  const own = poolNameOf(pool);
  const { nodeLabel, tolerations } = placement;
  const onNetwork = { matchExpressions: [{ key: nodeLabel, operator: "In", values: ["true"] }] };
  const others = { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: agentSelector(own) } };
  return {
    metadata: {
      labels: agentLabels(own),
      annotations: {
        [agentOfAnnotation]: `${own.namespace}/${own.name}`,
        "k8s.v1.cni.cncf.io/networks": JSON.stringify([{ ...network, interface: interfaceName }]),
      },
    },
    spec: {
      serviceAccountName: agentAccount,
      priorityClassName: "system-cluster-critical",
      nodeSelector: { "kubernetes.io/os": "linux" },
      affinity: {
        ...(nodeLabel !== undefined && {
          nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [onNetwork] } },
        }),
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: others }],
        },
      },
      tolerations,
      // Time to give the server's address up: the other agent has it at once, without waiting for a lease to end.
      terminationGracePeriodSeconds: 10,
      securityContext: { seccompProfile: { type: "RuntimeDefault" } },
      containers: [container(own, settings)],
      volumes: [{ name: "state", emptyDir: { sizeLimit: "256Mi" } }],
    },
  };
}

function container({ namespace, name }: PoolName, { image, systemNamespace }: AgentSettings) {
  const health = (path: string) => ({ httpGet: { path, port: "metrics" }, timeoutSeconds: 2 });
  return {
    name: "agent",
    image,
    args: [
      "agent",
      `--pool=${namespace}/${name}=${interfaceName}`,
      `--system-namespace=${systemNamespace}`,
      `--state=${stateFolder}`,
      `--metrics-port=${agentMetricsPort}`,
      "--log-format=json",
    ],
    env: [
      { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      // Few arenas and a small room for new objects: 244 MiB with 10,000 bindings became 168, with a bounded heap too.
      { name: "MALLOC_ARENA_MAX", value: "2" },
      // Glibc raises both limits by itself, and then keeps what lists were read into: as the controller's.
      { name: "MALLOC_MMAP_THRESHOLD_", value: "65536" },
      { name: "MALLOC_TRIM_THRESHOLD_", value: "131072" },
      { name: "NODE_OPTIONS", value: "--max-semi-space-size=1" },
    ],
    ports: [{ name: "metrics", containerPort: agentMetricsPort }],
    startupProbe: { ...health("/healthz"), periodSeconds: 2, failureThreshold: 60 },
    livenessProbe: { ...health("/healthz"), periodSeconds: 20, failureThreshold: 3 },
    readinessProbe: { ...health("/readyz"), periodSeconds: 5 },
    resources: { requests: { cpu: "25m", memory: "160Mi" }, limits: { memory: "384Mi" } },
    securityContext: {
      // Root's number without root's powers: a container of another user would not be given NET_RAW.
      runAsUser: 0,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"], add: ["NET_RAW"] },
    },
    volumeMounts: [{ name: "state", mountPath: stateFolder }],
  };
}
