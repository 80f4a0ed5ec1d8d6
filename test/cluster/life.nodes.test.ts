// Three real nodes: pods on all of them, what happens when one of them is lost, and the way back.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Cluster } from "../lab/cluster.ts";
import { CommandError } from "../lab/command.ts";
import type { LabNode } from "../lab/node.ts";
import { ping } from "../lab/ping.ts";
import { isReady, type ObservedPod, podSpec, runningPods } from "../lab/pods.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";

let lab: Cluster;
beforeAll(async () => {
  lab = await cluster({ nodes: 3, log: console.error });
}, coldStartTimeoutMs);
afterAll(() => lab?.stop());

/** A node is lost 20 s after its last word, pods need a few seconds more; four times that for a busy machine. */
const lossTimeoutMs = 180_000;
const pods = "/api/v1/namespaces/default/pods";

const podsOn = async (nodeName: string) => {
  const selectors = `labelSelector=app%3Dweb&fieldSelector=spec.nodeName%3D${nodeName}`;
  return (await lab.rest.get<{ items: ObservedPod[] }>(`${pods}?${selectors}`)).items;
};
const restarts = ({ status }: ObservedPod) => status.containerStatuses?.[0]?.restartCount;
/** The pids of the pods' web servers as the node sees them. */
const servers = (node: LabNode) => node.exec(["pgrep", "-f", "^httpd -f"]);

test("pods run on all three, reach each other, and can be looked into", async () => {
  await lab.rest.create("/apis/apps/v1/namespaces/default/deployments", {
    metadata: { name: "web" },
    spec: {
      replicas: 9,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: {
          ...podSpec(["sh", "-c", "echo hello from $HOSTNAME; echo served > /tmp/index.html; httpd -f -p 80 -h /tmp"]),
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: "kubernetes.io/hostname",
              whenUnsatisfiable: "DoNotSchedule",
              labelSelector: { matchLabels: { app: "web" } },
            },
          ],
        },
      },
    },
  });
  const running = await runningPods(lab, "app=web", 9);
  expect(new Set(running.map((pod) => pod.spec.nodeName))).toEqual(new Set(["node1", "node2", "node3"]));
  expect(new Set(running.map((pod) => pod.status.podIP)).size).toBe(9);
  const from = running.find((pod) => pod.spec.nodeName === "node1")!;
  const to = running.find((pod) => pod.spec.nodeName === "node3")!;
  expect(to.status.podIP).toMatch(/^10\.88\.3\./);
  const fetched = await lab.kubectl(["exec", from.metadata.name, "--", "wget", "-qO-", `http://${to.status.podIP}/`]);
  expect(fetched).toBe("served\n");
  expect(await lab.kubectl(["logs", from.metadata.name])).toBe(`hello from ${from.metadata.name}\n`);
});

test("a pod finds the API server where every pod does", async () => {
  await lab.rest.create(pods, { metadata: { name: "inside" }, spec: podSpec(["sleep", "infinity"]) });
  await until(async () => (await lab.rest.get<ObservedPod>(`${pods}/inside`)).status.phase === "Running", {
    what: "the pod",
  });
  const words = await lab.kubectl([
    "exec",
    "inside",
    "--",
    "sh",
    "-c",
    'ls /var/run/secrets/kubernetes.io/serviceaccount; echo | nc -w 2 "$KUBERNETES_SERVICE_HOST" "$KUBERNETES_SERVICE_PORT" && echo reached',
  ]);
  expect(words).toMatch(/ca\.crt\nnamespace\ntoken\n[^]*reached/);
});

