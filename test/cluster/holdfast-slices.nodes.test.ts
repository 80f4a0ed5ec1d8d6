// Pods on sliced networks, on three real nodes: addresses from the node's own slice, both families, two definitions of
// one network, nothing left and something again, borrowed pieces, and the part that belongs to no node.
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from "vitest";

import {
  createPod,
  defineNetwork,
  deploy,
  deployStateful,
  refusalOf,
  removePod,
  runningPod,
  scale,
} from "../lab/holdfast/networks.ts";
import { ping } from "../lab/ping.ts";
import { runningPods } from "../lab/pods.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { eventsAbout, ipsOf, SliceFixture, storyMs } from "./slice-fixture.ts";

const nodeNames = ["node1", "node2", "node3"];

let fixture: SliceFixture;
beforeAll(async () => {
  fixture = await SliceFixture.open();
}, coldStartTimeoutMs);
afterAll(() => fixture?.close());
beforeEach(() => onTestFailed(() => console.error(fixture.holdfast.lastWords())));

test(
  "a deployment with both families: each pod's addresses are of its node's slices, and all reach each other",
  { timeout: storyMs },
  async () => {
    const { lab } = fixture;
    const ipRanges = [
      { range: "10.70.0.0/24", node_slice_size: "/28" },
      { range: "fd70::/64", node_slice_size: "/80" },
    ];
    await defineNetwork(lab, { name: "fast", wire: "macvlan", ipam: { ipRanges, network_name: "fast" } });
    await deploy(lab, { name: "fast", networks: "fast", replicas: 12 });
    const pods = await runningPods(lab, "app=fast", 12);
    const books = await fixture.settled(24);
    for (const pod of pods) {
      const [four = "", six = ""] = ipsOf(pod, "fast");
      expect(four).toMatch(/^10\.70\.0\./);
      expect(six).toMatch(/^fd70::/);
      for (const address of [four, six]) expect(SliceFixture.isOwn(books, pod.spec.nodeName!, address)).toBe(true);
    }
    const [here] = pods;
    const shown = await lab.kubectl(["exec", here!.metadata.name, "--", "ip", "addr", "show", "net1"]);
    for (const [index, mask] of [24, 64].entries()) expect(shown).toContain(`${ipsOf(here!, "fast")[index]}/${mask}`);
    const there = pods.find(({ spec }) => spec.nodeName !== here!.spec.nodeName)!;
    for (const address of ipsOf(there, "fast")) await ping(lab, here!.metadata.name, "net1", address);
    await scale(lab, "deployments", "fast", 0);
    await fixture.settled(0);
  },
);

test("two definitions of one network name: one pool, and no address in both", { timeout: storyMs }, async () => {
  const { lab } = fixture;
  const ipam = { range: "10.71.0.0/24", node_slice_size: "/28", network_name: "shared" };
  for (const name of ["left", "right"]) await defineNetwork(lab, { name, wire: "bridge", ipam });
  await deploy(lab, { name: "both", networks: "left,right", replicas: 9 });
  const pods = await runningPods(lab, "app=both", 9);
  const addresses = pods.flatMap((pod) => [...ipsOf(pod, "left"), ...ipsOf(pod, "right")]);
  expect(new Set(addresses).size).toBe(18);
  const { pools } = await fixture.settled(18);
  expect(pools.filter(({ range }) => String(range) === "10.71.0.0/24").map(({ name }) => name)).toEqual(["shared"]);
  await scale(lab, "deployments", "both", 0);
  await fixture.settled(0);
});

