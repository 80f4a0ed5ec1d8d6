// deploy/holdfast.yaml with its image on real nodes: daemon and controller come up with the rights they were given, and
// pods get their addresses through them.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { buildImage } from "../../tools/image/build.ts";
import { ensureShim } from "../../tools/shim/ensure.ts";
import { AuditLog } from "../lab/audit.ts";
import type { Cluster } from "../lab/cluster.ts";
import type { NetworkStatus } from "../lab/networks/status.ts";
import { type ObservedPod, podSpec } from "../lab/pods.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";

const file = join(import.meta.dirname, "..", "..", "deploy", "holdfast.yaml");
const migration = join(import.meta.dirname, "..", "..", "deploy", "migrate");
const pods = "/api/v1/namespaces/default/pods";
const reservations = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/overlappingrangeipreservations";
const nodes = 2;

let folder: string;
let lab: Cluster;
let audit: AuditLog;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-deploy-"));
  const log = console.error;
  audit = new AuditLog();
  lab = await cluster({ nodes, log, apiserverArgs: audit.apiserverArgs });
  const native = (await ensureShim({ native: true, log })).path;
  const fallback = (await ensureShim({ native: false, log })).path;
  const archive = join(folder, "image.tar");
  writeFileSync(archive, (await buildImage({ shims: { native, fallback } })).archive);
  for (const node of lab.nodes) await node.exec(["ctr", "--namespace=k8s.io", "images", "import", archive]);
  await lab.kubectl(["apply", "-f", file]);
}, coldStartTimeoutMs);
afterAll(async () => {
  await lab?.stop();
  audit?.remove();
  rmSync(folder, { recursive: true, force: true });
});

interface Reservation {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: { readonly podref: string };
}
const held = async () =>
  (await lab.rest.get<{ items: Reservation[] }>(`${reservations}?labelSelector=!holdfast.io/cooling`)).items;

async function define(name: string, range: string, more: object = {}): Promise<void> {
  const ipam = { type: "holdfast", range, ...more };
  const config = { cniVersion: "1.0.0", name, type: "bridge", bridge: `br-${name}`, ipam };
  await lab.rest.create("/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions", {
    apiVersion: "k8s.cni.cncf.io/v1",
    kind: "NetworkAttachmentDefinition",
    metadata: { name },
    spec: { config: JSON.stringify(config) },
  });
}

async function start(name: string, nodeName: string, network = "blue"): Promise<string> {
  const metadata = { name, annotations: { "k8s.v1.cni.cncf.io/networks": network } };
  await lab.rest.create(pods, { metadata, spec: { ...podSpec(["sleep", "infinity"]), nodeName } });
  return addressOf(name);
}

function addressOf(name: string): Promise<string> {
  return until(
    async () => {
      const pod = await lab.rest.get<ObservedPod>(`${pods}/${name}`);
      const status = pod.metadata.annotations?.["k8s.v1.cni.cncf.io/network-status"] ?? "[]";
      const found = (JSON.parse(status) as NetworkStatus[]).find((each) => each.interface === "net1");
      return pod.status.phase === "Running" && found?.ips?.[0];
    },
    { what: `pod ${name} with an address`, everyMs: 200, timeoutMs: 90_000 },
  );
}

async function ours(name: string): Promise<string[]> {
  const selector = `--selector=app.kubernetes.io/name=${name}`;
  const printed = await lab.kubectl(["get", "pods", "-n", "kube-system", selector, "-o", "name"]);
  return printed.trim().split("\n").filter(Boolean);
}

test("daemon and controller become Ready", async () => {
  const wait = (what: string) => lab.kubectl(["rollout", "status", what, "-n", "kube-system", "--timeout=120s"]);
  try {
    await wait("daemonset/holdfast-node");
    await wait("deployment/holdfast-controller");
  } catch (error) {
    throw new Error(await lab.kubectl(["describe", "pods", "-n", "kube-system"]), { cause: error });
  }
  expect(await ours("holdfast-node")).toHaveLength(nodes);
  expect(await ours("holdfast-controller")).toHaveLength(2);
}, 300_000);

test("pods on both nodes get addresses of one range, each its own, and each has its hold", async () => {
  await define("blue", "10.70.0.0/24");
  const names = ["a1", "a2", "b1", "b2"];
  const addresses = await Promise.all(names.map((name) => start(name, name.startsWith("a") ? "node1" : "node2")));
  expect(new Set(addresses).size).toBe(names.length);
  for (const address of addresses) expect(address).toMatch(/^10\.70\.0\.\d+$/);
  const holds = (await held()).map(
    ({ metadata, spec }) => `${metadata.name} ${spec.podref} ${metadata.labels?.["holdfast.io/node"]}`,
  );
  const wanted = names.map(
    (name, index) => `${addresses[index]} default/${name} ${name.startsWith("a") ? "node1" : "node2"}`,
  );
  expect(holds.toSorted()).toEqual(wanted.toSorted());
  expect(await lab.kubectl(["exec", "a1", "--", "ip", "addr", "show", "net1"])).toContain(`inet ${addresses[0]}/24`);
}, 300_000);