test("pods on different nodes share a wire: a macvlan on the nodes' own cables", async () => {
  const config = {
    cniVersion: "1.0.0",
    type: "macvlan",
    master: "eth0",
    mode: "bridge",
    capabilities: { ips: true },
    ipam: { type: "static" },
  };
  await lab.rest.create("/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions", {
    apiVersion: "k8s.cni.cncf.io/v1",
    kind: "NetworkAttachmentDefinition",
    metadata: { name: "wire" },
    spec: { config: JSON.stringify(config) },
  });
  for (const index of [1, 2]) {
    const wanted = JSON.stringify([{ name: "wire", ips: [`10.75.0.${index}/24`] }]);
    const annotations = { "k8s.v1.cni.cncf.io/networks": wanted };
    const metadata = { name: `wired-${index}`, labels: { app: "wired" }, annotations };
    await lab.rest.create(pods, { metadata, spec: { ...podSpec(["sleep", "infinity"]), nodeName: `node${index}` } });
  }
  await runningPods(lab, "app=wired", 2);
  await ping(lab, "wired-1", "net1", "10.75.0.2");
});

test("commands run inside a node, in all its namespaces", async () => {
  expect(await lab.nodes[1]!.exec(["hostname"])).toBe("node2\n");
  expect(await lab.nodes[1]!.exec(["ip", "-4", "-o", "addr", "show", "eth0"])).toContain("172.30.0.12/24");
  await expect(lab.nodes[1]!.exec(["false"])).rejects.toThrow(CommandError);
});

test("what this process serves can be reached from the cluster", async () => {
  const server = createServer((_, response) => response.end("from the test"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { host, port } = await lab.expose((server.address() as AddressInfo).port);
  expect(await lab.nodes[0]!.exec(["busybox", "wget", "-qO-", `http://${host}:${port}/`])).toBe("from the test");
  server.close();
});

// Each of the three loses another node, so they wait for the same 20 s together.
describe.concurrent("a lost node", () => {
  test("without power it is NotReady, and comes back with its pods", { timeout: lossTimeoutMs }, async () => {
    const node = lab.nodes[0]!;
    const names = (await podsOn("node1")).map(({ metadata }) => metadata.name);
    expect(names).not.toEqual([]);
    await node.kill();
    expect(() => node.pid).toThrow("not running");
    await node.waitReady({ ready: false, timeoutMs: 90_000 });
    await node.start();
    await node.waitReady({ timeoutMs: 90_000 });
    await until(
      async () => {
        const own = (await podsOn("node1")).filter(({ metadata }) => names.includes(metadata.name));
        return own.length === names.length && own.every((pod) => isReady(pod) && restarts(pod) === 1);
      },
      { what: "the node's pods to run again", timeoutMs: 90_000, everyMs: 500 },
    );
  });

  test("without its cable it is NotReady while its pods run on, and heals", { timeout: lossTimeoutMs }, async () => {
    const node = lab.nodes[1]!;
    const before = await servers(node);
    await node.partition();
    await expect(node.exec(["ping", "-c", "1", "-W", "1", "172.30.0.1"])).rejects.toThrow();
    await node.waitReady({ ready: false, timeoutMs: 90_000 });
    expect(await servers(node)).toBe(before);
    await node.heal();
    await node.waitReady({ timeoutMs: 90_000 });
  });

  test("paused it stands still, and goes on where it stood", { timeout: lossTimeoutMs }, async () => {
    const node = lab.nodes[2]!;
    const kubelet = node.kubelet.pid;
    node.pause();
    await node.waitReady({ ready: false, timeoutMs: 90_000 });
    node.resume();
    await node.waitReady({ timeoutMs: 90_000 });
    expect(node.kubelet.pid).toBe(kubelet);
  });
});

test("kubelet and containerd are killed and restarted by themselves, and pods do not notice", async () => {
  const node = lab.nodes[2]!;
  const before = await servers(node);
  await node.kubelet.restart();
  await node.containerd.restart();
  await node.waitReady();
  expect(await servers(node)).toBe(before);
});

test("without a scheduler a pod waits; with it, it runs", async () => {
  await lab.scheduler!.kill();
  await lab.rest.create(pods, { metadata: { name: "patient" }, spec: podSpec(["sleep", "infinity"]) });
  await new Promise((resolve) => setTimeout(resolve, 1000));
  expect((await lab.rest.get<ObservedPod>(`${pods}/patient`)).spec.nodeName).toBeUndefined();
  await lab.scheduler!.start();
  await until(async () => (await lab.rest.get<ObservedPod>(`${pods}/patient`)).status.phase === "Running", {
    what: "the pod",
  });
});
