// Managed DHCP as it is installed, on two real nodes: deploy/ with its image, a pool, and agents that real schedulers
// place and real kubelets run on a network of both nodes. busybox udhcpc in pods plays the guests: it obtains what the
// holds say, from either node, while agents are killed and rolled. One story, in order.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest";

import { buildImage } from "../../tools/image/build.ts";
import { ensureShim } from "../../tools/shim/ensure.ts";
import type { Cluster } from "../lab/cluster.ts";
import { isReady, type ObservedPod, podSpec } from "../lab/pods.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";

const deploy = join(import.meta.dirname, "..", "..", "deploy");
const group = "/apis/network.harvesterhci.io/v1alpha1/namespaces/default";
const pods = "/api/v1/namespaces/default/pods";
const guests = ["guest1", "guest2"] as const;
/** On two idle cores a step takes seconds; ten times that for a busy machine. */
const storyMs = 300_000;
const waiting = { everyMs: 500, timeoutMs: 240_000 };

let folder: string;
let lab: Cluster;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-agents-"));
  const log = console.error;
  lab = await cluster({ nodes: 2, log });
  const native = (await ensureShim({ native: true, log })).path;
  const fallback = (await ensureShim({ native: false, log })).path;
  const archive = join(folder, "image.tar");
  writeFileSync(archive, (await buildImage({ shims: { native, fallback } })).archive);
  for (const node of lab.nodes) await node.exec(["ctr", "--namespace=k8s.io", "images", "import", archive]);
  const files = ["managed-dhcp/crds.yaml", "managed-dhcp/rights.yaml", "holdfast.yaml"];
  await lab.kubectl(["apply", ...files.flatMap((file) => ["-f", join(deploy, file)])]);
  for (const node of lab.nodes)
    await lab.kubectl(["label", "node", node.name, "network.harvesterhci.io/provider=true"]);
}, coldStartTimeoutMs);
afterAll(async () => {
  await lab?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Pool {
  readonly status?: {
    readonly agentPodRef?: { readonly name: string };
    readonly ipv4?: { readonly used?: number };
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
  };
}

interface Config {
  readonly status?: { readonly networkConfigs?: readonly { readonly allocatedIPAddress?: string }[] };
}

const poolNow = () => lab.rest.get<Pool>(`${group}/ippools/net`);

async function agents(pool = "net"): Promise<ObservedPod[]> {
  const selector = encodeURIComponent(`network.harvesterhci.io/ippool-name=${pool}`);
  return (await lab.rest.get<{ items: ObservedPod[] }>(`/api/v1/namespaces/kube-system/pods?labelSelector=${selector}`))
    .items;
}

function readyAgents(count: number, pool?: string): Promise<ObservedPod[]> {
  const ask = async () => {
    const all = await agents(pool);
    return all.length === count && all.every(isReady) && all;
  };
  return until(ask, { what: `${count} agents that are ready`, ...waiting });
}

const explain = async () => {
  const out = [await lab.kubectl(["get", "ippl,vmnetcfg,holds", "-A", "-o", "wide"])];
  out.push(
    await lab.kubectl([
      "describe",
      "pods",
      "-n",
      "kube-system",
      "-l",
      "network.harvesterhci.io/vm-dhcp-controller=agent",
    ]),
  );
  for (const { metadata } of await agents())
    out.push(await lab.kubectl(["logs", "-n", "kube-system", metadata.name, "--tail=30"]));
  out.push(await lab.kubectl(["logs", "-n", "kube-system", "deployment/holdfast-controller", "--tail=40"]));
  return out.join("\n");
};

/** What the guest obtains, with busybox's client: DISCOVER, OFFER, REQUEST, ACK. It leaves the interface alone. */
async function obtained(guest: string, nic = "net1"): Promise<string> {
  const client = ["udhcpc", "-i", nic, "-n", "-q", "-f", "-t", "5", "-T", "2", "-s", "/bin/true"];
  const printed = await lab.kubectl(["exec", guest, "--", "sh", "-c", `${client.join(" ")} 2>&1`]);
  return /lease of ([\d.]+) obtained from ([\d.]+)/.exec(printed)?.slice(1, 3).join(" from ") ?? printed;
}

const harvesterPods = "/api/v1/namespaces/harvester-system/pods";

/** A bare pod with its labels, as its controller leaves it behind. */
async function leaveHarvesterAgent(): Promise<void> {
  await lab.kubectl(["create", "namespace", "harvester-system"]);
  await lab.kubectl(["apply", "-f", join(deploy, "managed-dhcp", "takeover.yaml")]);
  const labels = {
    "network.harvesterhci.io/vm-dhcp-controller": "agent",
    "network.harvesterhci.io/ippool-namespace": "default",
    "network.harvesterhci.io/ippool-name": "net",
  };
  const spec = podSpec(["sleep", "infinity"]);
  await lab.rest.create(harvesterPods, { metadata: { name: "default-net-agent", labels }, spec });
}

const addresses = new Map<string, string>();
const expected = (guest: string) => `${addresses.get(guest)?.split("/")[0]} from 10.80.0.2`;

test("a pool gets two agents on two nodes, and says so; Harvester's agent goes", { timeout: storyMs }, async () => {
  onTestFailed(async () => console.error(await explain()));
  await lab.kubectl(["rollout", "status", "deployment/holdfast-controller", "-n", "kube-system", "--timeout=200s"]);
  const config = { cniVersion: "1.0.0", name: "net", type: "macvlan", master: "eth0", mode: "bridge" };
  await lab.rest.create("/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions", {
    apiVersion: "k8s.cni.cncf.io/v1",
    kind: "NetworkAttachmentDefinition",
    metadata: { name: "net", labels: { "network.harvesterhci.io/clusternetwork": "provider" } },
    spec: { config: JSON.stringify(config) },
  });
  await leaveHarvesterAgent();
  await lab.rest.create(`${group}/ippools`, {
    apiVersion: "network.harvesterhci.io/v1alpha1",
    kind: "IPPool",
    metadata: { name: "net" },
    spec: {
      networkName: "default/net",
      ipv4Config: {
        cidr: "10.80.0.0/24",
        serverIP: "10.80.0.2",
        pool: { start: "10.80.0.10", end: "10.80.0.99" },
        leaseTime: 60,
      },
    },
  });
  const found = await readyAgents(2);
  expect(new Set(found.map(({ spec }) => spec.nodeName)).size).toBe(2);
  const names = found.map(({ metadata }) => metadata.name);
  const isReadyNow = async () => {
    const { status } = await poolNow();
    const ready = status?.conditions?.find(({ type }) => type === "AgentReady")?.status === "True";
    return ready && status?.agentPodRef?.name;
  };
  expect(names).toContain(await until(isReadyNow, { what: "AgentReady and the holder", ...waiting }));
  const isGone = async () => (await lab.rest.get<{ items: object[] }>(harvesterPods)).items.length === 0;
  await until(isGone, { what: "Harvester's agent to go, with the rights of takeover.yaml", ...waiting });
});

test("guests on both nodes obtain the addresses that they hold", { timeout: storyMs }, async () => {
  onTestFailed(async () => console.error(await explain()));
  for (const [index, name] of guests.entries()) {
    const metadata = { name, annotations: { "k8s.v1.cni.cncf.io/networks": "net" } };
    const nodeName = lab.nodes[index]!.name;
    await lab.rest.create(pods, { metadata, spec: { ...podSpec(["sleep", "infinity"]), nodeName } });
  }
  for (const name of guests) {
    await until(async () => isReady(await lab.rest.get<ObservedPod>(`${pods}/${name}`)), { what: name, ...waiting });
    const macAddress = (await lab.kubectl(["exec", name, "--", "cat", "/sys/class/net/net1/address"])).trim();
    await lab.rest.create(`${group}/virtualmachinenetworkconfigs`, {
      apiVersion: "network.harvesterhci.io/v1alpha1",
      kind: "VirtualMachineNetworkConfig",
      metadata: { name },
      spec: { vmName: name, networkConfigs: [{ networkName: "default/net", macAddress }] },
    });
    const allocated = async () =>
      (await lab.rest.get<Config>(`${group}/virtualmachinenetworkconfigs/${name}`)).status?.networkConfigs?.[0]
        ?.allocatedIPAddress;
    addresses.set(name, await until(allocated, { what: `an address for ${name}`, ...waiting }));
  }
  for (const guest of guests) expect(await obtained(guest)).toBe(expected(guest));
});

test("an agent that is killed leaves no gap, and its successor is named", { timeout: storyMs }, async () => {
  onTestFailed(async () => console.error(await explain()));
  const holder = (await poolNow()).status?.agentPodRef?.name ?? "";
  await lab.kubectl(["delete", "pod", "-n", "kube-system", holder, "--force", "--grace-period=0"]);
  for (const guest of guests) expect(await obtained(guest)).toBe(expected(guest));
  const next = async () => {
    const name = (await poolNow()).status?.agentPodRef?.name;
    return name !== holder && name;
  };
  const successor = await until(next, { what: "another holder", ...waiting });
  expect((await readyAgents(2)).map(({ metadata }) => metadata.name)).toContain(successor);
});

test("a rolling update leaves no gap", { timeout: storyMs }, async () => {
  onTestFailed(async () => console.error(await explain()));
  const before = new Set((await readyAgents(2)).map(({ metadata }) => metadata.name));
  await lab.kubectl(["rollout", "restart", "deployment/default-net-agent", "-n", "kube-system"]);
  const heard: string[] = [];
  const wanted: string[] = [];
  await until(
    async () => {
      for (const guest of guests) {
        wanted.push(expected(guest));
        heard.push(await obtained(guest).catch((error: Error) => error.message));
      }
      const all = await agents();
      return all.length === 2 && all.every((pod) => isReady(pod) && !before.has(pod.metadata.name));
    },
    { what: "two new agents", ...waiting },
  );
  expect(heard).toEqual(wanted);
});

/** Step 11 of the test plan of Harvester's design, its second network as it stands there; `net` is the first. */
test("a VM with two NICs, one on a network of tainted control-plane nodes alone", { timeout: storyMs }, async () => {
  onTestFailed(async () => console.error(await explain()));
  const [first] = lab.nodes;
  await lab.kubectl(["label", "node", first!.name, "network.harvesterhci.io/provider-cp=true"]);
  await lab.kubectl(["taint", "node", first!.name, "node-role.kubernetes.io/control-plane=:NoSchedule"]);
  // In the place of a VLAN: a link of its own, which no other node has.
  await first!.exec(["ip", "link", "add", "cp0", "type", "bridge"]);
  await first!.exec(["ip", "link", "set", "cp0", "up"]);
  const config = { cniVersion: "1.0.0", name: "priv-net-cp", type: "macvlan", master: "cp0", mode: "bridge" };
  await lab.rest.create("/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions", {
    apiVersion: "k8s.cni.cncf.io/v1",
    kind: "NetworkAttachmentDefinition",
    metadata: { name: "priv-net-cp", labels: { "network.harvesterhci.io/clusternetwork": "provider-cp" } },
    spec: { config: JSON.stringify(config) },
  });
  const beside = { start: "172.19.100.10", end: "172.19.100.14", pool: null };
  await lab.rest.create(`${group}/ippools`, {
    apiVersion: "network.harvesterhci.io/v1alpha1",
    kind: "IPPool",
    metadata: { name: "priv-net-cp", annotations: { "holdfast.io/agent-replicas": "1" } },
    spec: {
      ipv4Config: { serverIP: "172.19.100.2", cidr: "172.19.100.0/28", ...beside, leaseTime: 300 },
      networkName: "default/priv-net-cp",
    },
  });
  const annotations = { "k8s.v1.cni.cncf.io/networks": "net,priv-net-cp" };
  const guest = { ...podSpec(["sleep", "infinity"]), nodeName: first!.name };
  await lab.rest.create(pods, { metadata: { name: "test-vm", annotations }, spec: guest });
  await until(async () => isReady(await lab.rest.get<ObservedPod>(`${pods}/test-vm`)), { what: "test-vm", ...waiting });
  const macs = (await lab.kubectl(["exec", "test-vm", "--", "cat", ...["net1", "net2"].map(addressFile)])).split("\n");
  const networks = ["default/net", "default/priv-net-cp"];
  const networkConfigs = networks.map((networkName, index) => ({ networkName, macAddress: macs[index]?.trim() }));
  await lab.rest.create(`${group}/virtualmachinenetworkconfigs`, {
    apiVersion: "network.harvesterhci.io/v1alpha1",
    kind: "VirtualMachineNetworkConfig",
    metadata: { name: "test-vm" },
    spec: { vmName: "test-vm", networkConfigs },
  });

  const [agent, ...others] = await readyAgents(1, "priv-net-cp");
  expect([agent?.spec.nodeName, agent?.metadata.name.startsWith("default-priv-net-cp-agent"), others]).toEqual([
    first!.name,
    true,
    [],
  ]);
  const nics = async () => {
    const { status } = await lab.rest.get<Config>(`${group}/virtualmachinenetworkconfigs/test-vm`);
    const all = status?.networkConfigs?.map(({ allocatedIPAddress = "" }) => allocatedIPAddress) ?? [];
    return all.length === 2 && all.every((address) => address !== "") && all;
  };
  const [onNet = "", onControlPlane = ""] = await until(nics, { what: "two addresses", ...waiting });
  expect([onNet, onControlPlane].join(" ")).toMatch(/^10\.80\.0\.\d+ 172\.19\.100\.1[0-4]$/);
  const shown = async () => (await lab.rest.get<Pool>(`${group}/ippools/priv-net-cp`)).status?.ipv4;
  const isShown = async () => ((await shown())?.used === 1 ? shown() : undefined);
  expect(await until(isShown, { what: "the pool's status", ...waiting })).toEqual({
    allocated: { [onControlPlane]: networkConfigs[1]?.macAddress },
    used: 1,
    available: 4,
  });
  const served = { net1: `${onNet} from 10.80.0.2`, net2: `${onControlPlane} from 172.19.100.2` };
  for (const [nic, wanted] of Object.entries(served))
    await until(async () => (await obtained("test-vm", nic)) === wanted, { what: `${nic} to obtain`, ...waiting });

  await lab.kubectl(["delete", "vmnetcfg", "test-vm", "--wait=true", "--timeout=100s"]);
  await lab.kubectl(["delete", "ippools.network.harvesterhci.io", "priv-net-cp", "--wait=true", "--timeout=200s"]);
});

const addressFile = (nic: string) => `/sys/class/net/${nic}/address`;

test("a pool that nobody uses any more goes, and takes its agents along", { timeout: storyMs }, async () => {
  onTestFailed(async () => console.error(await explain()));
  await lab.kubectl(["delete", "vmnetcfg", ...guests, "--wait=true", "--timeout=100s"]);
  await lab.kubectl(["delete", "ippools.network.harvesterhci.io", "net", "--wait=true", "--timeout=200s"]);
  await until(async () => (await agents()).length === 0, { what: "the agents to go", ...waiting });
  const { metadata } = await lab.rest.get<{ metadata: { labels?: Record<string, string> } }>(
    "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions/net",
  );
  expect(metadata.labels).toEqual({ "network.harvesterhci.io/clusternetwork": "provider" });
});
