// What whereabouts' own end-to-end tests check, case by case, with our plugin on real nodes; and users' wishes that
// only real pods can show: addresses by number, addresses that stay with a StatefulSet's pods, networks of others.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { Cluster } from "../lab/cluster.ts";
import { statusesOf } from "../lab/holdfast/addresses.ts";
import { Books } from "../lab/holdfast/books.ts";
import { type LabHoldfast, runHoldfast } from "../lab/holdfast/holdfast.ts";
import {
  createPod,
  defineNetwork,
  deployStateful,
  refusalOf,
  removePod,
  runningPod,
  scale,
} from "../lab/holdfast/networks.ts";
import { type ObservedPod, runningPods } from "../lab/pods.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";

const patientMs = 180_000;

let lab: Cluster;
let books: Books;
let holdfast: LabHoldfast;
beforeAll(async () => {
  lab = await cluster({ nodes: 3, log: console.error });
  books = new Books(lab);
  // The third node's daemon leaves the question of namespaces to whoever attaches the networks.
  const isolated = ["--namespace-isolation", "--global-namespaces=default"];
  holdfast = await runHoldfast(lab, {
    nodeArgs: (node) => (node.name === "node3" ? [] : isolated),
    alsoAs: "whereabouts",
    // What is leaked is seen twice, 30 s apart by default; a second address waits for five minutes.
    controllerArgs: ["--observe-seconds=5", "--superseded-seconds=5"],
  });
  await makeNamespace("tenant");
}, coldStartTimeoutMs);
afterAll(() => lab?.stop());
beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(holdfast.lastWords())));

async function makeNamespace(name: string): Promise<void> {
  await lab.rest.create("/api/v1/namespaces", { metadata: { name } });
  await until(() => lab.rest.get(`/api/v1/namespaces/${name}/serviceaccounts/default`), {
    what: "the service account",
  });
}

const ipsOf = (pod: ObservedPod, network: string, namespace = "default") =>
  statusesOf(pod).find(({ name }) => name === `${namespace}/${network}`)?.ips ?? [];

