// The real vm-dhcp-controller of Harvester on the lab's nodes: controller and webhook as Deployments, its agents as the
// pods that its controller makes. The programs are built elsewhere, from its public repository (docs/testing.md):
// PEER_HARVESTER_DHCP names a folder with `controller`, `webhook` and `agent`, static ones.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Cluster } from "../lab/cluster.ts";
import { imageArchive } from "../lab/image.ts";
import { isReady, type ObservedPod } from "../lab/pods.ts";
import type { TarEntry } from "../lab/tar.ts";
import { until } from "../lab/wait.ts";

export const harvesterNamespace = "harvester-system";
const controllerName = "harvester-vm-dhcp-controller";
const webhookName = `${controllerName}-webhook`;
const image = "lab.local/harvester-vm-dhcp:1";
const programs = ["controller", "webhook", "agent"] as const;
const waiting = { everyMs: 500, timeoutMs: 240_000 };

/** Why the tests cannot run; undefined: the programs are there. */
export function whyNoHarvester(folder = process.env["PEER_HARVESTER_DHCP"] ?? ""): string | undefined {
  if (folder === "") return "PEER_HARVESTER_DHCP names no folder with Harvester's programs (docs/testing.md)";
  const missing = programs.filter((name) => !existsSync(join(folder, name)));
  return missing.length === 0 ? undefined : `${folder} has no ${missing.join(", no ")}`;
}

export class HarvesterPeer {
  readonly #lab: Cluster;

  constructor(lab: Cluster) {
    this.#lab = lab;
  }

