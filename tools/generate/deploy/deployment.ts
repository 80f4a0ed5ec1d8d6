// Deployment holdfast-controller: two, of which one leads; and the promise that a drain leaves one of them.
import { health } from "./daemon-set.ts";
import { controllerMetricsPort, controllerName, labelsOf, selectorOf, systemNamespace } from "./place.ts";

const replicas = 2;
/** Any number that is not root. */
const userId = 65_532;

export function controllerObjects(image: string): object[] {
  const metadata = { name: controllerName, namespace: systemNamespace, labels: labelsOf(controllerName) };
  const selector = { matchLabels: selectorOf(controllerName) };
  const template = { metadata: { labels: labelsOf(controllerName) }, spec: podSpec(image) };
  return [
    { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: { replicas, selector, template } },
    { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata, spec: { maxUnavailable: 1, selector } },
  ];
}

function podSpec(image: string): object {
  return {
    serviceAccountName: controllerName,
    priorityClassName: "system-cluster-critical",
    nodeSelector: { "kubernetes.io/os": "linux" },
    tolerations: [{ key: "node-role.kubernetes.io/control-plane", operator: "Exists", effect: "NoSchedule" }],
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "kubernetes.io/hostname",
        whenUnsatisfiable: "ScheduleAnyway",
        labelSelector: { matchLabels: selectorOf(controllerName) },
      },
    ],
    securityContext: {
      runAsNonRoot: true,
      runAsUser: userId,
      runAsGroup: userId,
      seccompProfile: { type: "RuntimeDefault" },
    },
    containers: [container(image)],
  };
}

function container(image: string): object {
  return {
    name: "controller",
    image,
    args: [
      "controller",
      `--system-namespace=${systemNamespace}`,
      `--metrics-port=${controllerMetricsPort}`,
      "--log-format=json",
    ],
    env: [
      { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }, // who leads, in the lease
      // V8 lets the room for new objects grow to 128 MiB while lists are read, and keeps it: 475 MiB with 100,000
      // bindings became 318 to 346. Reading them took as much processor time. As of agents, few arenas.
      { name: "MALLOC_ARENA_MAX", value: "2" },
      // Glibc raises both limits by itself to 32 MiB and more, and then keeps what lists were read into: 20 MiB.
      { name: "MALLOC_MMAP_THRESHOLD_", value: "65536" },
      { name: "MALLOC_TRIM_THRESHOLD_", value: "131072" },
      { name: "NODE_OPTIONS", value: "--max-semi-space-size=1" },
    ],
    ports: [{ name: "metrics", containerPort: controllerMetricsPort }],
    startupProbe: { ...health("/healthz"), periodSeconds: 2, failureThreshold: 60 },
    livenessProbe: { ...health("/healthz"), periodSeconds: 20, failureThreshold: 3 },
    readinessProbe: { ...health("/readyz"), periodSeconds: 5 },
    resources: { requests: { cpu: "100m", memory: "192Mi" }, limits: { memory: "1Gi" } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
  };
}
