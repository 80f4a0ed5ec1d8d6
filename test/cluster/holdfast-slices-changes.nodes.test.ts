// Sliced networks that change under running pods, on three real nodes: from shared to sliced and back, another range,
// another slice size; a node that leaves, joins, and comes back under another name. The tests are one story, in order.
import { join } from "node:path";

import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from "vitest";

import { parseAddress } from "../../src/net/address.ts";
import { contains, parsePrefix } from "../../src/net/prefix.ts";
import { writeKubeconfig } from "../lab/credentials.ts";
import {
  createPod,
  defineNetwork,
  deploy,
  type NetworkPlan,
  redefineNetwork,
  removePod,
  runningPod,
} from "../lab/holdfast/networks.ts";
import { ping } from "../lab/ping.ts";
import { insideOf } from "../lab/place.ts";
import { type ObservedPod, runningPods } from "../lab/pods.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { ipsOf, SliceFixture, storyMs } from "./slice-fixture.ts";

const range = "10.75.0.0/24";
const networkOf = (ipam: Readonly<Record<string, unknown>>): NetworkPlan => ({
  name: "live",
  wire: "macvlan",
  ipam: { range, network_name: "live", ...ipam },
});
const isIn = (block: string, address: string) => contains(parsePrefix(block), parseAddress(address));

let fixture: SliceFixture;
/** Pods that run through all of it. Key: name. */
const before = new Map<string, readonly string[]>();
beforeAll(async () => {
  fixture = await SliceFixture.open();
  await defineNetwork(fixture.lab, networkOf({}));
  await deploy(fixture.lab, { name: "lasting", networks: "live", replicas: 9 });
  for (const pod of await runningPods(fixture.lab, "app=lasting", 9)) before.set(pod.metadata.name, ipsOf(pod, "live"));
}, coldStartTimeoutMs);
afterAll(() => fixture?.close());
beforeEach(() => onTestFailed(() => console.error(fixture.holdfast.lastWords())));

/** They run on with the addresses they had, and reach each other; a new one is told and reaches them too. */
async function lastingStill(): Promise<void> {
  const { lab } = fixture;
  const pods = await runningPods(lab, "app=lasting", before.size);
  for (const pod of pods) expect(ipsOf(pod, "live")).toEqual(before.get(pod.metadata.name));
  for (const node of ["node1", "node2", "node3"]) {
    const from = pods.find(({ spec }) => spec.nodeName === node);
    if (from === undefined) continue;
    for (const to of pods.filter((pod) => pod !== from).slice(0, 2)) {
      await ping(lab, from.metadata.name, "net1", ipsOf(to, "live")[0]!);
    }
  }
}

/** A pod on each node, made now; where their addresses are from, and gone again. */
async function newcomers(prefix: string): Promise<{ pods: ObservedPod[]; leave: () => Promise<void> }> {
  const { lab } = fixture;
  const names = ["node1", "node2", "node3"].map((node) => ({ node, name: `${prefix}-${node}` }));
  for (const { node, name } of names) await createPod(lab, name, "live", { node });
  const pods = await Promise.all(names.map(({ name }) => runningPod(lab, name)));
  const leave = async () => void (await Promise.all(names.map(({ name }) => removePod(lab, name))));
  return { pods, leave };
}

test("from shared to sliced: running pods keep theirs, new ones come from slices", { timeout: storyMs }, async () => {
  await redefineNetwork(fixture.lab, networkOf({ node_slice_size: "/28" }));
  await fixture.pool(range, ({ assigned }) => assigned.length >= 3);
  const { pods, leave } = await newcomers("sliced");
  const books = await fixture.settled(9 + 3);
  for (const pod of pods) expect(SliceFixture.isOwn(books, pod.spec.nodeName!, ipsOf(pod, "live")[0]!)).toBe(true);
  await lastingStill();
  await leave();
  await fixture.settled(9);
});

test("another slice size: the slices are cut anew, nobody is touched", { timeout: storyMs }, async () => {
  const first = await newcomers("before-size");
  await redefineNetwork(fixture.lab, networkOf({ node_slice_size: "/27" }));
  await fixture.pool(range, ({ sliceLength, assigned }) => {
    return sliceLength === 27 && assigned.length >= 3 && assigned.every(({ block }) => block.length >= 27);
  });
  const second = await newcomers("after-size");
  const { slices } = await fixture.settled(9 + 6);
  expect(slices.map(({ slice }) => slice.length)).not.toContain(28);
  await lastingStill();
  await first.leave();
  await second.leave();
  await fixture.settled(9);
});

