// Secondary networks through the lab's delegating plugin, on a real node.
import { afterAll, beforeAll, expect, test } from "vitest";

import type { Cluster } from "../lab/cluster.ts";
import { recordsFolder } from "../lab/networks/install.ts";
import type { NetworkStatus } from "../lab/networks/status.ts";
import { ping } from "../lab/ping.ts";
import { type ObservedPod, podSpec } from "../lab/pods.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";

const networks = "k8s.v1.cni.cncf.io/networks";
const networkStatus = "k8s.v1.cni.cncf.io/network-status";

let lab: Cluster;
beforeAll(async () => {
  lab = await cluster({ nodes: 1, networks: { onlyOwnNamespaceAnd: ["default"] }, log: console.error });
  await define("red", "10.70.0.0/24");
  await define("blue", "10.71.0.0/24");
}, coldStartTimeoutMs);
afterAll(() => lab?.stop());

async function define(name: string, subnet: string, namespace = "default", type = "bridge"): Promise<void> {
  const plugin = {
    type,
    bridge: `br-${name}`,
    capabilities: { ips: true, mac: true },
    ipam: { type: "host-local", ranges: [[{ subnet }]] },
  };
  const config = JSON.stringify({ cniVersion: "1.0.0", name, plugins: [plugin, { type: "tuning" }] });
  await lab.rest.create(`/apis/k8s.cni.cncf.io/v1/namespaces/${namespace}/network-attachment-definitions`, {
    apiVersion: "k8s.cni.cncf.io/v1",
    kind: "NetworkAttachmentDefinition",
    metadata: { name, namespace },
    spec: { config },
  });
}

const podsOf = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;

async function create(name: string, wanted: string, namespace = "default"): Promise<void> {
  const metadata = { name, annotations: { [networks]: wanted } };
  await lab.rest.create(podsOf(namespace), { metadata, spec: podSpec(["sleep", "infinity"]) });
}

const running = (name: string) =>
  until(
    async () => {
      const pod = await lab.rest.get<ObservedPod>(`${podsOf("default")}/${name}`);
      return pod.status.phase === "Running" && pod;
    },
    { what: `pod ${name} to run`, everyMs: 200 },
  );

/** What kubelet says about why a pod has no sandbox. */
const refusal = (name: string, namespace = "default") =>
  until(
    async () => {
      const query = `fieldSelector=reason=FailedCreatePodSandBox,involvedObject.name=${name}`;
      const { items } = await lab.rest.get<{ items: { message: string }[] }>(
        `/api/v1/namespaces/${namespace}/events?${query}`,
      );
      return items[0]?.message;
    },
    { what: `an event about ${name}`, everyMs: 200 },
  );

/** What the plugin keeps of sandboxes that are there. */
const records = async () => {
  const found = await lab.nodes[0]!.exec(["find", recordsFolder, "-type", "f"]);
  return found.trim().split("\n").filter(Boolean);
};

const statusOf = ({ metadata }: ObservedPod) =>
  JSON.parse(metadata.annotations?.[networkStatus] ?? "[]") as NetworkStatus[];

test("a pod with two secondary networks has working interfaces, and its status tells", async () => {
  await create(
    "both",
    JSON.stringify([
      { name: "red", ips: ["10.70.0.77/24"], mac: "02:00:00:00:00:77" },
      { name: "blue", namespace: "default", interface: "blue0" },
    ]),
  );
  await create("peer", "red,default/blue@eth7");
  const [both, peer] = [await running("both"), await running("peer")];
  expect(statusOf(both)).toMatchObject([
    { name: "lab", interface: "eth0", default: true, ips: [both.status.podIP] },
    { name: "default/red", interface: "net1", ips: ["10.70.0.77"], mac: "02:00:00:00:00:77" },
    { name: "default/blue", interface: "blue0", ips: [expect.stringMatching(/^10\.71\.0\./)] },
  ]);
  expect(statusOf(peer).map((each) => each.interface)).toEqual(["eth0", "net1", "eth7"]);

  const link = await lab.kubectl(["exec", "both", "--", "ip", "addr", "show", "net1"]);
  expect(link).toContain("02:00:00:00:00:77");
  expect(link).toContain("inet 10.70.0.77/24");
  for (const { ips, interface: from } of statusOf(both).slice(1)) {
    const target = statusOf(peer).find(({ name }) => name === (from === "net1" ? "default/red" : "default/blue"))!;
    expect(ips).not.toEqual(target.ips);
    await ping(lab, "both", from, target.ips![0]!);
  }
});

test("a deleted pod gives everything back, without asking the API server what it had", async () => {
  const [node] = lab.nodes;
  const held = async () => (await node!.exec(["ls", "/var/lib/cni/networks/red"])).split("\n");
  expect(await held()).toContain("10.70.0.77");
  // For each pod which networks it has, and the result of each of the three.
  expect(await records()).toHaveLength(2 * (1 + 3));
  await lab.rest.delete("/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions/red");
  await lab.rest.delete(`${podsOf("default")}/both`);
  await lab.rest.delete(`${podsOf("default")}/peer`);
  await until(async () => (await records()).length === 0, { what: "the records to go", everyMs: 200 });
  expect((await held()).filter((name) => /^\d/.test(name))).toEqual([]);
});

test("a network that fails leaves nothing of those before it", async () => {
  await define("broken", "10.72.0.0/24", "default", "no-such-plugin");
  await create("unlucky", "blue,broken");
  expect(await refusal("unlucky")).toContain('failed to find plugin "no-such-plugin"');
  await lab.rest.delete(`${podsOf("default")}/unlucky`);
  const held = async () => (await lab.nodes[0]!.exec(["ls", "/var/lib/cni/networks/blue"])).split("\n");
  await until(async () => !(await held()).some((name) => /^\d/.test(name)), { what: "blue to be free again" });
});

test("a pod may not use another namespace's network, save those that are for all", async () => {
  await lab.rest.create("/api/v1/namespaces", { metadata: { name: "tenant" } });
  await until(() => lab.rest.get("/api/v1/namespaces/tenant/serviceaccounts/default"), { what: "the service account" });
  await define("secret", "10.73.0.0/24", "tenant");
  await create("intruder", "tenant/secret");
  expect(await refusal("intruder")).toMatch(/namespace isolation enabled.*target namespace tenant/);
  await create("guest", "default/blue", "tenant");
  await until(async () => (await lab.rest.get<ObservedPod>(`${podsOf("tenant")}/guest`)).status.phase === "Running", {
    what: "the guest to run",
    everyMs: 200,
  });
});
