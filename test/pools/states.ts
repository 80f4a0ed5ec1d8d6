// The shared state: whereabouts seen, its pools taken over, and daemons told.
import { beforeEach, describe, expect, it } from "vitest";

import type { PoolAllocation } from "../../src/api/pools/ip-pool.ts";
import { leaseNodeAnnotation, nodeLeaseName, seenAnnotation } from "../../src/api/slices/node-lease.ts";
import { readCoexistence, writeWord } from "../../src/cli/coexistence-word.ts";
import { begunAt, readWord, wordData } from "../../src/cluster/coexistence-word.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { readSlicedRanges, slicedKey, writeSlicedRanges } from "../../src/cluster/sliced-ranges.ts";
import { fetchState, readState, restsOf, stateName } from "../../src/cluster/state.ts";
import { assembleController, type ControllerOptions } from "../../src/controller/controller.ts";
import { ownerKey } from "../../src/ipam/owner.ts";
import { realClock, sleep } from "../../src/kube/clock.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { silent } from "../../src/log/log.ts";
import { parseAddress } from "../../src/net/address.ts";
import { CoexistenceFinalizers } from "../../src/pools/coexistence/finalizers.ts";
import { networksOf } from "../../src/pools/networks.ts";
import { StateKeeper } from "../../src/pools/state-keeper.ts";
import { until } from "../conformance/api/until.ts";
import { type Fixture, system } from "./fixture.ts";
import { Watching } from "./watching.ts";

const name = "10.0.0.0-24";

/** As whereabouts writes it. */
function entry(podref: string, id = "sandbox"): PoolAllocation {
  return { id, podref, ifname: "net1" };
}

/** A leader of pools, at once. */
function lead(client: KubeClient, options: Partial<ControllerOptions>, signal: AbortSignal): Promise<void> {
  const common = { clock: realClock, log: silent, systemNamespace: system, cooldownMs: 0, instance: "t" };
  return assembleController({ client, ...common, reconcilers: ["pools"], ...options }).run(signal);
}

