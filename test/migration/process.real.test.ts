// The controller as a process, under the rights of deploy/, on the real kube-apiserver and a real ovsdb-server: a VM of
// the played KubeVirt migrates, and the rows follow; killed in the middle and started again it goes on from the pods.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { afterAll, beforeAll, beforeEach, expect, it, onTestFailed } from "vitest";

import { nodes, type Pod, pods } from "../../src/cluster/resources.ts";
import { connect, type Connection } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import type { ObjectName } from "../../src/kube/meta.ts";
import { applyDeployment, controllerKubeconfig } from "../claims/deployed.ts";
import { kubevirtCrds } from "../claims/kubevirt/crds.ts";
import type { Machine } from "../claims/kubevirt/machine.ts";
import type { Cluster } from "../lab/cluster.ts";
import { writeKubeconfig } from "../lab/credentials.ts";
import { holdfastCommand } from "../lab/holdfast/launch.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { Central } from "../ovn/central.ts";
import { Fixture, networksAnnotation } from "./fixture.ts";

const ip = "10.244.1.4";
/** As the plugin that attaches the first pod says it. */
const network = { ip_addresses: [`${ip}/24`], mac_address: "0a:58:0a:f4:01:04", role: "primary" };
const stamp = { "kubevirt.io/migration-target-ready-timestamp": "2026-11-15 04:34:18 +0000 UTC" };

let lab: Cluster;
let connection: Connection;
let central: Central;
let f: Fixture;
let controller: ChildProcess | undefined;
let said = "";
beforeAll(async () => {
  [lab, central] = await Promise.all([
    cluster({ definitions: [...kubevirtCrds] }),
    Central.start(["chassis-n1", "chassis-n2", "chassis-n3"]),
  ]);
  await applyDeployment(lab);
  await lab.kubectl(["apply", "-f", join(import.meta.dirname, "..", "..", "deploy", "ovn", "rights.yaml")]);
  await lab.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
  connection = connect(await loadKubeconfig({ path: lab.kubeconfig, context: undefined }));
  f = await Fixture.open({ transport: connection.transport, stop: async () => {} });
  for (const digit of [1, 2, 3]) {
    const annotations = { "k8s.ovn.org/node-chassis-id": `chassis-n${digit}` };
    await f.client.patch(nodes, { name: `n${digit}` }, { type: "merge", body: { metadata: { annotations } } });
  }
}, coldStartTimeoutMs);
afterAll(async () => {
  await stop();
  await f?.close();
  await connection?.[Symbol.asyncDispose]();
  await central?.[Symbol.asyncDispose]();
  await lab?.stop();
}, 60_000);
beforeEach(() => onTestFailed(() => console.error(said.slice(-4000))));

async function start(): Promise<void> {
  const flags = [
    "--metrics-port=0",
    "--metrics-host=127.0.0.1",
    "--no-leader-elect",
    "--log-format=text",
    "--log-level=debug",
  ];
  const ovn = [`--ovn-northbound=${central.unix}`, "--ovn-cluster-subnets=10.244.0.0/16/24,fd10:244::/48/64"];
  const kubeconfig = await controllerKubeconfig(lab);
  const [program = "", ...args] = holdfastCommand("controller", "--kubeconfig", kubeconfig, ...flags, ...ovn);
  controller = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  controller.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
}

async function stop(): Promise<void> {
  if (controller === undefined) return;
  const ended = once(controller, "exit");
  controller.kill("SIGKILL");
  await ended;
  controller = undefined;
}

async function found(table: string, columns: string, where: string): Promise<string[]> {
  const form = ["--format=csv", "--data=bare", "--no-headings", `--columns=${columns}`];
  return (await central.nbctl(...form, "find", table, where)).split("\n").filter(Boolean).sort();
}