  /** Resolves when its webhook answers: it registers a quarter of a minute after its start. */
  async install(folder: string): Promise<void> {
    const programFolder = process.env["PEER_HARVESTER_DHCP"] ?? "";
    const archive = join(folder, "harvester.tar");
    writeFileSync(
      archive,
      imageArchive([{ name: image, entrypoint: ["/bin/agent"], entries: entriesOf(programFolder) }]),
    );
    for (const node of this.#lab.nodes) await node.exec(["ctr", "--namespace=k8s.io", "images", "import", archive]);
    const items = [...accounts(), ...deployments(), webhookService()];
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    await this.#lab.kubectl(["apply", "-f", "-"], { input: list });
    await this.answers();
  }

  async stop(): Promise<void> {
    await this.#scale(0);
    const isGone = async () => (await this.#pods(`app in (${controllerName},${webhookName})`)).length === 0;
    await until(isGone, { what: "Harvester's controller and webhook to go", ...waiting });
  }

  async start(): Promise<void> {
    await this.#scale(1);
    await this.answers();
  }

  /** There is no kube-proxy here, and no controller of endpoints: the API server is told where the webhook is. */
  async answers(): Promise<void> {
    const ready = async () => (await this.#pods(`app=${webhookName}`)).find(isReady)?.status.podIP;
    const address = await until(ready, { what: "Harvester's webhook", ...waiting });
    await this.#lab.rest.apply(
      `/apis/discovery.k8s.io/v1/namespaces/${harvesterNamespace}/endpointslices/${webhookName}`,
      endpoints(address),
    );
    const isRegistered = () => this.#lab.kubectl(["get", "validatingwebhookconfiguration", webhookName]);
    await until(isRegistered, { what: "Harvester's webhook to register", ...waiting });
    // Neither a network nor a pool of this name: its own words prove that it is asked.
    const isAsked = async () =>
      /cannot create IPPool/.test(await this.#lab.kubectl(["create", "-f", "-"], { input: noPool }).catch(String));
    await until(isAsked, { what: "Harvester's webhook to answer", ...waiting });
  }

  async removeWebhooks(): Promise<void> {
    const kinds = "validatingwebhookconfiguration,mutatingwebhookconfiguration";
    await this.#lab.kubectl(["delete", kinds, webhookName]);
  }

  agents(): Promise<ObservedPod[]> {
    return this.#pods("network.harvesterhci.io/vm-dhcp-controller=agent");
  }

  async words(): Promise<string> {
    const logs = ["logs", "-n", harvesterNamespace, "--tail=40", "--prefix"];
    const out = [await this.#lab.kubectl(["get", "pods", "-n", harvesterNamespace, "-o", "wide"])];
    for (const label of [`app=${controllerName}`, "network.harvesterhci.io/vm-dhcp-controller=agent"])
      out.push(await this.#lab.kubectl([...logs, "-l", label]).catch(String));
    return out.join("\n");
  }

  async #pods(selector: string): Promise<ObservedPod[]> {
    const query = `labelSelector=${encodeURIComponent(selector)}`;
    const path = `/api/v1/namespaces/${harvesterNamespace}/pods?${query}`;
    return (await this.#lab.rest.get<{ items: ObservedPod[] }>(path)).items;
  }

  async #scale(replicas: number): Promise<void> {
    const names = [controllerName, webhookName];
    await this.#lab.kubectl(["-n", harvesterNamespace, "scale", "deployment", ...names, `--replicas=${replicas}`]);
  }
}

const noPool = JSON.stringify({
  apiVersion: "network.harvesterhci.io/v1alpha1",
  kind: "IPPool",
  metadata: { name: "none", namespace: "default" },
  spec: { networkName: "default/none", ipv4Config: { cidr: "10.254.0.0/24", serverIP: "10.254.0.2", pool: {} } },
});

/** The shell and `ip` are for the init container that its controller gives its agents. */
function entriesOf(folder: string): TarEntry[] {
  const links = ["sh", "ip"].map((name): TarEntry => ({ kind: "link", path: `bin/${name}`, target: "busybox" }));
  const files = programs.map((name) => [name, join(folder, name)] as const);
  return [
    ...["etc/", "proc/", "sys/", "dev/", "tmp/", "bin/"].map((path): TarEntry => ({ kind: "folder", path })),
    ...[["busybox", "/bin/busybox"] as const, ...files].map(([name, path]): TarEntry => ({
      kind: "file",
      path: `bin/${name}`,
      content: readFileSync(path),
      executable: true,
    })),
    ...links,
  ];
}

function deployments(): object[] {
  const account = (name: string) => ["--service-account-name", name];
  const controller = ["--name", controllerName, "--namespace", harvesterNamespace, "--image", image];
  const webhook = ["--name", webhookName, "--namespace", harvesterNamespace, "--https-port", "8443"];
  return [
    deployment(controllerName, ["/bin/controller", ...controller, ...account(`${controllerName}-agent`)]),
    deployment(webhookName, ["/bin/webhook", ...webhook]),
  ];
}

function deployment(name: string, command: readonly string[]): object {
  const labels = { app: name };
  const spec = {
    serviceAccountName: name,
    terminationGracePeriodSeconds: 5,
    containers: [{ name: "main", image, imagePullPolicy: "Never", command }],
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: harvesterNamespace },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

function webhookService(): object {
  const spec = { clusterIP: "10.96.53.53", ports: [{ name: "https", port: 443, targetPort: 8443 }] };
  const metadata = { name: webhookName, namespace: harvesterNamespace };
  return { apiVersion: "v1", kind: "Service", metadata, spec };
}

function endpoints(address: string): object {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: webhookName,
      namespace: harvesterNamespace,
      labels: { "kubernetes.io/service-name": webhookName },
    },
    addressType: "IPv4",
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: "https", port: 8443, protocol: "TCP" }],
  };
}

/** What its accounts may do in a cluster of Harvester: pods, it makes and deletes in its own namespace only. */
function accounts(): object[] {
  const read = ["get", "list", "watch"];
  const seeing = [
    rule("", ["nodes", "namespaces", "pods"], read),
    rule("kubevirt.io", ["virtualmachines"], read),
    rule("apiextensions.k8s.io", ["customresourcedefinitions"], [...read, "create", "update", "patch"]),
    rule("k8s.cni.cncf.io", ["network-attachment-definitions"], [...read, "update"]),
  ];
  const own = rule("network.harvesterhci.io", ["*"], ["*"]);
  const leases = rule("coordination.k8s.io", ["leases"], [...read, "create", "update"]);
  const certificates = rule("", ["secrets"], [...read, "create", "update"]);
  const hooks = ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"];
  const registering = rule("admissionregistration.k8s.io", hooks, [...read, "create", "update", "patch"]);
  const services = rule("apiregistration.k8s.io", ["apiservices"], read);
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: harvesterNamespace } },
    ...[controllerName, webhookName, `${controllerName}-agent`].map((name) => ({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name, namespace: harvesterNamespace },
    })),
    ...granted(controllerName, [...seeing, own]),
    ...granted(controllerName, [rule("", ["pods"], ["get", "create", "delete"])], harvesterNamespace),
    ...granted(controllerName, [leases], "kube-system"),
    ...granted(webhookName, [...seeing, own, certificates, registering, services]),
    ...granted(`${controllerName}-agent`, [own]),
  ];
}

const rule = (group: string, resources: readonly string[], verbs: readonly string[]) => ({
  apiGroups: [group],
  resources,
  verbs,
});

function granted(account: string, rules: readonly object[], namespace?: string): object[] {
  const [role, binding] = namespace === undefined ? ["ClusterRole", "ClusterRoleBinding"] : ["Role", "RoleBinding"];
  const metadata = { name: account, ...(namespace !== undefined && { namespace }) };
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: role, name: account };
  const subjects = [{ kind: "ServiceAccount", name: account, namespace: harvesterNamespace }];
  return [
    { apiVersion, kind: role, metadata, rules },
    { apiVersion, kind: binding, metadata, roleRef, subjects },
  ];
}
