// The guest cluster of the test plan of managed DHCP's design document: three VMs as Rancher's node driver makes them
// on a Harvester cluster get their addresses by DHCP and become a Kubernetes of their own, which is there for everybody
// at these addresses. Real: both API servers with their etcd, agents as processes, busybox udhcpc, kubectl. Played: VMs
// are namespaces with the VMs' MACs, and a node joins by its Node object, without a kubelet; Rancher is kubectl.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest";

import { definitionOf } from "../../src/api/definition.ts";
import { managedDhcpKinds } from "../../src/api/kinds.ts";
import { macAnnotation } from "../../src/api/vmnet/marks.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { type AgentProcess, type Client, ClientHosts } from "../agent/clients-lab.ts";
import { kubevirtCrds } from "../claims/kubevirt/crds.ts";
import { Wire } from "../kernel/wire.ts";
import type { Cluster } from "../lab/cluster.ts";
import { run } from "../lab/command.ts";
import { writeKubeconfig } from "../lab/credentials.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { Fixture, isTrue } from "./leader-fixture.ts";

const timeout = 240_000;
const space = "default";
const nodes = ["rke2-pool1-0", "rke2-pool1-1", "rke2-pool1-2"] as const;
const hostOf = (index: number) => `vm${index}`;
const macOf = (index: number) => `02:00:00:00:48:0${index}`;

/** Step 4, word for word. */
const poolText = `
apiVersion: network.harvesterhci.io/v1alpha1
kind: IPPool
metadata:
  name: provider-net
  namespace: default
spec:
  ipv4Config:
    serverIP: 192.168.48.2
    cidr: 192.168.48.0/24
    pool:
    start: 192.168.48.81
    end: 192.168.48.90
    leaseTime: 600
  networkName: default/provider-net
`;

let folder: string;
let harvester: Cluster;
let fixture: Fixture;
let hosts: ClientHosts;
let agents: readonly AgentProcess[];
let guest: Cluster | undefined;
const clients: Client[] = [];
const addresses: string[] = [];
const toClose: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-guest-cluster-"));
  harvester = await cluster({ definitions: [...kubevirtCrds, ...managedDhcpKinds.map(definitionOf)] });
  const connection = connect(await loadKubeconfig({ path: harvester.kubeconfig, context: undefined }));
  const stop = async () => {
    await connection[Symbol.asyncDispose]();
    await harvester.stop();
  };
  fixture = await Fixture.open({ transport: connection.transport, stop });
  fixture.lead();
  const wire = await Wire.of(
    ["a", "b", "rancher", ...nodes.map((_, index) => hostOf(index))].map((name) => ({ name })),
  );
  hosts = new ClientHosts(wire, folder, ["--kubeconfig", harvester.kubeconfig, "--pool", "default/provider-net=eth0"]);
  toClose.push(
    () => hosts.close(),
    () => fixture.close(),
  );
}, coldStartTimeoutMs);
afterAll(async () => {
  await guest?.stop();
  for (const close of toClose) await close();
  rmSync(folder, { recursive: true, force: true });
});

const explain = () => console.error(agents?.map(({ printed }) => printed).join("\n"));

test("steps 1 to 4: the VM network and its pool, as the document writes it", { timeout }, async () => {
  onTestFailed(explain);
  await fixture.network("provider-net", space, { bridge: "provider-br", vlan: 1, ipam: {} });
  await harvester.kubectl(["apply", "-f", "-"], { input: poolText });
  await fixture.poolIs("provider-net", "registered", (pool) => isTrue(pool, "Registered"), space);
  agents = [hosts.agent("a"), hosts.agent("b")];
  await until(async () => agents.some(({ printed }) => printed.includes("answering at the server's address")), {
    what: "an agent at the server's address",
  });
});

