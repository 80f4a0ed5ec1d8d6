// Deployments of 60 pods (20 in `npm test`) on three real nodes with our addresses: one and three interfaces, bridge
// and macvlan, both families; scaled, rolled, daemons killed, a node lost, the API server away. One story, in order.
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from "vitest";

import type { Cluster } from "../lab/cluster.ts";
import { duplicates, settled, statusesOf, toldAddresses } from "../lab/holdfast/addresses.ts";
import { type LabHoldfast, runHoldfast } from "../lab/holdfast/holdfast.ts";
import { defineNetwork, deploy, roll, scale } from "../lab/holdfast/networks.ts";
import { Sampler } from "../lab/holdfast/sampler.ts";
import type { LabNode } from "../lab/node.ts";
import { ping } from "../lab/ping.ts";
import { isReady, type ObservedPod, runningPods } from "../lab/pods.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { volume } from "../volume.ts";

/** 60 pods with three interfaces take about 40 s on two idle cores; five times that for a busy machine. */
const storyMs = volume(240_000, 3 * 240_000);
const outageMs = 20_000;
const many = volume(20, 60);
const half = many / 2;
const few = volume(6, 10);

let lab: Cluster;
let holdfast: LabHoldfast;
let sampler: Sampler;
beforeAll(async () => {
  lab = await cluster({ nodes: 3, log: console.error });
  holdfast = await runHoldfast(lab);
  await defineNetwork(lab, { name: "one", wire: "bridge", ipam: { range: "10.60.0.0/23" } });
  const both = { range: "10.61.0.0/23", ipRanges: [{ range: "fd61::/64" }] };
  await defineNetwork(lab, { name: "wide", wire: "macvlan", ipam: both });
  await defineNetwork(lab, { name: "side", wire: "bridge", ipam: { range: "10.62.0.0/23" } });
  sampler = new Sampler(lab);
}, coldStartTimeoutMs);
afterAll(async () => {
  await sampler?.stop();
  await lab?.stop();
});
beforeEach(() => onTestFailed(() => console.error(holdfast.lastWords())));

const addressesOf = (pod: ObservedPod, network: string) =>
  statusesOf(pod).find(({ name }) => name === `default/${network}`)?.ips ?? [];
const reach = (from: ObservedPod, port: string, address: string) => ping(lab, from.metadata.name, port, address);

/** Two pods of the list that satisfy the condition. */
function pairOf(pods: readonly ObservedPod[], fits: (a: ObservedPod, b: ObservedPod) => boolean) {
  for (const a of pods) for (const b of pods) if (a !== b && fits(a, b)) return [a, b] as const;
  throw new Error("no two pods fit");
}

test(
  `${many} pods with one interface: unique, on record, reachable; scaled up, down and away`,
  { timeout: storyMs },
  async () => {
    await deploy(lab, { name: "single", networks: "one", replicas: few });
    await runningPods(lab, "app=single", few);
    await scale(lab, "deployments", "single", many);
    const pods = await runningPods(lab, "app=single", many);
    expect(new Set(pods.flatMap((pod) => addressesOf(pod, "one"))).size).toBe(many);
    const [a, b] = pairOf(pods, (x, y) => x.spec.nodeName === y.spec.nodeName);
    await reach(a, "net1", addressesOf(b, "one")[0]!);
    await settled(lab, many);

    await scale(lab, "deployments", "single", few);
    await runningPods(lab, "app=single", few);
    await settled(lab, few);
    await scale(lab, "deployments", "single", 0);
    await settled(lab, 0);
  },
);

test(`${many} pods with three interfaces and both families, and each wire carries`, { timeout: storyMs }, async () => {
  await deploy(lab, { name: "triple", networks: "one,wide,side", replicas: many });
  const pods = await runningPods(lab, "app=triple", many);
  const told = await settled(lab, many * 4);
  expect(duplicates(told)).toEqual([]);
  for (const pod of pods) {
    expect(addressesOf(pod, "wide")).toEqual([expect.stringMatching(/^10\.61\./), expect.stringMatching(/^fd61::/)]);
  }
  const [near, nearToo] = pairOf(pods, (x, y) => x.spec.nodeName === y.spec.nodeName);
  await reach(near, "net1", addressesOf(nearToo, "one")[0]!);
  await reach(near, "net3", addressesOf(nearToo, "side")[0]!);
  const [here, there] = pairOf(pods, (x, y) => x.spec.nodeName !== y.spec.nodeName);
  for (const address of addressesOf(there, "wide")) await reach(here, "net2", address);
});