export function stateStories(fixture: () => Fixture): void {
  beforeEach(async () => {
    await fixture().clear();
    await fixture().node("n1");
  });

  describe("the shared state", () => {
    const keeper = (
      watching: Watching,
      onStray: (signs: readonly string[]) => void = () => {},
      onPlace: (namespace: string) => void = () => {},
    ) =>
      new StateKeeper({
        onPlace,
        caches: watching.caches,
        client: fixture().client,
        clock: watching.clock,
        log: silent,
        systemNamespace: system,
        uses: () => [],
        onStray,
      });
    const state = async () => {
      const maps = (await fixture().client.list(kinds.configMaps, { namespace: system })).items;
      return readState(maps.find(({ metadata }) => metadata.name === stateName));
    };

    const paused = (words: string) =>
      fixture().client.patch(
        kinds.configMaps,
        { namespace: system, name: stateName },
        { type: "merge", body: { data: { paused: words } } },
      );

    it("while handing out is paused the leader writes no pool and no record, and goes on afterwards", async () => {
      await fixture().whereaboutsPool(name, "10.0.0.0/24");
      const six = await fixture().hold("10.0.0.6", { uid: "u6", name: "b" });
      const request = { domain: six.domain, address: six.address, version: six.version, owner: ownerKey(six.owner) };
      await fixture()
        .ledger()
        .release({ ...request, cooldownMs: 1 });
      await fixture().hold("10.0.0.5", { uid: "u5", name: "a" });
      const metadata = { namespace: system, name: stateName };
      const data = { coexistence: "off", why: "", paused: "migrate by anna" };
      await fixture().client.create(kinds.configMaps, { metadata, data });
      const versions = async () =>
        [
          ...(await fixture().client.list(kinds.ipPools)).items,
          ...(await fixture().client.list(kinds.reservations)).items,
          ...(await fixture().client.list(kinds.configMaps, { namespace: system })).items,
        ].map((object) => `${object.metadata.name} ${object.metadata.resourceVersion}`);
      const before = await versions();
      const stop = new AbortController();
      const { client } = fixture();
      const limits = { observeMs: 1, keeperGraceMs: 1, strandedGraceMs: 1, supersededMs: 1 };
      const running = lead(client, { limits }, stop.signal);
      try {
        await sleep(realClock, 3000, stop.signal);
        expect(await versions()).toEqual(before);
        await paused("");
        await until("the leader goes on", async () => {
          const pool = await fixture().readPool(name);
          const names = (await client.list(kinds.reservations)).items.map((object) => object.metadata.name);
          return "5" in pool.spec.allocations && pool.status !== undefined && !names.includes("10.0.0.6");
        });
      } finally {
        stop.abort();
        await running;
      }
    });

    it("a leader that begins goes by the word of the one before: nothing is written to be taken back", async () => {
      await fixture().whereaboutsPool(name, "10.0.0.0/24", {});
      await fixture().hold("10.0.0.5", { uid: "u5", name: "a" });
      const { client } = fixture();
      const metadata = { namespace: system, name: stateName };
      await client.create(kinds.configMaps, { metadata, data: { coexistence: "off", why: "", paused: "" } });
      const versions = async () =>
        (await client.list(kinds.reservations)).items.map((each) => each.metadata.resourceVersion);
      const before = await versions();
      const stop = new AbortController();
      const running = lead(client, {}, stop.signal);
      try {
        await until("the leader has shown the hold", async () => {
          const { spec, status } = await fixture().readPool(name);
          return "5" in spec.allocations && status !== undefined;
        });
        expect(JSON.stringify((await fixture().readPool(name)).status)).not.toContain("Coexisting");
        expect(await versions()).toEqual(before);
      } finally {
        stop.abort();
        await running;
      }
    });

    it("a cluster without whereabouts does not wait", async () => {
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const leader = keeper(watching);
      expect(leader.coexistence).toBe(true);
      await leader.look(watching.signal);
      expect(await state()).toMatchObject({ coexistence: false, why: "", paused: "" });
      expect(leader.coexistence).toBe(false);
    });

    const workload = async (namespace: string, env: { name: string; value: string }[] = []) => {
      const labels = { app: "staff" };
      const containers = [{ name: "c", image: "registry.example/apps/staff-whereabouts:1.0", env }];
      const template = { metadata: { labels }, spec: { containers } };
      const spec = { replicas: 1, selector: { matchLabels: labels }, template };
      await fixture().client.create(kinds.deployments, { metadata: { namespace, name: "staff" }, spec });
    };
    const say = (word: "on" | "off", namespace?: string) =>
      fixture().client.patch(
        kinds.configMaps,
        { namespace: system, name: stateName },
        { type: "merge", body: { data: wordData({ word, by: "anna", ...(namespace && { namespace }) }) } },
      );

    it("a tenant's Deployment with whereabouts in its image's name changes nothing, before or after the word", async () => {
      await workload("shop");
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const told: string[] = [];
      const leader = keeper(watching, (signs) => told.push(...signs));
      await leader.look(watching.signal);
      await watching.clock.advance(120_000);
      await leader.look(watching.signal);
      expect([await state(), leader.coexistence, told]).toMatchObject([{ coexistence: false }, false, []]);
    });

    it("whereabouts that comes when coexistence is off is told of, and changes nothing", async () => {
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const told: string[] = [];
      const leader = keeper(watching, (signs) => told.push(...signs));
      await leader.look(watching.signal);
      await workload(system);
      await watching.clock.advance(60_000);
      await leader.look(watching.signal);
      await leader.look(watching.signal);
      expect(told).toEqual([`Deployment ${system}/staff runs whereabouts.`]);
      expect(await state()).toMatchObject({ coexistence: false });
    });

    it("where whereabouts keeps its pools elsewhere nothing is handed out, until the operator's word", async () => {
      await workload(system, [{ name: "WHEREABOUTS_NAMESPACE", value: "blue-pools" }]);
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      await keeper(watching).look(watching.signal);
      const read = async () => (await fetchState(fixture().client, { namespace: system }))?.data;
      expect(await read()).toMatchObject({ coexistence: "undecided", why: expect.stringContaining("two ledgers") });
      await say("off");
      await keeper(watching).look(watching.signal);
      expect(await read()).toMatchObject({ coexistence: "off", why: "" });
    });

    it("on in the namespace of whereabouts: nothing is handed out until every daemon knows, then pools are there; off leaves them", async () => {
      const elsewhere = "their-pools";
      const sliced = writeSlicedRanges({ version: 4, ranges: [] });
      const before = { coexistence: "off", why: "", paused: "", [slicedKey]: sliced };
      await fixture().client.create(kinds.configMaps, {
        metadata: { namespace: system, name: stateName },
        data: before,
      });
      await fixture().renew("n1");
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const places: string[] = [];
      const leader = keeper(
        watching,
        () => {},
        (namespace) => void places.push(namespace),
      );
      const read = async () => (await fetchState(fixture().client, { namespace: system }))?.data;
      const command = { client: fixture().client, clock: realClock, signal: watching.signal };
      await fixture().whereaboutsPool(name, "10.0.0.0/24");
      const word = { word: "on", by: "anna", namespace: elsewhere } as const;
      await expect(writeWord(command, system, word)).rejects.toThrow(
        `IPPool ${system}/${name} would be a second ledger`,
      );
      await say("on", elsewhere);
      await leader.look(watching.signal);
      expect(await read(), "by hand, past the command").toMatchObject({
        coexistence: "off",
        why: expect.stringContaining("would be a second ledger"),
      });
      await fixture().client.delete(kinds.ipPools, { namespace: system, name });
      await writeWord(command, system, word);
      await leader.look(watching.signal);
      expect(await read()).toMatchObject({ coexistence: "undecided", why: expect.stringContaining(elsewhere) });
      await watching.heard("n1");
      await leader.look(watching.signal);
      expect(await read()).toMatchObject({ coexistence: "undecided", why: expect.stringContaining("n1") });
      expect(new Set(places)).toEqual(new Set([system]));
      const body = { metadata: { annotations: { [seenAnnotation]: "5" } } };
      await fixture().client.patch(
        kinds.leases,
        { namespace: system, name: nodeLeaseName("n1") },
        { type: "merge", body },
      );
      await watching.heard("n1");
      const version = async () => readSlicedRanges({ data: (await read())! })!.version;
      await leader.look(watching.signal);
      expect(await read()).toMatchObject({ coexistence: "undecided", "pool-namespace": elsewhere });
      expect([places.at(-1), await version()], "daemons believe it by a newer version").toEqual([elsewhere, 6]);
      await leader.look(watching.signal);
      expect(await read()).toMatchObject({ coexistence: "on", why: "", "pool-namespace": elsewhere });
      for (const lost of [null, "", "another"]) {
        const last = await version();
        const at = { namespace: system, name: stateName };
        const slip = { type: "merge", body: { data: { "pool-namespace": lost } } } as const;
        await fixture().client.patch(kinds.configMaps, at, slip);
        await leader.look(watching.signal);
        expect(await read(), "a slip of the hand").toMatchObject({ coexistence: "on", "pool-namespace": elsewhere });
        expect([places.at(-1), await version()]).toEqual([elsewhere, last + 1]);
      }
      expect(restsOf(readState(await fetchState(fixture().client, { namespace: system })))).not.toBe("");
      await say("off");
      await leader.look(watching.signal);
      await watching.clock.advance(120_000);
      await watching.caughtUp();
      await leader.look(watching.signal);
      expect(await read()).toMatchObject({ coexistence: "off", why: "", "pool-namespace": elsewhere });
      expect(restsOf(readState(await fetchState(fixture().client, { namespace: system })))).toContain(elsewhere);
      await fixture().client.delete(kinds.configMaps, { namespace: system, name: stateName });
      await leader.look(watching.signal);
      expect(await read(), "a lost state").toMatchObject({ "pool-namespace": elsewhere });
    });

    it("the way back to the system namespace is said, since a missing key is no word any more", async () => {
      const sliced = writeSlicedRanges({ version: 4, ranges: [] });
      const there = { coexistence: "undecided", why: "", paused: "", "pool-namespace": "their-pools" };
      const data = { ...there, ...wordData({ word: "on", by: "anna", namespace: system }), [slicedKey]: sliced };
      await fixture().client.create(kinds.configMaps, { metadata: { namespace: system, name: stateName }, data });
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const leader = keeper(watching);
      const read = async () => (await fetchState(fixture().client, { namespace: system }))?.data;
      await leader.look(watching.signal);
      expect(await read()).toMatchObject({ coexistence: "undecided", "pool-namespace": "" });
      expect(readSlicedRanges({ data: (await read())! })?.version).toBe(5);
      await leader.look(watching.signal);
      expect(await read()).toMatchObject({ coexistence: "on", why: "", "pool-namespace": "" });
      expect(readState(await fetchState(fixture().client, { namespace: system })).poolNamespace).toBeUndefined();
    });

    it("a lost word about pools elsewhere is not guessed: nothing is handed out", async () => {
      const metadata = { namespace: "shop", name };
      await fixture().client.create(kinds.ipPools, { metadata, spec: { range: "10.0.0.0/24", allocations: {} } });
      await fixture().hold("10.0.0.5", { uid: "u5", name: "a" });
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const { caches, clock } = watching;
      const kept = new CoexistenceFinalizers({
        caches,
        clock,
        client: fixture().client,
        log: silent,
        coexistence: () => true,
      });
      await kept.round(watching.signal);
      await watching.caughtUp();
      await keeper(watching).look(watching.signal);
      const read = async () => (await fetchState(fixture().client, { namespace: system }))?.data;
      expect(await read()).toMatchObject({
        coexistence: "undecided",
        why: expect.stringContaining("--namespace shop"),
      });
    });

    it("the operator's word: on at once, with what is left to do before whereabouts starts; off through the gate", async () => {
      await fixture().whereaboutsPool(name, "10.0.0.0/24");
      await fixture().hold("10.0.0.5", { uid: "u5", name: "a" });
      const sliced = writeSlicedRanges({ version: 4, ranges: [] });
      const data = { coexistence: "off", why: "", paused: "", [slicedKey]: sliced };
      await fixture().client.create(kinds.configMaps, { metadata: { namespace: system, name: stateName }, data });
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const leader = keeper(watching);
      await leader.look(watching.signal);
      expect(await state()).toMatchObject({ coexistence: false });
      await say("on");
      await leader.look(watching.signal);
      expect(await state()).toMatchObject({ coexistence: true, why: expect.stringContaining("1 hold is") });
      const begun = await fetchState(fixture().client, { namespace: system });
      expect([begunAt(begun), readSlicedRanges(begun)?.version]).toEqual([5, 5]);
      const look = () =>
        readCoexistence(
          { client: fixture().client, clock: realClock, signal: watching.signal },
          { systemNamespace: system, whereaboutsNamespaces: [] },
        );
      const seen = async (version: number) => {
        const renewTime = new Date().toISOString().replace("Z", "000Z");
        const annotations = { [leaseNodeAnnotation]: "n1", [seenAnnotation]: String(version) };
        const lease = { metadata: { namespace: system, name: nodeLeaseName("n1"), annotations }, spec: { renewTime } };
        await fixture()
          .client.delete(kinds.leases, { namespace: system, name: nodeLeaseName("n1") })
          .catch(() => {});
        await fixture().client.create(kinds.leases, lease);
      };
      await seen(4);
      expect(await look()).toMatchObject({ inForce: "on", unaware: ["n1"], why: expect.stringContaining("1 hold is") });
      await seen(5);
      expect(await look()).toMatchObject({ word: { word: "on", by: "anna" }, inForce: "on", unaware: [] });
      const { caches, clock } = watching;
      const common = { caches, clock, client: fixture().client, log: silent };
      await new CoexistenceFinalizers({ ...common, coexistence: () => true }).round(watching.signal);
      const value = { id: "", podref: "shop/a", ifname: "net1", uid: "u5" };
      const operations = [{ op: "add", path: "/spec/allocations/5", value }] as const;
      await fixture().client.patch(kinds.ipPools, { namespace: system, name }, { type: "json", operations });
      await watching.caughtUp();
      await leader.look(watching.signal);
      expect(await state()).toMatchObject({ coexistence: true, why: "" });
      await say("off");
      await leader.look(watching.signal);
      expect(await state()).toMatchObject({ coexistence: true, why: expect.stringContaining("later") });
      await watching.clock.advance(120_000);
      await watching.caughtUp();
      await leader.look(watching.signal);
      expect(await state()).toMatchObject({ coexistence: false, why: "" });
      expect(readWord(await fetchState(fixture().client, { namespace: system }))).toEqual({ word: "off", by: "anna" });
    });

    it("a deleted state brings the word back: from this leader, or from the finalizers that it left", async () => {
      await fixture().whereaboutsPool(name, "10.0.0.0/24");
      const data = { coexistence: "on", why: "", paused: "", ...wordData({ word: "on", by: "anna" }) };
      await fixture().client.create(kinds.configMaps, { metadata: { namespace: system, name: stateName }, data });
      await fixture().hold("10.0.0.5", { uid: "u5", name: "a" });
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const leader = keeper(watching);
      await leader.look(watching.signal);
      const lose = () => fixture().client.delete(kinds.configMaps, { namespace: system, name: stateName });
      await lose();
      await leader.look(watching.signal);
      expect(await state()).toMatchObject({ coexistence: true });
      const { caches, clock } = watching;
      const common = { caches, clock, client: fixture().client, log: silent };
      await new CoexistenceFinalizers({ ...common, coexistence: () => true }).round(watching.signal);
      await watching.caughtUp();
      await lose();
      await keeper(watching).look(watching.signal);
      expect(await state()).toMatchObject({ coexistence: true });
    });

    const keptHolds = ({ caches, clock }: Watching) =>
      new CoexistenceFinalizers({ caches, clock, client: fixture().client, log: silent, coexistence: () => true });
    const finalized = async () =>
      (await fixture().client.list(kinds.reservations)).items.filter(
        ({ metadata }) => metadata.finalizers !== undefined,
      );
    const readData = async () => (await fetchState(fixture().client, { namespace: system }))?.data;
    /** A whole leader, for long enough to keep holds. */
    const leadAWhile = async () => {
      const { client } = fixture();
      const stop = new AbortController();
      const running = lead(client, {}, stop.signal);
      await sleep(realClock, 1500, stop.signal);
      stop.abort();
      await running;
    };

    it.each([
      ["gone", undefined],
      ["only the pause of a migration, which is over", { coexistence: "on", why: "", paused: "" }],
    ])("a leader marks no hold of ours before there is a word: the state is %s", async (_, data) => {
      await fixture().whereaboutsPool(name, "10.0.0.0/24");
      await fixture().hold("10.0.0.5", { uid: "u5", name: "a" });
      const metadata = { namespace: system, name: stateName };
      if (data !== undefined) await fixture().client.create(kinds.configMaps, { metadata, data });
      fixture().fault = (_method, path) => path.includes("daemonsets"); // the word cannot be decided yet
      await leadAWhile();
      expect(await finalized()).toEqual([]);
      fixture().fault = undefined;
      await leadAWhile();
      expect(readWord(await fetchState(fixture().client, { namespace: system }))).toMatchObject({ word: "off" });
    });

    it("where the word cannot be decided no hold is marked, and it stays undecided", async () => {
      await workload(system, [{ name: "WHEREABOUTS_NAMESPACE", value: "blue-pools" }]);
      await fixture().whereaboutsPool(name, "10.0.0.0/24");
      await fixture().hold("10.0.0.5", { uid: "u5", name: "a" });
      for (const _ of [1, 2]) {
        await leadAWhile();
        expect(await finalized()).toEqual([]);
        expect(await readData()).toMatchObject({ coexistence: "undecided" });
      }
    });

    it("the word is written before pools are disowned: a leader that ends then leaves it to the next", async () => {
      const { domain } = await fixture().hold("10.0.0.5", { uid: "u5", name: "a" });
      const annotations = { "holdfast.io/adopted": "2026-01-01T00:00:00Z", "holdfast.io/domain": domain };
      const metadata = { namespace: system, name, annotations };
      await fixture().client.create(kinds.ipPools, { metadata, spec: { range: "10.0.0.0/24", allocations: {} } });
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const leader = keeper(watching);
      fixture().fault = (method, path) => method === "PATCH" && path.includes(name);
      await expect(leader.look(watching.signal)).rejects.toThrow("injected");
      expect(await readData()).toMatchObject({ "coexistence-word": "off" });
      fixture().fault = undefined;
      await keptHolds(watching).round(watching.signal);
      await watching.caughtUp();
      await keeper(watching).look(watching.signal);
      expect(await readData()).toMatchObject({ "coexistence-word": "off" });
    });

    it("coexistence that stays on by what it left, with whereabouts gone, says once how it ends", async () => {
      await fixture().whereaboutsPool(name, "10.0.0.0/24");
      await fixture().hold("10.0.0.5", { uid: "u5", name: "a" });
      const metadata = { namespace: system, name: stateName };
      await fixture().client.create(kinds.configMaps, { metadata, data: { coexistence: "on", why: "", paused: "" } });
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      await keptHolds(watching).round(watching.signal);
      await watching.caughtUp();
      const told: string[] = [];
      const { caches, clock } = watching;
      const common = { caches, clock, client: fixture().client, log: silent, systemNamespace: system, uses: () => [] };
      const onUnseen = (words: string) => told.push(words);
      for (const leader of [new StateKeeper({ ...common, onUnseen }), new StateKeeper({ ...common, onUnseen })]) {
        await leader.look(watching.signal);
        await leader.look(watching.signal);
      }
      const end = expect.stringContaining("`holdfast coexistence off` ends it");
      expect(told).toEqual([end]);
      expect(await readData()).toMatchObject({ coexistence: "on", "coexistence-word": "on", "coexistence-by": end });
    });

    it("adopts what whereabouts left once it is silent, then turns coexistence off; not while it is paused", async () => {
      const theirs = { "5": entry("shop/a"), "6": entry("shop/b") };
      await fixture().whereaboutsPool(name, "10.0.0.0/24", theirs);
      await fixture().client.create(kinds.configMaps, {
        metadata: { namespace: system, name: stateName },
        data: { coexistence: "on", why: "", paused: "migrate by anna" },
      });
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const leader = keeper(watching);
      await leader.look(watching.signal);
      await watching.clock.advance(120_000);
      await leader.look(watching.signal);
      expect(await state()).toMatchObject({ coexistence: true, paused: "migrate by anna" });
      expect(await fixture().held()).toEqual([]);
      await paused("");
      await leader.look(watching.signal);
      expect(await fixture().held()).toEqual([]);
      await watching.clock.advance(120_000);
      await leader.look(watching.signal);
      expect(await state()).toMatchObject({ coexistence: false, why: "", paused: "" });
      expect(await fixture().held()).toEqual(["10.0.0.5", "10.0.0.6"]);
      expect((await fixture().readPool(name)).metadata.annotations).toHaveProperty(["holdfast.io/adopted"]);
    });

    it("an entry of whereabouts in an adopted pool is told of and held, and turns nothing on", async () => {
      await fixture().whereaboutsPool(name, "10.0.0.0/24");
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const told: string[] = [];
      const leader = keeper(watching, (signs) => told.push(...signs));
      await leader.look(watching.signal);
      await watching.clock.advance(120_000);
      await leader.look(watching.signal);
      expect((await state()).coexistence).toBe(false);
      const operations = [{ op: "add", path: "/spec/allocations/9", value: entry("shop/new") }] as const;
      await fixture().client.patch(kinds.ipPools, { namespace: system, name }, { type: "json", operations });
      await watching.caughtUp();
      await leader.look(watching.signal);
      expect([(await state()).coexistence, told]).toEqual([false, [expect.stringContaining(name)]]);
      expect(await fixture().held()).toEqual(["10.0.0.9"]);
    });

    it("what was held before whereabouts came cannot be deleted by its reconciler, nor taken under its IPv6 name", async () => {
      const owner = {
        kind: "pod",
        uid: "u",
        namespace: "shop",
        name: "web",
        interface: "net1",
        containerId: "c",
      } as const;
      const ledger = new ReservationLedger({ client: fixture().client, namespace: system, node: "n1", now: Date.now });
      for (const address of ["10.0.0.4", "fd00::4"]) {
        await ledger.take({ domain: "network:blue", address: parseAddress(address), owner });
      }
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      let isActive = false;
      const { caches, clock } = watching;
      const kept = new CoexistenceFinalizers({
        caches,
        clock,
        client: fixture().client,
        log: silent,
        coexistence: () => isActive,
      });
      expect(await kept.round(watching.signal)).toBe(0);
      isActive = true;
      expect(await kept.round(watching.signal)).toBe(2);
      await watching.caughtUp();
      isActive = false;
      expect(await kept.round(watching.signal)).toBe(3); // two finalizers, and the second name
      const names = (await fixture().client.list(kinds.reservations, { namespace: system })).items.flatMap(
        ({ metadata }) => (metadata.finalizers === undefined ? [metadata.name] : []),
      );
      expect(names).toEqual(["blue-10.0.0.4", "blue-fd00-0000-0000-0000-0000-0000-0000-0004"]);
      await watching.caughtUp();
      expect(await kept.round(watching.signal)).toBe(0);
      isActive = true;
      expect(await kept.round(watching.signal)).toBe(2);
      await watching.caughtUp();
      expect(await kept.round(watching.signal)).toBe(0);
      const named = (each: string) => ({ namespace: system, name: each });
      for (const each of ["blue-10.0.0.4", "blue-fd00-0000-0000-0000-0000-0000-0000-0004"]) {
        await fixture().client.delete(kinds.reservations, named(each));
      }
      const alias = await fixture().client.get(kinds.reservations, named("blue-fd00--4"));
      expect(alias.spec.podref).toBe("shop/web");
      expect((await ledger.find("network:blue", ownerKey(owner))).map(({ address }) => String(address))).toEqual([
        "10.0.0.4",
        "fd00::4",
      ]);
      const beside = { client: fixture().client, namespace: system, now: Date.now, coexistence: () => true };
      for (const address of ["10.0.0.4", "fd00::4"]) {
        const guard = { domain: "network:blue", address: parseAddress(address), owner: ownerKey(owner), cooldownMs: 0 };
        expect(await new ReservationLedger(beside).release(guard)).toEqual({ outcome: "released" });
      }
      expect((await fixture().client.list(kinds.reservations, { namespace: system })).items).toEqual([]);
    });

    it("a leader that finds coexistence on takes no adoption for granted", async () => {
      await fixture().client.create(kinds.ipPools, {
        metadata: { namespace: system, name, annotations: { "holdfast.io/adopted": "2026-01-01T00:00:00Z" } },
        spec: { range: "10.0.0.0/24", allocations: { "5": { ...entry("shop/a"), kind: "pod" } } },
      });
      const metadata = { namespace: system, name: stateName };
      await fixture().client.create(kinds.configMaps, { metadata, data: { coexistence: "on", why: "", paused: "" } });
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const leader = keeper(watching);
      await leader.look(watching.signal);
      await watching.caughtUp();
      await leader.look(watching.signal);
      expect((await state()).coexistence).toBe(true);
      await watching.clock.advance(120_000);
      await leader.look(watching.signal);
      expect((await state()).coexistence).toBe(false);
      expect(await fixture().held()).toEqual(["10.0.0.5"]);
    });

    it("a pool that cannot be read, or adopted, keeps the leader neither from the others nor from seeing whereabouts", async () => {
      await fixture().whereaboutsPool(name, "10.0.0.0/24", { "5": entry("shop/a") });
      await fixture().whereaboutsPool("nonsense", "10.0.0.0/99", { "5": entry("shop/b") });
      await fixture().whereaboutsPool("10.1.0.0-24", "10.1.0.0/24", { "5": entry("shop/c") });
      const metadata = { namespace: system, name: stateName };
      await fixture().client.create(kinds.configMaps, { metadata, data: { coexistence: "off", why: "", paused: "" } });
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const told: string[] = [];
      const leader = keeper(watching, (signs) => told.push(...signs));
      fixture().fault = (method, path) => method === "PATCH" && path.includes(name);
      await leader.look(watching.signal);
      expect((await fixture().readPool("10.1.0.0-24")).metadata.annotations).toHaveProperty(["holdfast.io/adopted"]);
      expect((await fixture().readPool(name)).metadata.annotations ?? {}).not.toHaveProperty(["holdfast.io/adopted"]);
      fixture().fault = undefined;
      await leader.look(watching.signal);
      expect((await fixture().readPool(name)).metadata.annotations).toHaveProperty(["holdfast.io/adopted"]);
      const operations = [{ op: "add", path: "/spec/allocations/9", value: entry("shop/new") }] as const;
      await fixture().client.patch(kinds.ipPools, { namespace: system, name }, { type: "json", operations });
      await watching.caughtUp();
      await leader.look(watching.signal);
      expect(told).toEqual([expect.stringContaining(name)]);
    });

    it("a pool under two names is one domain, also where overlaps are not protected", async () => {
      await fixture().whereaboutsPool("blue", "10.0.0.0/24", { "5": entry("shop/a") });
      await fixture().whereaboutsPool("blue-10.0.0.0-24", "10.0.0.0/24", { "6": entry("shop/b") });
      const ipam = { type: "holdfast", range: "10.0.0.0/24", network_name: "blue", enable_overlapping_ranges: false };
      const config = JSON.stringify({ cniVersion: "1.0.0", name: "blue", type: "bridge", ipam });
      const { uses } = networksOf([{ metadata: { namespace: "shop", name: "blue" }, spec: { config } }], system);
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const { caches, clock } = watching;
      const common = { caches, client: fixture().client, clock, log: silent, systemNamespace: system };
      const leader = new StateKeeper({ ...common, uses: () => uses });
      await leader.look(watching.signal);
      await clock.advance(120_000);
      await leader.look(watching.signal);
      const { items } = await fixture().client.list(kinds.holds);
      const domain = `pool:${system}/blue-10.0.0.0-24`;
      expect(items.map(({ spec }) => `${spec.address} ${spec.domain}`)).toEqual([
        `10.0.0.5 ${domain}`,
        `10.0.0.6 ${domain}`,
      ]);
      expect((await fixture().readPool("blue")).metadata.annotations).toMatchObject({ "holdfast.io/domain": domain });
    });

    it("a writer that calls itself whereabouts keeps it on", async () => {
      const whereabouts = new KubeClient({ transport: fixture().connection.transport, userAgent: "whereabouts" });
      await whereabouts.create(kinds.ipPools, {
        metadata: { namespace: system, name },
        spec: { range: "10.0.0.0/24", allocations: { "5": entry("shop/a") } },
      });
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      await watching.clock.advance(Date.now() - watching.clock.wallMs());
      const leader = keeper(watching);
      await leader.look(watching.signal);
      await watching.clock.advance(180_000);
      await leader.look(watching.signal);
      expect(await state()).toMatchObject({ coexistence: true });
      const { by } = readWord(await fetchState(fixture().client, { namespace: system }))!;
      expect(by).toContain("whereabouts");
      expect(await fixture().held()).toEqual([]);
    });

    it("where the server does not answer nothing is concluded", async () => {
      await using watching = new Watching(fixture());
      await watching.caughtUp();
      const leader = keeper(watching);
      fixture().fault = (_method, path) => path.includes("daemonsets");
      await expect(leader.look(watching.signal)).rejects.toThrow("injected");
      expect(leader.coexistence).toBe(true);
      fixture().fault = undefined;
      await leader.look(watching.signal);
      expect(leader.coexistence).toBe(false);
    });
  });
}