/** How many of the VM's ports there are, how many answer, and by which port the cluster router sends to it. */
async function place(): Promise<string> {
  const ports = await found("Logical_Switch_Port", "name,addresses", 'external_ids:"k8s.ovn.org/vm"=vm1');
  const route = await found("Logical_Router_Static_Route", "output_port", `ip_prefix="${ip}"`);
  return `${ports.filter((each) => each.includes(ip)).length} of ${ports.length} ${route.join() || "at home"}`;
}

async function shows(row: string): Promise<void> {
  let last = "";
  const ask = async () => (last = await place()) === row;
  await until(ask, { what: `the rows to be ${row}`, timeoutMs: 60_000 }).catch((error: unknown) => {
    throw new Error(`the rows are ${last}, not ${row}`, { cause: error });
  });
}

/** Says its address on a pod by an account that may: the controller's. */
async function attached(at: ObjectName): Promise<void> {
  await using as = connect(await loadKubeconfig({ path: await controllerKubeconfig(lab), context: undefined }));
  const annotations = { [networksAnnotation]: JSON.stringify({ default: network }) };
  const body = { metadata: { annotations } };
  await as.client.patch(pods, at, { type: "merge", body }, { subresource: "status" });
}

let vm: Machine;

it("a VM gets its rows, moves, and they follow", { timeout: 180_000 }, async () => {
  await start();
  const annotations = { "kubevirt.io/allow-pod-bridge-network-live-migration": "" };
  vm = await f.kubevirt.create({ namespace: "default", name: "vm1", nics: [], annotations });
  expect(await f.kubevirt.start(vm)).toBe(true);
  await attached(vm.instance!.active.at);
  await shows("1 of 1 at home");
  const { target } = await f.migrated(vm, "n2");
  await shows("1 of 1 rtos-n2");
  expect((await f.annotationsOf(target))[networksAnnotation]).toContain(ip);
  const receipt = async () => (await f.annotationsOf(target))["holdfast.io/migration-receipt"];
  const text = await until(receipt, { what: "the receipt" });
  expect(JSON.parse(text)).toMatchObject({ end: "succeeded", from: { node: "n1" }, to: { node: "n2" } });
});

it("nobody else says what the address of a pod is: a tenant's pod does not take the VM's", async () => {
  const spec = { containers: [{ name: "c", image: "i" }], automountServiceAccountToken: false };
  const labels = { "kubevirt.io": "virt-launcher" };
  const says = (annotations: Record<string, string>) => ({
    metadata: { name: "virt-launcher-thief", namespace: "default", labels, annotations },
    spec: spec as Pod["spec"] & object,
  });
  const address = { [networksAnnotation]: JSON.stringify({ default: network }) };
  const refusal = async (write: Promise<unknown>) =>
    await write.then(
      () => "done",
      (error: unknown) => String(error),
    );
  expect(await refusal(f.client.create(pods, says(address)))).toContain("Only Holdfast says which address");
  const thief = await f.client.create(pods, says({ "kubevirt.io/domain": "thief" }));
  for (const annotations of [address, { "holdfast.io/address-since": "1970-01-01T00:00:00Z" }]) {
    const write = f.client.patch(pods, thief.metadata as ObjectName, {
      type: "merge",
      body: { metadata: { annotations } },
    });
    expect(await refusal(write)).toContain("Only Holdfast says which address");
  }
  const own = { metadata: { annotations: { "kubevirt.io/domain": "another" } } };
  expect(await refusal(f.client.patch(pods, thief.metadata as ObjectName, { type: "merge", body: own }))).toBe("done");
  await f.client.delete(pods, thief.metadata as ObjectName, { gracePeriodSeconds: 0 });
});