test("rolled while every daemon is killed with -9: unique, nothing leaked", { timeout: storyMs }, async () => {
  const before = new Set((await toldAddresses(lab)).map(({ who }) => who));
  await roll(lab, "triple", "2");
  const begun = async () => (await toldAddresses(lab)).filter(({ who }) => !before.has(who)).length;
  for (const [index, node] of lab.nodes.entries()) {
    // After a sixth, a third and half of the new addresses.
    await until(async () => (await begun()) >= (many * 4 * (index + 1)) / 6, {
      what: "the roll to go on",
      everyMs: 500,
      timeoutMs: storyMs,
    });
    await holdfast.daemon(node).restart();
  }
  await until(
    async () => {
      const { items } = await lab.rest.get<{ items: ObservedPod[] }>(
        "/api/v1/namespaces/default/pods?labelSelector=app%3Dtriple",
      );
      return (
        items.length === many && items.every((pod) => isReady(pod) && pod.metadata.annotations?.["generation"] === "2")
      );
    },
    { what: "the roll to end", everyMs: 500, timeoutMs: storyMs },
  );
  await settled(lab, many * 4);
});

test("the API server away while pods end: what was freed then is freed", { timeout: storyMs }, async () => {
  await scale(lab, "deployments", "triple", half);
  await until(
    async () => {
      const { items } = await lab.rest.get<{ items: { metadata: { deletionTimestamp?: string } }[] }>(
        "/api/v1/namespaces/default/pods",
      );
      return items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).length >= half - 5;
    },
    { what: "the pods to be told to end", everyMs: 20 },
  );
  await lab.apiserver.kill();
  await new Promise((resolve) => setTimeout(resolve, outageMs));
  await lab.apiserver.start();
  await holdfast.controller.start(); // it ends when it loses its lease, and a Deployment starts it again
  await runningPods(lab, "app=triple", half);
  await settled(lab, half * 4);
});

test(
  "a node without power for a while: its pods come back with the addresses they had",
  { timeout: storyMs },
  async () => {
    const of = async ({ name }: LabNode) => {
      const query = `labelSelector=app%3Dtriple&fieldSelector=spec.nodeName%3D${name}`;
      const { items } = await lab.rest.get<{ items: ObservedPod[] }>(`/api/v1/namespaces/default/pods?${query}`);
      return new Map(items.map((pod) => [pod.metadata.name, pod]));
    };
    // The one with most pods: which of them were scaled away is not ours to say.
    const views = await Promise.all(lab.nodes.map(async (each) => ({ node: each, pods: await of(each) })));
    const { node, pods: before } = views.reduce((most, each) => (each.pods.size > most.pods.size ? each : most));
    expect(before.size).toBeGreaterThan(0);
    await node.kill();
    await node.waitReady({ ready: false, timeoutMs: 90_000 });
    await node.start();
    await holdfast.begin(node);
    await node.waitReady({ timeoutMs: 90_000 });
    const after = await until(
      async () => {
        const now = await of(node);
        const back = [...now.values()].every(
          (pod) => isReady(pod) && (pod.status.containerStatuses?.[0]?.restartCount ?? 0) > 0,
        );
        return back && now;
      },
      { what: "its pods to run again", everyMs: 500, timeoutMs: 120_000 },
    );
    expect([...after.keys()].sort()).toEqual([...before.keys()].sort());
    for (const [name, pod] of after) {
      for (const network of ["one", "wide", "side"]) {
        expect(addressesOf(pod, network)).toEqual(addressesOf(before.get(name)!, network));
      }
    }
    await settled(lab, half * 4);
  },
);

test(
  "without daemons and controller pods end, as after an uninstall; daemons that come back free what was theirs",
  { timeout: storyMs },
  async () => {
    await holdfast.controller.kill(); // so that nobody collects
    for (const node of lab.nodes) await holdfast.daemon(node).kill();
    await scale(lab, "deployments", "triple", few);
    await until(
      async () => {
        const { items } = await lab.rest.get<{ items: ObservedPod[] }>("/api/v1/namespaces/default/pods");
        return items.length === few;
      },
      { what: "the others to be gone", everyMs: 500, timeoutMs: storyMs },
    );
    const spools = await Promise.all(lab.nodes.map((node) => node.exec(["ls", "/var/lib/holdfast/spool"])));
    expect(spools.flatMap((names) => names.trim().split("\n").filter(Boolean)).length).toBeGreaterThanOrEqual(
      (half - few) * 3,
    );
    for (const node of lab.nodes) await holdfast.daemon(node).start();
    await settled(lab, few * 4);
    await holdfast.controller.start();
  },
);

test(
  "at the end everything is free, `check` finds nothing, and no address was ever seen twice",
  { timeout: storyMs },
  async () => {
    await scale(lab, "deployments", "triple", 0);
    await settled(lab, 0);
    await holdfast.waitClean();
    await sampler.stop();
    expect(sampler.found).toEqual([]);
    expect(sampler.mostAtOnce).toBeGreaterThanOrEqual(many * 4);
  },
);