test("an address that a stranger answers for is found from the daemon's container, and passed over", async () => {
  // In this order, whatever the daemon thinks of the crowd a moment after its start.
  await define("red", "10.71.0.0/24", { probe: true, pick_addresses: ["10.71.0.1", "10.71.0.2", "10.71.0.3"] });
  expect(await start("r1", "node1", "red")).toBe("10.71.0.1");
  // A bridge has the lowest address of its ports, and changes it with them, until it is given one.
  const stranger = "02:00:00:71:00:02";
  await lab.nodes[0]!.exec(["ip", "link", "set", "dev", "br-red", "address", stranger]);
  await lab.nodes[0]!.exec(["ip", "address", "add", "10.71.0.2/24", "dev", "br-red"]);
  const given = await start("r2", "node1", "red");
  expect(given).toMatch(/^10\.71\.0\.\d+$/);
  expect(given).not.toBe("10.71.0.2");
  const query = "fieldSelector=reason=AddressConflict,involvedObject.name=r2";
  const told = await until(
    async () =>
      (await lab.rest.get<{ items: { message: string }[] }>(`/api/v1/namespaces/default/events?${query}`)).items[0],
    { what: "the event" },
  );
  expect(told.message).toContain(`10.71.0.2 is in use by ${stranger}`);
  await lab.kubectl(["delete", "pod", "r1", "r2", "--wait=true", "--timeout=90s"]);
  await until(async () => (await held()).length === 4, { what: "the holds of r1 and r2 to be free" });
}, 300_000);

test("a daemon that is replaced gives no address twice, and frees what its predecessor gave", async () => {
  const before = await Promise.all(["a1", "a2", "b1", "b2"].map(addressOf));
  await lab.kubectl(["rollout", "restart", "daemonset/holdfast-node", "-n", "kube-system"]);
  await lab.kubectl(["rollout", "status", "daemonset/holdfast-node", "-n", "kube-system", "--timeout=180s"]);
  const added = await start("a3", "node1");
  expect(before).not.toContain(added);
  await lab.kubectl(["delete", "pod", "a1", "b1", "--wait=true", "--timeout=90s"]);
  await until(async () => (await held()).length === 3, { what: "two holds to be free" });
  expect((await held()).map(({ spec }) => spec.podref).toSorted()).toEqual(["default/a2", "default/a3", "default/b2"]);
}, 400_000);

test("when the leader goes, the other leads", async () => {
  const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/holdfast-controller";
  const leader = async () => (await lab.rest.get<{ spec: { holderIdentity: string } }>(lease)).spec.holderIdentity;
  const first = await leader();
  expect((await ours("holdfast-controller")).map((name) => name.replace("pod/", ""))).toContain(first);
  await lab.kubectl(["delete", "pod", first, "-n", "kube-system", "--wait=false"]);
  await until(async () => ![first, ""].includes(await leader()), { what: "another leader" });
}, 200_000);

test("the Job of a migration moves pools and holds while pods run on, and what they have is theirs afterwards", async () => {
  const names = ["a2", "a3", "b2"];
  const before = await Promise.all(names.map(addressOf));
  const image = (
    await lab.kubectl([
      "get",
      "daemonset/holdfast-node",
      "-n",
      "kube-system",
      "-o",
      "jsonpath={.spec.template.spec.containers[0].image}",
    ])
  ).trim();
  const job = join(folder, "job.yaml");
  writeFileSync(job, readFileSync(join(migration, "job.yaml"), "utf8").replaceAll("IMAGE", image));
  await lab.kubectl(["apply", "-f", join(migration, "rbac.yaml"), "-f", job]);
  try {
    await lab.kubectl([
      "wait",
      "-n",
      "kube-system",
      "--for=condition=complete",
      "job/holdfast-migrate",
      "--timeout=240s",
    ]);
  } catch (error) {
    const logs = await lab.kubectl(["logs", "-n", "kube-system", "job/holdfast-migrate"]).catch(String);
    throw new Error(`${await lab.kubectl(["describe", "job", "-n", "kube-system"])}\n${logs}`, { cause: error });
  }
  const holds = (await held()).map(({ metadata, spec }) => `${metadata.name} ${spec.podref}`);
  expect(holds.toSorted()).toEqual(names.map((name, at) => `blue-${before[at]} default/${name}`).toSorted());
  expect(await Promise.all(names.map(addressOf))).toEqual(before);
  expect(before).not.toContain(await start("a4", "node1"));
  await lab.kubectl(["delete", "pod", "a2", "--wait=true", "--timeout=90s"]);
  await until(async () => (await held()).every(({ spec }) => spec.podref !== "default/a2"), {
    what: "the hold of a2 to be free",
  });
}, 500_000);

test("nothing that any of them asked was forbidden", () => {
  const asked = audit.requests().filter(({ user }) => user.startsWith("system:serviceaccount:kube-system:holdfast-"));
  const refused = asked.filter(({ code }) => code === 401 || code === 403);
  expect(refused).toEqual([]);
  expect(new Set(asked.map(({ user }) => user.split(":").at(-1)))).toEqual(
    new Set(["holdfast-node", "holdfast-controller", "holdfast-migrate"]),
  );
});