// Each has networks of its own, and most of the time is kubelet's: they run side by side.
describe.concurrent("whereabouts' list", { timeout: patientMs }, () => {
  describe("one pod", () => {
    test("with one interface: in range, pool and reservation there, gone with the pod", async () => {
      await defineNetwork(lab, { name: "solo", wire: "macvlan", ipam: { range: "10.20.0.0/24" } });
      await createPod(lab, "solo", "solo");
      const pod = await runningPod(lab, "solo");
      const [address = ""] = ipsOf(pod, "solo");
      expect(address).toMatch(/^10\.20\.0\.\d+$/);
      expect(await books.recordOf(address)).toMatchObject({ who: "default/solo net1" });
      await books.entriesOf("10.20.0.0-24", ["default/solo"]);
      await removePod(lab, "solo");
      await books.unrecorded(address);
      await books.entriesOf("10.20.0.0-24", []);
    });

    test("with three interfaces, under the old plugin's name in the configuration too", async () => {
      for (const [index, ipamType] of ["holdfast", "whereabouts", "holdfast"].entries()) {
        await defineNetwork(lab, {
          name: `three${index}`,
          wire: "bridge",
          ipamType,
          ipam: { range: `10.21.${index}.0/24` },
        });
      }
      await createPod(lab, "three", "three0,three1,three2");
      const pod = await runningPod(lab, "three");
      const addresses = [0, 1, 2].flatMap((index) => ipsOf(pod, `three${index}`));
      expect(addresses).toEqual([0, 1, 2].map((index) => expect.stringMatching(new RegExp(`^10\\.21\\.${index}\\.`))));
      await removePod(lab, "three");
      for (const address of addresses) await books.unrecorded(address);
    });

    test("dual stack by ipRanges, in order; range beside them comes first", async () => {
      const ranges = [{ range: "10.22.0.0/24" }, { range: "fd22::/112" }];
      await defineNetwork(lab, { name: "dual", wire: "bridge", ipam: { ipRanges: ranges } });
      await defineNetwork(lab, {
        name: "trio",
        wire: "bridge",
        ipam: { range: "10.23.0.0/24", ipRanges: [{ range: "10.24.0.0/24" }, { range: "fd24::/64" }] },
      });
      await createPod(lab, "dual", "dual,trio");
      const pod = await runningPod(lab, "dual");
      expect(ipsOf(pod, "dual")).toEqual([expect.stringMatching(/^10\.22\./), expect.stringMatching(/^fd22::/)]);
      expect(ipsOf(pod, "trio")).toEqual([
        expect.stringMatching(/^10\.23\./),
        expect.stringMatching(/^10\.24\./),
        expect.stringMatching(/^fd24::/),
      ]);
      await removePod(lab, "dual");
    });
  });

  test(
    "a StatefulSet of 20, scaled by 5, 10, 15 and 20: unique, and back to none",
    { timeout: patientMs },
    async () => {
      await defineNetwork(lab, { name: "state", wire: "bridge", ipam: { range: "10.25.0.0/26" } });
      await deployStateful(lab, { name: "state", networks: "state", replicas: 20 });
      for (const replicas of [20, 15, 5, 20, 0]) {
        await scale(lab, "statefulsets", "state", replicas);
        const pods = await runningPods(lab, "app=state", replicas);
        expect(new Set(pods.flatMap((pod) => ipsOf(pod, "state"))).size).toBe(replicas);
      }
      await books.entriesOf("10.25.0.0-26", []);
    },
  );

  test(
    "a full /30: the third pod waits, with the reason, and runs once another one is gone",
    { timeout: patientMs },
    async () => {
      await defineNetwork(lab, { name: "tiny", wire: "bridge", ipam: { range: "10.26.0.0/30" } });
      await createPod(lab, "tiny1", "tiny");
      await createPod(lab, "tiny2", "tiny");
      const [first, second] = [await runningPod(lab, "tiny1"), await runningPod(lab, "tiny2")];
      expect([...ipsOf(first, "tiny"), ...ipsOf(second, "tiny")].sort()).toEqual(["10.26.0.1", "10.26.0.2"]);
      await createPod(lab, "tiny3", "tiny");
      expect(await refusalOf(lab, "tiny3", "10.26.0.0/30")).toMatch(/no address|exhausted|taken|free/i);
      await removePod(lab, "tiny1");
      expect(ipsOf(await runningPod(lab, "tiny3"), "tiny")).toEqual(ipsOf(first, "tiny"));
    },
  );

  describe("overlapping ranges", () => {
    test("protected: an address is given once, whichever range asks", async () => {
      await defineNetwork(lab, { name: "wide1", wire: "bridge", ipam: { range: "10.27.0.0/24" } });
      await defineNetwork(lab, { name: "narrow1", wire: "bridge", ipam: { range: "10.27.0.0/28" } });
      await createPod(lab, "overlap", "wide1,narrow1");
      const pod = await runningPod(lab, "overlap");
      expect(ipsOf(pod, "wide1")).not.toEqual(ipsOf(pod, "narrow1"));
    });

    test("not protected: once in each pool", async () => {
      const loose = { enable_overlapping_ranges: false };
      await defineNetwork(lab, { name: "wide2", wire: "bridge", ipam: { range: "10.28.0.0/24", ...loose } });
      await defineNetwork(lab, { name: "narrow2", wire: "bridge", ipam: { range: "10.28.0.0/28", ...loose } });
      await createPod(lab, "loose", "wide2,narrow2");
      const pod = await runningPod(lab, "loose");
      expect(ipsOf(pod, "wide2")).toEqual(["10.28.0.1"]);
      expect(ipsOf(pod, "narrow2")).toEqual(["10.28.0.1"]);
      await books.entriesOf("10.28.0.0-24", ["default/loose"]);
      await removePod(lab, "loose");
      await books.entriesOf("10.28.0.0-24", []);
      await books.entriesOf("10.28.0.0-28", []);
    });
  });

  test("named networks: the same CIDR in each, the same address across them, never twice inside one", async () => {
    for (const name of ["red", "blue"]) {
      await defineNetwork(lab, {
        name: `named-${name}`,
        wire: "bridge",
        ipam: { range: "10.29.0.0/24", network_name: name },
      });
    }
    await createPod(lab, "named1", "named-red,named-blue");
    const first = await runningPod(lab, "named1");
    await createPod(lab, "named2", "named-red,named-blue");
    const second = await runningPod(lab, "named2");
    expect([ipsOf(first, "named-red"), ipsOf(first, "named-blue")]).toEqual([["10.29.0.1"], ["10.29.0.1"]]);
    expect([ipsOf(second, "named-red"), ipsOf(second, "named-blue")]).toEqual([["10.29.0.2"], ["10.29.0.2"]]);
    expect(await books.recordOf("10.29.0.1", "red")).toMatchObject({ who: "default/named1 net1" });
    expect(await books.recordOf("10.29.0.1", "blue")).toMatchObject({ who: "default/named1 net2" });
    await books.entriesOf("red-10.29.0.0-24", ["default/named1", "default/named2"]);
  });

  test("an address by number in the network selection: that one and no other, held while the pod lives", async () => {
    await defineNetwork(lab, {
      name: "static",
      wire: "bridge",
      ipam: { range: "10.30.0.0/24", allow_requested_ips: true },
    });
    const wanted = JSON.stringify([{ name: "static", ips: ["10.30.0.77"] }]);
    await createPod(lab, "static1", wanted);
    expect(ipsOf(await runningPod(lab, "static1"), "static")).toEqual(["10.30.0.77"]);
    expect(await books.recordOf("10.30.0.77")).toMatchObject({ who: "default/static1 net1" });
    await createPod(lab, "static2", wanted);
    expect(await refusalOf(lab, "static2", "10.30.0.77")).toContain("static1");
    await removePod(lab, "static2");
    expect(await books.recordOf("10.30.0.77")).toMatchObject({ who: "default/static1 net1" });
  });

  test("records of a former life under the same name: the pod gets an address, and they are freed", async () => {
    // A full /30, as whereabouts leaves it behind: entries and reservations of a pod that was force-deleted.
    await books.writeAsWhereabouts("10.34.0.0/30", { 1: "default/reborn", 2: "default/reborn" }, "10.34.0.");
    await defineNetwork(lab, { name: "reborn", wire: "bridge", ipam: { range: "10.34.0.0/30" } });
    await createPod(lab, "reborn", "reborn");
    const [address = ""] = ipsOf(await runningPod(lab, "reborn"), "reborn");
    expect(address).toMatch(/^10\.34\.0\.[12]$/);
    await books.entriesOf("10.34.0.0-30", ["default/reborn"]);
    expect(await books.recordOf(address)).toMatchObject({ who: "default/reborn net1" });
  });

  test("two entries for one pod: the one it uses stays while it lives, and both go with it", async () => {
    await defineNetwork(lab, { name: "twice", wire: "bridge", ipam: { range: "10.35.0.0/24" } });
    await books.writeAsWhereabouts("10.35.0.0/24", { 77: "default/twice" }, "10.35.0.");
    await createPod(lab, "twice", "twice");
    const [address = ""] = ipsOf(await runningPod(lab, "twice"), "twice");
    await removePod(lab, "twice");
    await books.unrecorded(address);
    await books.unrecorded("10.35.0.77");
    await books.entriesOf("10.35.0.0-24", []);
  });

  test(
    "621: a sticky StatefulSet's pods keep their addresses, and a passer-by does not get them",
    { timeout: patientMs },
    async () => {
      await defineNetwork(lab, {
        name: "sticky",
        wire: "bridge",
        ipam: { range: "10.31.0.0/24", sticky: "statefulset" },
      });
      await deployStateful(lab, { name: "sticky", networks: "sticky", replicas: 4 });
      const addresses = async () => {
        const pods = await runningPods(lab, "app=sticky", 4);
        return new Map(pods.map((pod) => [pod.metadata.name, ipsOf(pod, "sticky")]));
      };
      const before = await addresses();
      expect(new Set([...before.values()].flat()).size).toBe(4);
      const path = "/api/v1/namespaces/default/pods/sticky-2";
      const { uid } = (await lab.rest.get<{ metadata: { uid: string } }>(path)).metadata;
      await lab.rest.delete(path);
      await createPod(lab, "passer-by", "sticky");
      await runningPod(lab, "passer-by");
      await until(async () => (await lab.rest.get<{ metadata: { uid: string } }>(path)).metadata.uid !== uid, {
        what: "the successor of sticky-2",
        everyMs: 200,
      });
      expect(await addresses()).toEqual(before);
    },
  );
});