it("killed with a target that waits, it finds the guest moved when it is back", { timeout: 180_000 }, async () => {
  // Creations are told in whole seconds, and no two migrations of a VM are of one.
  const { metadata } = await f.client.get(pods, vm.instance!.active.at);
  const nextMs = Date.parse(metadata.creationTimestamp!) + 1000;
  await until(async () => Date.now() >= nextMs, { what: "the next second" });
  const migration = await f.begun(vm, "n3");
  await shows("1 of 2 rtos-n2");
  await stop();
  await f.annotate(migration.target, stamp);
  // Nobody writes while it is away, and a hand takes the way to the VM.
  await central.nbctl("lr-route-del", "ovn_cluster_router", ip);
  expect(await place()).toBe("1 of 2 at home");
  await start();
  await shows("1 of 2 rtos-n3");
  await migration.succeed();
  await shows("1 of 1 rtos-n3");
});

it("the rights are no more than it needs: neither a Node's taints nor a pod's phase", async () => {
  await using as = connect(await loadKubeconfig({ path: await controllerKubeconfig(lab), context: undefined }));
  const refusal = async (write: Promise<unknown>) =>
    await write.then(
      () => "done",
      (error: unknown) => String(error),
    );
  const label = { metadata: { labels: { x: "y" } } };
  const note = { metadata: { annotations: { x: "y" } } };
  for (const body of [{ spec: { taints: [{ key: "x", effect: "NoSchedule" }] } }, label, note])
    expect(await refusal(as.client.patch(nodes, { name: "n1" }, { type: "merge", body }))).toContain(
      "annotations only",
    );
  const { at } = vm.instance!.active;
  for (const body of [{ status: { phase: "Failed" } }, label, note])
    expect(await refusal(as.client.patch(pods, at, { type: "merge", body }, { subresource: "status" }))).toContain(
      "annotations only",
    );
  const body = { metadata: { annotations: { "k8s.ovn.org/node-id": "2" } } };
  expect(await refusal(as.client.patch(nodes, { name: "n1" }, { type: "merge", body }))).toBe("done");
});

it("a node's daemon writes two annotations of its own Node, two of its own pods, and nothing of others", async () => {
  const token = await boundToken("n1");
  await using as = connect(await loadKubeconfig({ path: writeKubeconfig(join(lab.folder, "node.kubeconfig"), token) }));
  const { client } = as;
  const refusal = async (write: Promise<unknown>) =>
    await write.then(
      () => "done",
      (error: unknown) => String(error),
    );
  const noting = (key: string) => ({ type: "merge", body: { metadata: { annotations: { [key]: "x" } } } }) as const;
  const chassis = noting("k8s.ovn.org/node-chassis-id");
  expect(await refusal(client.patch(nodes, { name: "n1" }, noting("k8s.ovn.org/node-subnets")))).toContain("only");
  expect(await refusal(client.patch(nodes, { name: "n2" }, chassis))).toContain("its own Node");
  expect(await refusal(client.patch(nodes, { name: "n1" }, chassis))).toBe("done");
  const status = { subresource: "status" } as const;
  const seen = noting("holdfast.io/guest-seen");
  const { at } = vm.instance!.active;
  expect(await refusal(client.patch(pods, at, seen, status))).toContain("its own Node");
  const own = { namespace: "kube-system", name: "daemon" };
  expect(await refusal(client.patch(pods, own, noting("holdfast.io/migration-receipt"), status))).toContain("only");
  expect(await refusal(client.patch(pods, own, seen, status))).toBe("done");
});

/** As a kubelet gets it for the daemon's pod on that node. */
async function boundToken(nodeName: string) {
  const spec = { serviceAccountName: "holdfast-node", nodeName, containers: [{ name: "c", image: "i" }] };
  const made = { metadata: { name: "daemon" }, spec };
  const pod = await lab.rest.create<{ metadata: { uid: string } }>("/api/v1/namespaces/kube-system/pods", made);
  const boundObjectRef = { kind: "Pod", apiVersion: "v1", name: "daemon", uid: pod.metadata.uid };
  const path = "/api/v1/namespaces/kube-system/serviceaccounts/holdfast-node/token";
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { boundObjectRef } };
  const { status } = await lab.rest.create<{ status: { token: string } }>(path, request);
  return { ...lab.access, token: status.token };
}