test(
  "step 5: three VMs at once, with the MACs that Harvester notes, obtain what their configs say",
  { timeout },
  async () => {
    onTestFailed(explain);
    await Promise.all(
      nodes.map(async (name, index) => {
        const mac = { [macAnnotation]: JSON.stringify({ nic0: macOf(index) }) };
        await fixture.vm(name, [{ network: "provider-net" }], mac, space);
        const config = await fixture.configIs(name, "allocated", (each) => isTrue(each, "Allocated"), space);
        addresses[index] = config.status!.networkConfigs![0]!.allocatedIPAddress ?? "";
      }),
    );
    for (const [index, address] of addresses.entries()) {
      expect(address).toMatch(/^192\.168\.48\.(8[1-9]|90)$/);
      await hosts.wire.ip(hostOf(index), "link", "set", "eth0", "down", "address", macOf(index), "up");
      await hosts.wire.ip(hostOf(index), "link", "set", "lo", "up");
      clients.push(hosts.client("udhcpc", hostOf(index)));
    }
    expect(new Set(addresses).size).toBe(3);
    for (const [index, client] of clients.entries()) await client.has(addresses[index]!);
    const { status } = await fixture.poolIs("provider-net", "in use", (pool) => pool.status?.ipv4?.used === 3, space);
    expect(status!.ipv4).toMatchObject({
      allocated: Object.fromEntries(addresses.map((address, index) => [address, macOf(index)])),
      available: 7,
    });
  },
);

/** kubectl of the guest cluster, as it is reached from a host of the network by the first node's address. */
function guestKubectl(host: string, ...words: readonly string[]): Promise<string> {
  const { ca, token } = guest!.access;
  const file = writeKubeconfig(join(folder, "guest.kubeconfig"), { url: `https://${addresses[0]}:443`, ca, token });
  const inside = ["nsenter", `--net=${hosts.wire.netns(host)}`, "--", guest!.binaries.path("kubectl")];
  return run([...inside, `--kubeconfig=${file}`, "--request-timeout=20s", ...words]);
}

function write(name: string, object: object): string {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify(object));
  return path;
}

const known = async (host: string) => {
  const template = "-o=jsonpath={range .items[*]}{.metadata.name} {.status.addresses[0].address}{'\\n'}{end}";
  return (await guestKubectl(host, "get", "nodes", template)).trim().split("\n").toSorted();
};
const expected = () => nodes.map((name, index) => `${name} ${addresses[index]}`);

test("step 6: they are a cluster at these addresses, for its nodes and for Rancher", { timeout }, async () => {
  onTestFailed(explain);
  guest = await cluster({ within: { netns: hosts.wire.netns(hostOf(0)), address: addresses[0]! } });
  await hosts.wire.ip("rancher", "address", "add", "192.168.48.250/24", "dev", "eth0");
  for (const [index, name] of nodes.entries()) {
    // What a kubelet does: each node, from where it is.
    const status = { addresses: [{ type: "InternalIP", address: addresses[index] }] };
    const node = { apiVersion: "v1", kind: "Node", metadata: { name }, status };
    await guestKubectl(hostOf(index), "create", "--raw", "/api/v1/nodes", "-f", write(`node-${index}`, node));
  }
  for (const host of [hostOf(0), hostOf(2), "rancher"]) expect(await known(host)).toEqual(expected());
});

test("the cluster outlives the agent that its nodes renew at, and a node that starts anew", { timeout }, async () => {
  onTestFailed(explain);
  const holder = agents.find(({ printed }) => printed.includes("answering at the server's address"))!;
  const other = agents.find((agent) => agent !== holder)!;
  await holder.end("SIGKILL");
  await other.says("answering at the server's address");
  for (const client of clients) await client.renews(1);
  await clients[2]!.end();
  await hosts.wire.ip(hostOf(2), "address", "flush", "dev", "eth0");
  clients[2] = hosts.client("udhcpc", hostOf(2));
  await clients[2].has(addresses[2]!);
  expect(await known(hostOf(2))).toEqual(expected());
  expect(clients.flatMap(({ losses }) => losses)).toEqual([]);
});

test("when Rancher deletes the cluster its VMs' addresses are released", { timeout }, async () => {
  for (const name of nodes) await fixture.remove(kinds.virtualMachines, name, "Background", space);
  for (const name of nodes) await fixture.goes(kinds.networkConfigs, name, space);
  await fixture.poolIs("provider-net", "empty", (pool) => pool.status?.ipv4?.used === 0, space);
});