describe("a network of another namespace", () => {
  const own = { pool_namespace: "nad", network_name: "rent" };
  beforeAll(async () => {
    // As docs/install.md has it for namespaces with pools of their own.
    const accounts = ["node", "controller"].map((name) => `--serviceaccount=kube-system:holdfast-${name}`);
    await lab.kubectl([
      "create",
      "rolebinding",
      "holdfast-pools",
      "--namespace=tenant",
      "--clusterrole=holdfast-pool-namespace",
      ...accounts,
    ]);
    await defineNetwork(lab, {
      name: "rent",
      namespace: "tenant",
      wire: "bridge",
      ipam: { range: "10.32.0.0/24", ...own },
    });
    await defineNetwork(lab, { name: "common", wire: "bridge", ipam: { range: "10.33.0.0/24" } });
  });

  test("used by its own pods: pool and record are in that namespace", async () => {
    await createPod(lab, "renter", "rent", { namespace: "tenant", node: "node1" });
    expect(ipsOf(await runningPod(lab, "renter", "tenant"), "rent", "tenant")).toEqual(["10.32.0.1"]);
    expect((await books.pool("rent-10.32.0.0-24", "tenant")).spec.range).toBe("10.32.0.0/24");
    expect(await books.recordOf("10.32.0.1", "rent")).toMatchObject({ who: "tenant/renter net1", namespace: "tenant" });
  });

  test("refused to another namespace's pod where the daemon isolates namespaces", async () => {
    await createPod(lab, "stranger", "tenant/rent", { node: "node2" });
    expect(await refusalOf(lab, "stranger", "tenant")).toContain("default");
    await removePod(lab, "stranger");
  });

  test("allowed for one that is for all", async () => {
    await createPod(lab, "guest", "default/common", { namespace: "tenant", node: "node1" });
    expect(ipsOf(await runningPod(lab, "guest", "tenant"), "common")).toEqual(["10.33.0.1"]);
  });

  test("allowed where the daemon does not isolate: the pool of the definition's namespace gives it", async () => {
    await createPod(lab, "visitor", "tenant/rent", { node: "node3" });
    expect(ipsOf(await runningPod(lab, "visitor"), "rent", "tenant")).toEqual(["10.32.0.2"]);
  });
});

test("at the end `check` finds nothing but the ranges that overlap on purpose", { timeout: patientMs }, async () => {
  await holdfast.waitClean("overlapping-ranges");
});
