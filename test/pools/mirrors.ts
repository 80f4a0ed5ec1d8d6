// What pools show: entries, totals, free maps; and how pools of whereabouts are taken over.
import { beforeEach, describe, expect, it } from "vitest";

import type { PoolAllocation } from "../../src/api/pools/ip-pool.ts";
import { decodeFreeMap, encodeFreeMap, freeMapName } from "../../src/cluster/free-map.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { sweepOnce } from "../../src/pools/mirror/free-map-sweeper.ts";
import { FreeMapWriter } from "../../src/pools/mirror/free-map-writer.ts";
import { MirrorWriter } from "../../src/pools/mirror/mirror-writer.ts";
import { type Fixture, system } from "./fixture.ts";
import { Watching } from "./watching.ts";

const name = "10.0.0.0-24";
const key = `${system}/${name}`;

/** As whereabouts writes it. */
function entry(podref: string, id = "sandbox"): PoolAllocation {
  return { id, podref, ifname: "net1" };
}

class Mirroring extends Watching {
  coexistence = false;
  leaksHeldBack: string | undefined;
  readonly writes: string[] = [];
  readonly #writer: MirrorWriter;

  constructor(fixture: Fixture, entriesMax?: number) {
    super(fixture);
    const { client } = fixture;
    this.#writer = new MirrorWriter({
      caches: this.caches,
      client,
      clock: this.clock,
      freeMaps: new FreeMapWriter(client, () => this.clock.wallMs()),
      coexistence: () => this.coexistence,
      leaksHeldBack: () => this.leaksHeldBack,
      ...(entriesMax !== undefined && { entriesMax }),
      onWrite: (what) => this.writes.push(what),
    });
  }

  /** A second later; what was written. */
  async show(pool = key, laterMs = 1000): Promise<string[]> {
    await this.caughtUp();
    await this.clock.advance(laterMs);
    this.writes.length = 0;
    await this.#writer.reconcile(pool, { signal: this.signal, failures: 0 });
    return [...this.writes];
  }

  /** Without waiting for anything. */
  async again() {
    return this.#writer.reconcile(key, { signal: this.signal, failures: 0 });
  }
}

