// Leak collection on a server: what is freed, what never is, and whereabouts' users' complaints about its reconciler.
import { beforeEach, describe, expect, it } from "vitest";

import * as kinds from "../../src/cluster/resources.ts";
import { removeObject } from "../../src/ledger/reservation/guarded-delete.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { silent } from "../../src/log/log.ts";
import { parseAddress } from "../../src/net/address.ts";
import { CoexistenceFinalizers } from "../../src/pools/coexistence/finalizers.ts";
import { podOwner, type Fixture, system } from "./fixture.ts";
import { Watching, whileTimePasses } from "./watching.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export function leakStories(fixture: () => Fixture): void {
  beforeEach(async () => {
    await fixture().clear();
    await fixture().node("n1");
  });

  describe("complaints about whereabouts' reconciler", () => {
    it("162, 176, 207: a live pod's address is never freed, also without network-status", async () => {
      const uid = await fixture().pod("shop", "web", { phase: "Pending" });
      await fixture().hold("10.0.0.5", { uid });
      await fixture().hold("10.0.0.6", {}, { node: "" }); // adopted: no UID
      await using watching = new Watching(fixture());
      await watching.lookTwice();
      await watching.look(600_000);
      expect(watching.suspected).toEqual([]);
      expect(await fixture().held()).toEqual(["10.0.0.5", "10.0.0.6"]);
    });

    it("162: a pod list that came too late frees nothing: pods are read again before", async () => {
      await fixture().hold("10.0.0.5", {}, { node: "" });
      await using watching = new Watching(fixture());
      await watching.look();
      expect(watching.suspected).toHaveLength(1);
      // The pod comes now; the cache has not heard of it when the second look is taken.
      await watching.caughtUp();
      await watching.blind();
      await watching.clock.advance(30_000);
      await fixture().pod("shop", "web");
      await watching.collector.look(watching.signal);
      expect(watching.freed).toEqual([]);
      expect(await fixture().held()).toEqual(["10.0.0.5"]);
    });

    it("546, 484, 75: what leaked while nobody watched is found by looking, not by events", async () => {
      await fixture().hold("10.0.0.5", { uid: "gone-while-we-were-down" });
      await fixture().hold("fd00::5", { uid: "gone-too" });
      await fixture().hold("10.0.0.5", { uid: "of-a-named-network" }, { domain: "network:blue" });
      await fixture().hold("10.0.0.7", { uid: "no-overlaps" }, { domain: "pool:kube-system/10.0.0.0-24" });
      await using watching = new Watching(fixture());
      await watching.look();
      expect(watching.freed).toEqual([]);
      expect(await fixture().held()).toHaveLength(4);
      await watching.look(30_000);
      expect(watching.freed.map(({ reason }) => reason)).toEqual(Array(4).fill("pod-gone"));
      expect(await fixture().held()).toEqual([]);
    });

    it("484: a crashed node keeps everything until its Node is deleted and nothing was heard of it for five minutes since", async () => {
      await fixture().renew("n1", 600);
      const uid = await fixture().pod("shop", "web");
      await fixture().hold("10.0.0.5", { uid });
      await fixture().node("n1", "Unknown");
      await fixture().deletePod("shop", "web");
      await using watching = new Watching(fixture());
      await watching.lookTwice();
      await watching.silence(hourMs);
      await watching.lookTwice();
      expect(await fixture().held()).toEqual(["10.0.0.5"]);
      await fixture().client.delete(kinds.nodes, { name: "n1" });
      await watching.caughtUp();
      await watching.silence(4 * minuteMs);
      await watching.lookTwice();
      expect(watching.freed).toEqual([]);
      await watching.silence(minuteMs);
      await watching.lookTwice();
      expect(watching.freed).toEqual([{ address: "10.0.0.5", reason: "pod-gone" }]);
    });

    it("484: where no leader saw the Node deleted, it keeps everything for the quarantine", async () => {
      await fixture().renew("n1", 600);
      const uid = await fixture().pod("shop", "web");
      await fixture().hold("10.0.0.5", { uid });
      await fixture().deletePod("shop", "web");
      await fixture().client.delete(kinds.nodes, { name: "n1" });
      await using watching = new Watching(fixture(), {}, { quarantineMs: hourMs });
      await watching.silence(55 * minuteMs);
      await watching.lookTwice();
      expect(watching.freed).toEqual([]);
      await watching.silence(5 * minuteMs);
      await watching.lookTwice();
      expect(watching.freed).toEqual([{ address: "10.0.0.5", reason: "pod-gone" }]);
    });

    it("484: a Node that was deleted while its machine runs on keeps everything", async () => {
      const uid = await fixture().pod("shop", "web");
      await fixture().hold("10.0.0.5", { uid });
      await fixture().deletePod("shop", "web");
      await fixture().node("n2");
      await fixture().client.delete(kinds.nodes, { name: "n1" });
      await using watching = new Watching(fixture(), {}, { quarantineMs: hourMs });
      for (let quarter = 0; quarter < 8; quarter++) {
        await watching.silence(4 * minuteMs);
        await watching.clock.advance(11 * minuteMs); // deaf for a while: that is no silence either
        await fixture().renew("n1", 600);
        await watching.heard("n1");
        await watching.look();
      }
      expect(watching.freed).toEqual([]);
    });

    it("what a pod without a UID holds goes with its machine, and not before", async () => {
      await fixture().renew("n1", 600);
      await fixture().hold("10.0.0.5", { uid: "", name: "static" });
      await fixture().client.delete(kinds.nodes, { name: "n1" });
      await using watching = new Watching(fixture(), {}, { quarantineMs: hourMs });
      await watching.silence(55 * minuteMs);
      await watching.lookTwice();
      expect(watching.suspected).toEqual([]);
      await watching.silence(5 * minuteMs);
      await watching.lookTwice();
      expect(watching.freed).toEqual([{ address: "10.0.0.5", reason: "pod-gone" }]);
    });

    it("an operator's word frees what the pods of the node held, after five minutes of silence", async () => {
      const uid = await fixture().pod("shop", "web");
      await fixture().hold("10.0.0.5", { uid });
      await fixture().node("n1", "Unknown");
      await fixture().deletePod("shop", "web");
      await fixture().renew("n1");
      await fixture().declareOff("n1");
      await using watching = new Watching(fixture());
      await watching.silence(4 * minuteMs);
      await watching.lookTwice();
      expect(watching.freed).toEqual([]);
      await watching.silence(minuteMs);
      await watching.lookTwice();
      expect(watching.freed).toEqual([{ address: "10.0.0.5", reason: "pod-gone" }]);
    });

    it("a Lease that is renewed between the last look and the release keeps it", async () => {
      const uid = await fixture().pod("shop", "web");
      await fixture().hold("10.0.0.5", { uid });
      await fixture().node("n1", "Unknown");
      await fixture().deletePod("shop", "web");
      await fixture().taint("n1");
      await fixture().renew("n1");
      await using watching = new Watching(fixture());
      await watching.silence(5 * minuteMs);
      await watching.look();
      expect(watching.suspected).toHaveLength(1);
      await watching.blind();
      await fixture().renew("n1");
      await watching.clock.advance(30_000);
      await watching.collector.look(watching.signal);
      expect(watching.freed).toEqual([]);
      expect(await fixture().held()).toEqual(["10.0.0.5"]);
    });

    it("75: or until it is tainted out-of-service, and nothing is heard of it for five minutes", async () => {
      const uid = await fixture().pod("shop", "web");
      await fixture().hold("10.0.0.5", { uid });
      await fixture().node("n1", "Unknown");
      await fixture().deletePod("shop", "web");
      await using watching = new Watching(fixture());
      await watching.lookTwice();
      expect(await fixture().held()).toEqual(["10.0.0.5"]);
      await fixture().taint("n1");
      await watching.silence(4 * minuteMs);
      await watching.lookTwice();
      expect(await fixture().held()).toEqual(["10.0.0.5"]);
      await watching.silence(minuteMs);
      await watching.lookTwice();
      expect(await fixture().held()).toEqual([]);
    });

    it("75: a node that came back with the taint still on it keeps what its running pods hold", async () => {
      const uid = await fixture().pod("shop", "tolerates-all");
      await fixture().hold("10.0.0.5", { uid, name: "tolerates-all" });
      await fixture().taint("n1");
      await using watching = new Watching(fixture());
      await watching.lookTwice();
      await watching.look(600_000);
      expect(watching.freed).toEqual([]);
      await fixture().node("n1", "Unknown");
      await watching.caughtUp();
      await watching.silence(5 * minuteMs);
      await watching.look();
      expect(watching.freed).toEqual([]);
      await watching.look(300_000);
      expect(watching.freed).toEqual([{ address: "10.0.0.5", reason: "node-gone" }]);
    });

    it.each(["Succeeded", "Failed"])(
      "550: after a graceful node shutdown, a pod that is %s holds nothing",
      async (phase) => {
        const uid = await fixture().pod("shop", "web");
        await fixture().hold("10.0.0.5", { uid });
        await fixture().phase("shop", "web", phase);
        await using watching = new Watching(fixture());
        await watching.lookTwice();
        expect(watching.freed).toEqual([{ address: "10.0.0.5", reason: "pod-completed" }]);
      },
    );

    it("291: a pod that restarts gets its own address, and its former self's is freed", async () => {
      const former = await fixture().pod("shop", "web");
      await fixture().hold("10.0.0.5", { uid: former });
      await fixture().deletePod("shop", "web");
      const uid = await fixture().pod("shop", "web");
      await fixture().hold("10.0.0.6", { uid });
      await using watching = new Watching(fixture());
      await watching.lookTwice();
      expect(watching.freed).toEqual([{ address: "10.0.0.5", reason: "pod-replaced" }]);
      expect(await fixture().held()).toEqual(["10.0.0.6"]);
      const again = await fixture()
        .ledger("n1")
        .take({ domain: "network:", address: parseAddress("10.0.0.6"), owner: podOwner({ uid }) });
      expect(again.outcome).toBe("yours");
    });

    it("386, 260: of each pod a few hundred bytes are kept, whatever its size", async () => {
      const env = Array.from({ length: 200 }, (_, index) => ({ name: `LONG_${index}`, value: "x".repeat(100) }));
      await fixture().client.create(kinds.pods, {
        metadata: { namespace: "shop", name: "big", annotations: { note: "y".repeat(10_000) } },
        spec: { nodeName: "n1", containers: [{ name: "c", image: "i", env }] },
      } as kinds.Pod);
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      expect(JSON.stringify(watching.caches.pods.cache.get("shop/big")).length).toBeLessThan(400);
    });
  });

  describe("a free is guarded", () => {
    it("a sandbox that was renewed between two looks keeps the address for another time", async () => {
      await fixture().hold("10.0.0.5", { uid: "gone", containerId: "a" });
      await using watching = new Watching(fixture());
      await watching.look();
      const owner = podOwner({ uid: "gone", containerId: "b" });
      await fixture()
        .ledger("n1")
        .take({ domain: "network:", address: parseAddress("10.0.0.5"), owner });
      await watching.look(30_000);
      expect(watching.freed).toEqual([]);
      await watching.look(30_000);
      expect(watching.freed).toHaveLength(1);
    });

    it("and one that is renewed after the look and before the release, too", async () => {
      await fixture().hold("10.0.0.5", { uid: "gone", containerId: "a" });
      await using watching = new Watching(fixture());
      await watching.look();
      await watching.caughtUp();
      await watching.blind();
      await watching.clock.advance(30_000);
      // Renewed behind the cache's back.
      const owner = podOwner({ uid: "gone", containerId: "b" });
      await fixture()
        .ledger("n1")
        .take({ domain: "network:", address: parseAddress("10.0.0.5"), owner });
      await watching.collector.look(watching.signal);
      expect(watching.freed).toEqual([]);
      expect(await fixture().held()).toEqual(["10.0.0.5"]);
    });

    it.each([
      ["the pod cannot be read", (path: string) => path.includes("/pods/")],
      ["the node cannot be read", (path: string) => path.includes("/nodes/n1")],
    ])("%s: nothing is freed, and nothing is forgotten", async (_story, isFaulty) => {
      await fixture().hold("10.0.0.5", { uid: "gone" });
      await using watching = new Watching(fixture());
      await watching.look();
      await watching.caughtUp();
      fixture().fault = (_method, path) => isFaulty(path);
      await watching.clock.advance(30_000);
      await watching.collector.look(watching.signal);
      expect(watching.freed).toEqual([]);
      fixture().fault = undefined;
      // No third observation is needed: the two stand.
      await watching.collector.look(watching.signal);
      expect(watching.freed).toHaveLength(1);
    });

    it("a node that fell silent behind the cache's back keeps what may have been there", async () => {
      await fixture().node("n9");
      // Adopted from the fork, which knows the UID and not the node; a pod of the same name is elsewhere now.
      await fixture().hold("10.0.0.5", { uid: "former" }, { node: "" });
      await fixture().pod("shop", "web", { node: "n1" });
      await using watching = new Watching(fixture());
      await watching.look();
      expect(watching.suspected).toHaveLength(1);
      await watching.caughtUp();
      await watching.blind();
      await fixture().node("n9", "Unknown");
      await watching.clock.advance(30_000);
      await watching.collector.look(watching.signal);
      expect(watching.freed).toEqual([]);
    });

    it.each([
      ["on", 0],
      ["unknown", 1],
    ] as const)(
      "a pause that is %s between two looks frees nothing; one that is not known forgets nothing",
      async (between, freed) => {
        await fixture().hold("10.0.0.5", { uid: "gone" });
        let pause: "on" | "off" | "unknown" = "off";
        await using watching = new Watching(fixture(), { pause: async () => pause });
        await watching.look();
        pause = between;
        await watching.look(30_000);
        expect(watching.freed).toEqual([]);
        pause = "off";
        await watching.look();
        expect(watching.freed).toHaveLength(freed);
        await watching.look(30_000);
        expect(watching.freed).toHaveLength(1);
      },
    );

    it("a leader that takes over observes anew", async () => {
      await fixture().hold("10.0.0.5", { uid: "gone" });
      await using first = new Watching(fixture());
      await first.look();
      await using second = new Watching(fixture());
      await second.clock.advance(30_000);
      await second.look();
      expect(second.freed).toEqual([]);
      await second.look(30_000);
      expect(second.freed).toHaveLength(1);
    });

    it("two leaders at once free each address once", async () => {
      for (let index = 1; index <= 20; index++)
        await fixture().hold(`10.0.0.${index}`, { uid: "gone", name: `p${index}` });
      await using first = new Watching(fixture());
      await using second = new Watching(fixture());
      await Promise.all([first.look(), second.look()]);
      await Promise.all([first.look(30_000), second.look(30_000)]);
      const all = [...first.freed, ...second.freed].map(({ address }) => address);
      expect(all.length).toBe(new Set(all).size);
      expect(all).toHaveLength(20);
      expect(await fixture().held()).toEqual([]);
    });
  });

  describe("what is not a leak", () => {
    it("a hold of podman's, which no API knows", async () => {
      await fixture().hold("10.0.0.5", { namespace: "default", name: "jolly_curie" });
      await using watching = new Watching(fixture());
      await watching.lookTwice();
      await watching.look(3_600_000);
      expect(await fixture().held()).toEqual(["10.0.0.5"]);
    });

    it("what a claim, a VM's NIC or an owner of a later release holds", async () => {
      for (const [index, kind] of ["claim", "nic", "service"].entries()) {
        await fixture().client.create(kinds.reservations, {
          metadata: { namespace: system, name: `10.0.0.${index}`, annotations: { "holdfast.io/owner-kind": kind } },
          spec: { podref: "shop/not-a-pod" },
        });
      }
      await using watching = new Watching(fixture());
      await watching.lookTwice();
      await watching.look(600_000);
      expect(watching.freed).toEqual([]);
      expect(await fixture().held()).toHaveLength(3);
    });

    it("a kubelet's own pod's, which the API knows under another UID, or not yet", async () => {
      const uid = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
      await fixture().hold("10.0.0.5", { uid, name: "static-n1" });
      await using watching = new Watching(fixture());
      await watching.lookTwice();
      await fixture().pod("shop", "static-n1", { mirrorOf: uid });
      await watching.lookTwice();
      expect(watching.freed).toEqual([]);
      await fixture().phase("shop", "static-n1", "Failed");
      await watching.lookTwice();
      expect(watching.freed).toEqual([{ address: "10.0.0.5", reason: "pod-completed" }]);
    });

    it("a StatefulSet's, while it wants that many; after a grace it is", async () => {
      await fixture().client.create(kinds.statefulSets, statefulSet(2));
      await fixture().hold("10.0.0.5", { uid: "old", name: "db-1" }, { keeper: "statefulset/db" });
      await using watching = new Watching(fixture());
      await watching.lookTwice();
      expect(watching.suspected).toEqual([]);
      await fixture().client.patch(
        kinds.statefulSets,
        { namespace: "shop", name: "db" },
        { type: "merge", body: { spec: { replicas: 1 } } },
      );
      await watching.lookTwice();
      expect(watching.freed).toEqual([]);
      await watching.look(300_000);
      expect(watching.freed).toEqual([{ address: "10.0.0.5", reason: "scaled-down" }]);
    });

    it("a second address of one interface, unless network-status shows the other", async () => {
      await fixture().whereaboutsPool("10.0.0.0-24", "10.0.0.0/24");
      const uid = await fixture().pod("shop", "web");
      await fixture().hold("10.0.0.5", { uid });
      await fixture().hold("10.0.0.6", { uid });
      await using watching = new Watching(fixture());
      await watching.lookTwice();
      expect(watching.freed).toEqual([]);
      const networks = JSON.stringify([{ name: "shop/blue", interface: "net1", ips: ["10.0.0.6"] }]);
      const body = { metadata: { annotations: { "k8s.v1.cni.cncf.io/network-status": networks } } };
      await fixture().client.patch(kinds.pods, { namespace: "shop", name: "web" }, { type: "merge", body });
      await watching.look();
      await watching.look(299_000);
      // It may be that of the sandbox before, while the interfaces of the next are still being made.
      expect(watching.freed).toEqual([]);
      await watching.look(1000);
      expect(watching.freed).toEqual([{ address: "10.0.0.5", reason: "superseded" }]);
    });
  });

  it("second names of IPv6 addresses: gone after whereabouts, also those that a dead daemon left, and not before", async () => {
    const beside = new ReservationLedger({
      client: fixture().client,
      namespace: system,
      now: Date.now,
      node: "n1",
      coexistence: () => true,
    });
    await fixture().whereaboutsPool("fd00---64", "fd00::/64");
    const note = { pool: `${system}/fd00---64` };
    const take = (address: string, name: string) =>
      beside.take({
        domain: "network:",
        address: parseAddress(address),
        owner: podOwner({ uid: `u-${name}`, name }),
        note,
      });
    await take("fd00::1", "lives");
    await take("fd00::2", "gone");
    await take("fd00::3", "followed");
    const full = (last: number) => `fd00-0000-0000-0000-0000-0000-0000-000${last}`;
    const drop = async (name: string) => {
      const at = { namespace: system, name };
      await removeObject(fixture().client, kinds.reservations, await fixture().client.get(kinds.reservations, at));
    };
    await drop(full(2));
    await drop(full(3));
    await fixture().hold("fd00::3", { uid: "another", name: "next" });
    await using watching = new Watching(fixture());
    let coexistence = true;
    const { caches, clock } = watching;
    const { client } = fixture();
    const kept = new CoexistenceFinalizers({ caches, client, clock, log: silent, coexistence: () => coexistence });
    const round = async () => {
      await watching.caughtUp();
      return kept.round(watching.signal);
    };
    expect(await round()).toBe(1); // the finalizer of the one that came without
    expect(await fixture().held()).toContain("fd00--2");
    coexistence = false;
    expect(await round()).toBe(5);
    expect(await fixture().held()).toEqual([full(1), full(3)]);
    expect(await round()).toBe(0);
  });

  it("more than 30 % at once: nothing is freed until an operator says so", async () => {
    for (let index = 1; index <= 60; index++)
      await fixture().hold(`10.0.0.${index}`, { uid: "gone", name: `p${index}` });
    const told: (string | undefined)[] = [];
    await using watching = new Watching(fixture(), { onHeldBack: (why) => told.push(why) });
    await watching.lookTwice();
    expect(watching.freed).toEqual([]);
    expect(told).toEqual([expect.stringContaining("60 of 60 held addresses look leaked at once")]);
    expect(watching.collector.heldBack).toBe(told[0]);
    await using allowed = new Watching(fixture(), { allowMassRelease: true });
    await allowed.look();
    await allowed.caughtUp();
    await allowed.clock.advance(30_000);
    // Fifty at once, then fifty a second.
    await whileTimePasses(allowed.clock, allowed.collector.look(allowed.signal));
    expect(allowed.freed).toHaveLength(60);
    await watching.look();
    expect(told).toEqual([expect.anything(), undefined]);
  });
}

function statefulSet(replicas: number): kinds.StatefulSet {
  const labels = { app: "db" };
  return {
    metadata: { namespace: "shop", name: "db" },
    spec: {
      replicas,
      serviceName: "db",
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  } as kinds.StatefulSet;
}