describe("one node needs all there is", () => {
  const ipam = { range: "10.72.0.0/28", node_slice_size: "/30", network_name: "narrow" };
  const names = Array.from({ length: 14 }, (_, index) => `narrow-${index}`);

  test("it borrows from the others until nothing is free anywhere", { timeout: storyMs }, async () => {
    const { lab } = fixture;
    await defineNetwork(lab, { name: "narrow", wire: "bridge", ipam });
    for (const name of names) await createPod(lab, name, "narrow", { node: "node1" });
    const addresses: string[] = [];
    for (const name of names) addresses.push(...ipsOf(await runningPod(lab, name), "narrow"));
    expect(new Set(addresses).size).toBe(14);
    await fixture.settled(14);
  });

  test("then a pod waits, with the reason; condition and event say it too", { timeout: storyMs }, async () => {
    const { lab } = fixture;
    await createPod(lab, "narrow-late", "narrow", { node: "node2" });
    expect(await refusalOf(lab, "narrow-late", "10.72.0.0/28")).toContain("no free address");
    const { conditions } = await fixture.pool(
      "10.72.0.0/28",
      (pool) => pool.conditions.get("Exhausted")?.status === "True",
    );
    expect(conditions.get("Exhausted")?.message).not.toBe("");
    await until(async () => (await eventsAbout(lab, "narrow")).length > 0, { what: "an event on the definition" });
  });

  test("one that ends makes room for it, on another node", { timeout: storyMs }, async () => {
    const { lab } = fixture;
    const [freed] = ipsOf(await runningPod(lab, "narrow-7"), "narrow");
    await removePod(lab, "narrow-7");
    expect(ipsOf(await runningPod(lab, "narrow-late"), "narrow")).toEqual([freed]);
    await removePod(lab, "narrow-late");
    await fixture.pool("10.72.0.0/28", (pool) => pool.conditions.get("Exhausted")?.status === "False");
    await Promise.all(names.filter((name) => name !== "narrow-7").map((name) => removePod(lab, name)));
    await fixture.settled(0);
  });
});

describe("the part that belongs to no node", () => {
  const ipam = {
    range: "10.73.0.0/24",
    node_slice_size: "/28",
    floating_slice_size: "/28",
    network_name: "floats",
    sticky: "statefulset",
    allow_requested_ips: true,
  };

  test("gives an address by number to a pod, on one node and then on another", { timeout: storyMs }, async () => {
    const { lab } = fixture;
    await defineNetwork(lab, { name: "floats", wire: "macvlan", ipam });
    const wanted = JSON.stringify([{ name: "floats", ips: ["10.73.0.250"] }]);
    for (const node of ["node1", "node3"]) {
      await createPod(lab, "numbered", wanted, { node });
      expect(ipsOf(await runningPod(lab, "numbered"), "floats")).toEqual(["10.73.0.250"]);
      const { shared } = await fixture.settled(1);
      expect(shared.map(({ address, who }) => `${address} ${who}`)).toEqual(["10.73.0.250 default/numbered net1"]);
      await removePod(lab, "numbered");
    }
    await fixture.settled(0);
  });

  test("keeps the addresses of a sticky StatefulSet, whichever node its pods go to", { timeout: storyMs }, async () => {
    const { lab } = fixture;
    await deployStateful(lab, { name: "keeper", networks: "floats", replicas: 3 });
    const places = async () => {
      const pods = await runningPods(lab, "app=keeper", 3);
      return new Map(pods.map((pod) => [pod.metadata.name, { node: pod.spec.nodeName!, ips: ipsOf(pod, "floats") }]));
    };
    const before = await places();
    const { node } = before.get("keeper-1")!;
    await lab.kubectl(["cordon", node]);
    await removeForSuccessor("keeper-1");
    const after = await places();
    await lab.kubectl(["uncordon", node]);
    expect(after.get("keeper-1")!.node).not.toBe(node);
    for (const [name, { ips }] of before) expect(after.get(name)!.ips).toEqual(ips);
    for (const [name, { ips }] of after) {
      const other = [...after.keys()].find((each) => each !== name)!;
      await ping(lab, other, "net1", ips[0]!);
    }
    await fixture.settled(3);
    // Scaled away and back: they wait for it.
    await scale(lab, "statefulsets", "keeper", 0);
    await runningPods(lab, "app=keeper", 0);
    await scale(lab, "statefulsets", "keeper", 3);
    for (const [name, { ips }] of await places()) expect(ips).toEqual(before.get(name)!.ips);
    await fixture.settled(3);
  });

  /** Deletes it, and waits until another of the same name is there. */
  async function removeForSuccessor(name: string): Promise<void> {
    const path = `/api/v1/namespaces/default/pods/${name}`;
    const { uid } = (await fixture.lab.rest.get<{ metadata: { uid: string } }>(path)).metadata;
    await fixture.lab.rest.delete(path);
    await until(async () => (await fixture.lab.rest.get<{ metadata: { uid: string } }>(path)).metadata.uid !== uid, {
      what: `the successor of ${name}`,
      everyMs: 200,
    });
  }
});

test("at the end `check` finds nothing, and no address was ever seen twice", { timeout: storyMs }, async () => {
  const { slices } = await fixture.books();
  expect(new Set(slices.map(({ node }) => node))).toEqual(new Set(nodeNames));
  await fixture.holdfast.waitClean();
  await fixture.sampler.stop();
  expect(fixture.sampler.found).toEqual([]);
});