export function mirrorStories(fixture: () => Fixture): void {
  beforeEach(async () => {
    await fixture().clear();
    await fixture().node("n1");
  });

  const freeMap = async (pool = key) => {
    const map = await fixture().client.get(kinds.configMaps, { namespace: system, name: freeMapName(pool) });
    return decodeFreeMap(map)?.taken.map(({ first, last }) =>
      `${first}` === `${last}` ? `${first}` : `${first}-${last}`,
    );
  };

  describe("the mirror", () => {
    it("shows holds and forgets them; 409: pool and reservations do not diverge", async () => {
      await fixture().whereaboutsPool(name, "10.0.0.0/24");
      await fixture().hold("10.0.0.5", { uid: "u5", name: "a", containerId: "c" });
      const six = await fixture().hold("10.0.0.6", { uid: "u6", name: "b" });
      await using mirror = new Mirroring(fixture());
      expect(await mirror.show()).toEqual(["free-map", "allocations", "status"]);
      const { spec, status } = await fixture().readPool(name);
      expect(spec.allocations).toEqual({
        "5": { id: "c", podref: "shop/a", ifname: "net1", uid: "u5" },
        "6": { id: "", podref: "shop/b", ifname: "net1", uid: "u6" },
      });
      expect(status).toMatchObject({
        firstIP: "10.0.0.1",
        lastIP: "10.0.0.254",
        totalIPs: 254,
        usedIPs: 2,
        freeIPs: 252,
      });
      expect(await freeMap()).toEqual(["10.0.0.5-10.0.0.6"]);
      expect((await fixture().readPool(name)).metadata["managedFields"] ?? []).toEqual([]);
      expect(await mirror.show()).toEqual([]);

      const { domain, address, version } = six;
      await fixture()
        .ledger()
        .release({ domain, address, version, owner: "pod:u6:net1" as never, cooldownMs: 60_000 });
      expect(await mirror.show()).toEqual(["allocations"]);
      expect(Object.keys((await fixture().readPool(name)).spec.allocations)).toEqual(["5"]);
      // What is for eyes, and a hint that is right for the most part, wait for what else changes.
      for (let second = 3; second < 5; second++) expect(await mirror.show()).toEqual([]);
      expect(await mirror.show()).toEqual(["free-map", "status"]);
      expect((await fixture().readPool(name)).status).toMatchObject({ usedIPs: 1, freeIPs: 253 });
      // It rests: nobody's, and not free yet.
      expect(await freeMap()).toEqual(["10.0.0.5-10.0.0.6"]);
    });

    it("writes a pool at most once a second", async () => {
      await fixture().whereaboutsPool(name, "10.0.0.0/24");
      await using mirror = new Mirroring(fixture());
      await mirror.show();
      await fixture().hold("10.0.0.5", { uid: "u5" });
      await mirror.caughtUp();
      expect(await mirror.again()).toEqual({ requeueAfterMs: 1000 });
      expect((await fixture().readPool(name)).spec.allocations).toEqual({});
      expect(await mirror.show()).toContain("allocations");
    });

    it("tells daemons sooner what is left of a pool that fills up", async () => {
      await fixture().whereaboutsPool("10.0.0.0-27", "10.0.0.0/27");
      await using mirror = new Mirroring(fixture());
      const small = `${system}/10.0.0.0-27`;
      await mirror.show(small);
      for (const last of [1, 2, 3]) await fixture().hold(`10.0.0.${last}`, { uid: `u${last}` });
      expect(await mirror.show(small, 250)).toEqual([]); // 3 of 29
      await fixture().hold("10.0.0.4", { uid: "u4" });
      expect(await mirror.show(small, 250)).toEqual(["free-map"]); // 4 of 28
      expect(await mirror.show(small, 500)).toEqual(["allocations"]);
    });

    it("never drops or changes what whereabouts wrote, and says that it is not adopted", async () => {
      const theirs = { "7": entry("shop/old"), "5": entry("shop/other"), nonsense: entry("shop/odd") };
      await fixture().whereaboutsPool(name, "10.0.0.0/24", theirs);
      await fixture().hold("10.0.0.5", { uid: "u5", name: "mine" });
      await using mirror = new Mirroring(fixture());
      await mirror.show();
      await mirror.show();
      const { spec, status } = await fixture().readPool(name);
      expect(spec.allocations).toEqual(theirs);
      const conditions = Object.fromEntries((status?.conditions ?? []).map(({ type, reason }) => [type, reason]));
      expect(conditions).toEqual({ Ready: "NotAdopted", Mirrored: "Contested", LeakCollection: "Running" });
      expect(await freeMap()).toEqual(["10.0.0.5", "10.0.0.7"]);
    });

    it("while whereabouts is active, an entry goes only when its hold is gone on the server too", async () => {
      const ours = { "5": { ...entry("shop/a"), uid: "u5" }, "6": { ...entry("shop/b"), uid: "u6" } };
      await fixture().whereaboutsPool(name, "10.0.0.0/24", ours);
      await using mirror = new Mirroring(fixture());
      mirror.coexistence = true;
      await mirror.caughtUp();
      await mirror.blind();
      // The cache does not know of this one yet.
      await fixture().hold("10.0.0.5", { uid: "u5", name: "a" });
      await mirror.again();
      expect(Object.keys((await fixture().readPool(name)).spec.allocations)).toEqual(["5"]);
    });

    it("beyond the cap shows the lowest, and the totals of all", async () => {
      await fixture().whereaboutsPool(name, "10.0.0.0/24");
      for (let index = 1; index <= 8; index++)
        await fixture().hold(`10.0.0.${index}`, { uid: `u${index}`, name: `p${index}` });
      await using mirror = new Mirroring(fixture(), 5);
      await mirror.show();
      const { spec, status } = await fixture().readPool(name);
      expect(Object.keys(spec.allocations)).toEqual(["1", "2", "3", "4", "5"]);
      expect(status).toMatchObject({ usedIPs: 8, freeIPs: 246 });
      const mirrored = status?.conditions?.find(({ type }) => type === "Mirrored");
      expect(mirrored).toMatchObject({
        status: "False",
        reason: "TooMany",
        message: expect.stringContaining("5 of 8 holds"),
      });
    });

    it("more changes than a patch takes come in several", async () => {
      await fixture().whereaboutsPool("10.1.0.0-16", "10.1.0.0/16", manyOurs(1200));
      await using mirror = new Mirroring(fixture());
      await mirror.show(`${system}/10.1.0.0-16`);
      expect(Object.keys((await fixture().readPool("10.1.0.0-16")).spec.allocations)).toHaveLength(200);
      await mirror.show(`${system}/10.1.0.0-16`);
      expect((await fixture().readPool("10.1.0.0-16")).spec.allocations).toEqual({});
    });

    it("a pool of a named network, IPv6 too, shows its own holds only", async () => {
      await fixture().whereaboutsPool("blue-fd00---64", "fd00::/64");
      await fixture().whereaboutsPool("fd00---64", "fd00::/64");
      await fixture().hold("fd00::9", { uid: "b", name: "blue" }, { domain: "network:blue" });
      await fixture().hold("fd00::9", { uid: "n", name: "plain" });
      await using mirror = new Mirroring(fixture());
      await mirror.show(`${system}/blue-fd00---64`);
      await mirror.show(`${system}/fd00---64`);
      expect((await fixture().readPool("blue-fd00---64")).spec.allocations).toMatchObject({
        "9": { podref: "shop/blue" },
      });
      expect((await fixture().readPool("fd00---64")).spec.allocations).toMatchObject({ "9": { podref: "shop/plain" } });
      expect((await fixture().readPool("fd00---64")).status?.totalIPs).toBe("18446744073709551614");
    });

    it("says on the pool that leak collection stands still", async () => {
      await fixture().whereaboutsPool(name, "10.0.0.0/24");
      await using mirror = new Mirroring(fixture());
      mirror.leaksHeldBack = "60 of 60 look leaked.";
      await mirror.show();
      const { status } = await fixture().readPool(name);
      expect(status?.conditions?.find(({ type }) => type === "LeakCollection")).toMatchObject({
        status: "False",
        reason: "TooManyLeaks",
      });
    });

    it("the free map goes with its pool", async () => {
      await fixture().whereaboutsPool(name, "10.0.0.0/24");
      await using mirror = new Mirroring(fixture());
      await mirror.show();
      expect(await freeMap()).toEqual([]);
      await fixture().client.delete(kinds.ipPools, { namespace: system, name });
      expect(await mirror.show()).toEqual([]);
      const { items } = await fixture().client.list(kinds.configMaps, { namespace: system });
      expect(items.map(({ metadata }) => metadata.name)).not.toContain(freeMapName(key));
    });

    it("a free map whose pool went while nobody led is deleted; where we may not look there is none", async () => {
      await fixture().whereaboutsPool("10.1.0.0-24", "10.1.0.0/24");
      await using mirror = new Mirroring(fixture());
      await mirror.show(`${system}/10.1.0.0-24`);
      // Without an owner: the server's own garbage collection would be faster than we are.
      const left = { pool: key, prefix: parsePrefix("10.0.0.0/24"), taken: [], writtenMs: Date.now(), holders: 0 };
      await fixture().client.create(kinds.configMaps, encodeFreeMap(system, left));
      const sweep = () => sweepOnce(fixture(), [system, "shop"], mirror.signal);
      fixture().fault = (_method, path) => path.includes("/configmaps") && "forbidden";
      expect(await sweep()).toBe(0);
      fixture().fault = (_method, path) => path.includes("/shop/configmaps") && "forbidden";
      expect(await sweep()).toBe(1);
      fixture().fault = undefined;
      const { items } = await fixture().client.list(kinds.configMaps, { namespace: system });
      const names = items.map(({ metadata }) => metadata.name);
      expect(names).not.toContain(freeMapName(key));
      expect(names).toContain(freeMapName(`${system}/10.1.0.0-24`));
    });

    it("two leaders at once write the same, whoever comes first", async () => {
      await fixture().whereaboutsPool(name, "10.0.0.0/24");
      for (let index = 1; index <= 8; index++)
        await fixture().hold(`10.0.0.${index}`, { uid: `u${index}`, name: `p${index}` });
      await using first = new Mirroring(fixture());
      await using second = new Mirroring(fixture());
      await Promise.all([first.show(), second.show()]);
      await Promise.all([first.show(), second.show()]);
      expect(Object.keys((await fixture().readPool(name)).spec.allocations)).toHaveLength(8);
      expect([...(await first.show()), ...(await second.show())]).toEqual([]);
    });
  });
}

function manyOurs(count: number): Record<string, PoolAllocation> {
  const pairs = Array.from({ length: count }, (_, index) => [
    String(index + 1),
    { ...entry(`shop/p${index}`), uid: `u${index}` },
  ]);
  return Object.fromEntries(pairs) as Record<string, PoolAllocation>;
}
