// DaemonSet holdfast-node: first the plugin is put into place, then the daemon that it speaks to runs.
import { labelsOf, nodeMetricsPort, nodeName, runFolder, selectorOf, stateFolder, systemNamespace } from "./place.ts";

interface HostFolder {
  readonly name: string;
  /** On the node. */
  readonly path: string;
  /** Where a container sees it. */
  readonly at: string;
  readonly extra?: object;
}

/** What the init container writes. */
const installed: readonly HostFolder[] = [
  { name: "cni-bin", path: "/opt/cni/bin", at: "/host/opt/cni/bin" },
  { name: "cni-conf", path: "/etc/cni/net.d", at: "/host/etc/cni/net.d" },
];

const served: readonly HostFolder[] = [
  { name: "run", path: runFolder, at: runFolder },
  { name: "state", path: stateFolder, at: stateFolder },
  // whereabouts' flat file, under the path that configurations name
  { name: "cni-conf", path: "/etc/cni/net.d", at: "/etc/cni/net.d", extra: { readOnly: true } },
  // namespaces of pods that come after us: they are mounts, and must arrive here
  { name: "netns", path: "/run/netns", at: "/run/netns", extra: { mountPropagation: "HostToContainer" } },
];

const mount = ({ name, at, extra }: HostFolder) => ({ name, mountPath: at, ...extra });

/** Root, since the runtime's sockets and namespaces are root's; of root's powers only those that a probe needs. */
const securityContext = {
  runAsUser: 0,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"], add: ["NET_ADMIN", "NET_RAW", "SYS_ADMIN"] },
  seLinuxOptions: { type: "spc_t" }, // on hosts with SELinux: host paths are out of reach otherwise; elsewhere ignored
};

export function daemonSet(image: string): object {
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: nodeName, namespace: systemNamespace, labels: labelsOf(nodeName) },
    spec: {
      selector: { matchLabels: selectorOf(nodeName) },
      // While its daemon is away the plugin says "try again later", and the kubelet does; it keeps a DEL on the disk.
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%" } },
      template: { metadata: { labels: labelsOf(nodeName) }, spec: podSpec(image) },
    },
  };
}

function podSpec(image: string): object {
  const folders = new Map([...installed, ...served].map(({ name, path }) => [name, path]));
  return {
    serviceAccountName: nodeName,
    priorityClassName: "system-node-critical",
    hostNetwork: true, // pods get their network through it, so it cannot wait for one
    nodeSelector: { "kubernetes.io/os": "linux" },
    tolerations: [{ operator: "Exists" }],
    terminationGracePeriodSeconds: 30,
    initContainers: [installer(image)],
    containers: [daemon(image)],
    volumes: [...folders].map(([name, path]) => ({ name, hostPath: { path, type: "DirectoryOrCreate" } })),
  };
}

function installer(image: string): object {
  return {
    name: "install",
    image,
    args: ["cni", "install", "--root", "/host"],
    resources: { requests: { cpu: "10m", memory: "64Mi" } },
    securityContext: { ...securityContext, capabilities: { drop: ["ALL"] }, allowPrivilegeEscalation: false },
    volumeMounts: installed.map(mount),
  };
}

function daemon(image: string): object {
  return {
    name: "node",
    image,
    args: [
      "node",
      "--node-name=$(NODE_NAME)",
      `--socket=${runFolder}/cni.sock`,
      `--state=${stateFolder}`,
      `--system-namespace=${systemNamespace}`,
      `--metrics-port=${nodeMetricsPort}`,
      "--log-format=json",
    ],
    env: [{ name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }],
    ports: [{ name: "metrics", containerPort: nodeMetricsPort }],
    startupProbe: { ...health("/healthz"), periodSeconds: 2, failureThreshold: 60 },
    livenessProbe: { ...health("/healthz"), periodSeconds: 20, failureThreshold: 3 },
    readinessProbe: { ...health("/readyz"), periodSeconds: 5 },
    resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
    securityContext,
    volumeMounts: served.map(mount),
  };
}

export function health(path: string): object {
  return { httpGet: { path, port: "metrics" }, timeoutSeconds: 2 };
}