test("another range: new pods are of the new one, running ones stay where they are", { timeout: storyMs }, async () => {
  const first = await newcomers("before-range");
  await redefineNetwork(fixture.lab, networkOf({ range: "10.76.0.0/24", node_slice_size: "/28" }));
  await fixture.pool("10.76.0.0/24", ({ assigned }) => assigned.length >= 3);
  const second = await newcomers("after-range");
  for (const pod of second.pods) expect(isIn("10.76.0.0/24", ipsOf(pod, "live")[0]!)).toBe(true);
  const { pools } = await fixture.settled(9 + 6);
  expect(pools.map((pool) => String(pool.range))).toEqual(["10.76.0.0/24"]);
  await lastingStill();
  await first.leave();
  await second.leave();
  await fixture.settled(9);
});

test("back to sliced in the first range, then to shared", { timeout: storyMs }, async () => {
  await redefineNetwork(fixture.lab, networkOf({ node_slice_size: "/28" }));
  await fixture.pool(range, ({ assigned }) => assigned.length >= 3);
  const first = await newcomers("last-sliced");
  await fixture.settled(9 + 3);
  await redefineNetwork(fixture.lab, networkOf({}));
  await until(async () => (await fixture.books()).pools.length === 0, { what: "the slices to go", everyMs: 300 });
  const second = await newcomers("shared-again");
  const { slices, shared } = await fixture.settled(9 + 6);
  expect(slices).toEqual([]);
  expect(shared).toHaveLength(15);
  await lastingStill();
  await first.leave();
  await second.leave();
  await fixture.settled(9);
});

test("a node leaves while its daemon lives, and joins again", { timeout: 2 * storyMs }, async () => {
  const { lab } = fixture;
  await redefineNetwork(lab, networkOf({ node_slice_size: "/28" }));
  await fixture.pool(range, ({ assigned }) => assigned.some(({ node }) => node === "node3"));
  const node = fixture.node("node3");
  await node.kubelet.kill();
  await lab.rest.delete("/api/v1/nodes/node3");
  await until(async () => (await fixture.books()).slices.every((slice) => slice.node !== "node3"), {
    what: "the slice of node3 to be given up",
    everyMs: 300,
    timeoutMs: storyMs,
  });
  expect((await fixture.pool(range)).assigned.map((each) => each.node)).not.toContain("node3");
  await node.kubelet.start();
  await node.waitReady({ timeoutMs: storyMs });
  await fixture.pool(range, ({ assigned }) => assigned.some((each) => each.node === "node3"));
  await replaceLasting();
  const { leave } = await newcomers("rejoined");
  await fixture.settled(9 + 3);
  await leave();
});

test("a node comes back under another name", { timeout: 3 * storyMs }, async () => {
  const { lab, holdfast } = fixture;
  const node = fixture.node("node3");
  await lab.kubectl(["drain", "node3", "--force", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s"]);
  await fixture.settled(9);
  await holdfast.daemon(node).kill();
  await node.kubelet.kill();
  await lab.rest.delete("/api/v1/nodes/node3");
  const kubeconfig = writeKubeconfig(join(node.folder, "renamed.kubeconfig"), {
    ...lab.serverForNodes,
    token: lab.access.token,
  });
  const renamed = lab.component({
    name: "renamed/kubelet",
    command: [
      lab.binaries.path("kubelet"),
      `--config=${join(node.folder, "kubelet.json")}`,
      `--kubeconfig=${kubeconfig}`,
      "--hostname-override=renamed",
      `--node-ip=${node.address}`,
    ],
    place: insideOf(node.pid),
    logFile: join(node.folder, "renamed.log"),
    isReady: async () => lab.rest.get("/api/v1/nodes/renamed").then(() => true),
  });
  await renamed.start();
  await holdfast.begin(node, "renamed");
  await fixture.pool(range, ({ assigned }) => assigned.some((each) => each.node === "renamed"));
  await createPod(lab, "on-renamed", "live", { node: "renamed" });
  const pod = await runningPod(lab, "on-renamed");
  const [address = ""] = ipsOf(pod, "live");
  expect(SliceFixture.isOwn(await fixture.books(), "renamed", address)).toBe(true);
  await removePod(lab, "on-renamed");
});

/** The pods of a deleted Node are gone with it; others came for them. */
async function replaceLasting(): Promise<void> {
  before.clear();
  for (const pod of await runningPods(fixture.lab, "app=lasting", 9)) before.set(pod.metadata.name, ipsOf(pod, "live"));
}

test("no address was ever seen twice", async () => {
  await fixture.sampler.stop();
  expect(fixture.sampler.found).toEqual([]);
});
