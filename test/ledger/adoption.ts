// Pools that whereabouts filled, taken over.
import { beforeEach, describe, expect, it } from "vitest";

import { ensurePool } from "../../src/cluster/pool-object.ts";
import { ipPools } from "../../src/cluster/resources.ts";
import { LedgerError } from "../../src/ipam/ledger.ts";
import { type Owner, ownerKey } from "../../src/ipam/owner.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { adoptPool, type AdoptionOptions, disownPools } from "../../src/ledger/adoption/adoption.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { parseAddress } from "../../src/net/address.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { Corner, type Entry, type LedgerFixture } from "./fixture.ts";

const entry = (name: string, id = `c-${name}`): Entry => ({ id, podref: `d/${name}`, ifname: "net1" });
const pod = (name: string): Owner => ({
  kind: "pod",
  uid: `u-${name}`,
  namespace: "d",
  name,
  interface: "net1",
  containerId: `c-${name}`,
});

export function adoptionTests(fixture: LedgerFixture): void {
  describe("adoption", () => {
    let corner: Corner;
    beforeEach(async () => {
      corner = await Corner.of(fixture);
    });

    async function adopt(range: string, more: Partial<AdoptionOptions> = {}, client = corner.client) {
      const { namespace } = corner;
      const identity = { range: parsePrefix(range), network: "", node: "" };
      const pool = await ensurePool(client, { namespace, identity });
      return adoptPool(client, { pool, domain: "network:", now: () => 1_000_000, ...more });
    }
    const ledger = () =>
      new ReservationLedger({ client: corner.client, namespace: corner.namespace, now: () => 1_000_000 });
    const held = async (domain = "network:") => {
      const holds = await Array.fromAsync(ledger().list(domain));
      return holds.map(({ address, owner }) => `${address} ${owner.name}`).sort();
    };
    const isMarked = async (name: string) =>
      (await corner.client.get(ipPools, { namespace: corner.namespace, name })).metadata.annotations?.[
        "holdfast.io/adopted"
      ];

    it("makes a hold for every entry, and marks the pool; once more changes nothing", async () => {
      await corner.pool("10.0.0.0-24", "10.0.0.0/24", { "1": entry("a"), "7": entry("b") });
      const first = await adopt("10.0.0.0/24");
      expect(first).toMatchObject({ created: 2, blocking: [], warnings: [], pool: { adopted: true } });
      expect(await held()).toEqual(["10.0.0.1 a", "10.0.0.7 b"]);
      expect(await isMarked("10.0.0.0-24")).toBe("1970-01-01T00:16:40.000Z");
      const before = await corner.objects();
      expect(await adopt("10.0.0.0/24")).toMatchObject({ created: 0, pool: { adopted: true } });
      expect(await corner.objects()).toEqual(before);
    });

    it("an empty pool of ours is adopted too", async () => {
      expect(await adopt("10.0.0.0/24")).toMatchObject({ created: 0, pool: { adopted: true, name: "10.0.0.0-24" } });
    });

    it("lets the pod that whereabouts served find its address again, with its UID from now on", async () => {
      await corner.pool("10.0.0.0-24", "10.0.0.0/24", { "1": entry("a") });
      await corner.reservation("10.0.0.1", "d/a");
      expect(await adopt("10.0.0.0/24")).toMatchObject({ created: 0, pool: { adopted: true } });
      const formerly = ownerKey({ ...pod("a"), uid: "" });
      const [found] = await ledger().find("network:", ownerKey(pod("a")), { formerly });
      expect(found).toMatchObject({ owner: { name: "a", uid: "", containerId: "c-a" } });
      expect(found?.note?.pool).toBe(`${corner.namespace}/10.0.0.0-24`);
      const taken = await ledger().take({ domain: "network:", address: parseAddress("10.0.0.1"), owner: pod("a") });
      expect(taken).toMatchObject({ outcome: "yours", hold: { owner: pod("a") } });
    });

    it("makes no hold of an entry of our own for who is patient: the mirror may be behind a release", async () => {
      await corner.pool("10.0.0.0-24", "10.0.0.0/24", {
        "2": { ...entry("ours"), uid: "u-ours" },
        "4": entry("theirs"),
      });
      const first = await adopt("10.0.0.0/24", { patient: true });
      expect(first).toMatchObject({ created: 1, waitsFor: 1, blocking: [], pool: { adopted: false } });
      expect(await held()).toEqual(["10.0.0.4 theirs"]);
      // What stays may be all that is left of a hold.
      expect(await adopt("10.0.0.0/24")).toMatchObject({ created: 1, pool: { adopted: true } });
      expect(await held()).toEqual(["10.0.0.2 ours", "10.0.0.4 theirs"]);
    });

    it("keeps a reservation that has no entry, and does not touch those of other ranges", async () => {
      await corner.reservation("10.0.0.9", "d/a");
      await corner.reservation("10.9.0.9", "d/b");
      await adopt("10.0.0.0/24");
      const [first, second] = await corner.objects();
      expect(first?.metadata.labels).toMatchObject({ "holdfast.io/pod-namespace": "d" });
      expect(second?.metadata.labels).toBeUndefined();
      expect(await held()).toEqual(["10.0.0.9 a", "10.9.0.9 b"]);
    });

    it("says where an entry and a reservation name two owners, and holds it for one", async () => {
      await corner.pool("10.0.0.0-24", "10.0.0.0/24", { "1": entry("a") });
      await corner.reservation("10.0.0.1", "d/b");
      const { warnings, pool } = await adopt("10.0.0.0/24");
      expect(warnings).toEqual([expect.stringMatching(/10\.0\.0\.1 is pod d\/a \(net1\)'s.* pod d\/b/) as string]);
      expect(pool.adopted).toBe(true);
      expect(await held()).toEqual(["10.0.0.1 b"]);
    });

    it("rewrites old IPv6 names under today's, with and without an entry", async () => {
      await corner.pool("fd00---64", "fd00::/64", { "5": entry("a") });
      await corner.reservation("fd00--5", "d/a");
      await corner.reservation("fd00--6", "d/b");
      await corner.reservation("fd11--6", "d/elsewhere");
      expect(await adopt("fd00::/64")).toMatchObject({ created: 2, pool: { adopted: true } });
      expect(await corner.names()).toEqual([
        "fd00-0000-0000-0000-0000-0000-0000-0005",
        "fd00-0000-0000-0000-0000-0000-0000-0006",
        "fd11--6",
      ]);
      expect(await held()).toEqual(["fd00::5 a", "fd00::6 b", "fd11::6 elsewhere"]);
      const late = await ledger().take({ domain: "network:", address: parseAddress("fd00::6"), owner: pod("c") });
      expect(late).toMatchObject({ outcome: "held", hold: { owner: { name: "b" } } });
    });

    it("keeps an old name that may mean another network's address beside it", async () => {
      await corner.reservation("a-b--1", "d/a");
      await adopt("a:b::/64");
      expect(await corner.names()).toEqual(["000a-000b-0000-0000-0000-0000-0000-0001", "a-b--1"]);
      expect(await held()).toEqual(["a:b::1 a"]);
      expect(await held("network:a")).toEqual(["b::1 a"]);
    });

    it("keeps all that a key may mean where whereabouts' arithmetic is wrong", async () => {
      await corner.pool("10.0.0.0-23", "10.0.0.5/23", { "248": entry("a") });
      await adopt("10.0.0.0/23");
      expect(await held()).toContain("10.0.1.3 a");
      expect(await held()).toContain("10.0.0.253 a");
    });

    it("goes by the reservation where the pod has one", async () => {
      await corner.pool("10.0.0.0-23", "10.0.0.5/23", { "248": entry("a") });
      await corner.reservation("10.0.1.3", "d/a");
      await adopt("10.0.0.0/23");
      expect(await held()).toEqual(["10.0.1.3 a"]);
    });

    it("does not adopt a pool with an entry that may be any of 2^16 addresses, until a reservation says which", async () => {
      await corner.pool("fd00---48", "fd00::/48", { "5": entry("a") });
      const { blocking, pool } = await adopt("fd00::/48");
      expect(blocking).toEqual([
        expect.stringMatching(/fd00---48: the entry of pod d\/a .* fd00::5 or any address/) as string,
      ]);
      expect(pool.adopted).toBe(false);
      expect(await isMarked("fd00---48")).toBeUndefined();
      await corner.reservation("fd00-0-0-7--5", "d/a");
      expect(await adopt("fd00::/48")).toMatchObject({ blocking: [], pool: { adopted: true } });
      expect(await held()).toEqual(["fd00:0:0:7::5 a"]);
    });

    it("warns of keys that are no address of the pool, and adopts it", async () => {
      await corner.pool("10.0.0.0-24", "10.0.0.0/24", { "300": entry("a"), x: entry("b"), "3": entry("c") });
      const { warnings, pool } = await adopt("10.0.0.0/24");
      expect(warnings).toHaveLength(2);
      expect(pool.adopted).toBe(true);
      expect(await held()).toEqual(["10.0.0.3 c"]);
    });

    it("leaves what rests alone where the entry is its last owner's, and holds it where it is another's", async () => {
      for (const [text, name] of [
        ["10.0.0.1", "a"],
        ["10.0.0.2", "b"],
      ] as const) {
        const at = { domain: "network:", address: parseAddress(text) };
        await ledger().take({ ...at, owner: pod(name) });
        await ledger().release({ ...at, owner: ownerKey(pod(name)), cooldownMs: 30_000 });
      }
      await corner.pool("10.0.0.0-24", "10.0.0.0/24", { "1": entry("a"), "2": entry("other") });
      await adopt("10.0.0.0/24");
      expect(await held()).toEqual(["10.0.0.2 other"]);
    });

    it("also counts the entries of the same pool under an older name", async () => {
      await corner.pool("red", "10.0.0.0/24", { "1": entry("a") });
      await corner.pool("red-10.0.0.0-24", "10.0.0.0/24", { "2": entry("b") });
      const identity = { range: parsePrefix("10.0.0.0/24"), network: "red", node: "" };
      const pool = await ensurePool(corner.client, { namespace: corner.namespace, identity });
      await adoptPool(corner.client, { pool, domain: "network:red", now: () => 0 });
      expect(await held("network:red")).toEqual(["10.0.0.1 a", "10.0.0.2 b"]);
      expect(await isMarked("red")).toBeDefined();
      expect(await isMarked("red-10.0.0.0-24")).toBeDefined();
    });

    it("makes Holds where overlaps are not protected", async () => {
      await corner.pool("10.0.0.0-24", "10.0.0.0/24", { "1": entry("a") });
      const domain = `pool:${corner.namespace}/10.0.0.0-24`;
      expect(await adopt("10.0.0.0/24", { domain })).toMatchObject({ created: 1, pool: { adopted: true } });
      expect(await held(domain)).toEqual(["10.0.0.1 a"]);
      expect(await held()).toEqual([]);
    });

    it("does nothing while whereabouts is active, and takes the aliases of that time away afterwards", async () => {
      await corner.pool("fd00---64", "fd00::/64", { "5": entry("a") });
      expect(await adopt("fd00::/64", { coexistence: true })).toMatchObject({ created: 0, pool: { adopted: false } });
      expect(await corner.names()).toEqual([]);
      const beside = new ReservationLedger({
        client: corner.client,
        namespace: corner.namespace,
        now: () => 0,
        coexistence: () => true,
      });
      const note = { pool: `${corner.namespace}/fd00---64` };
      await beside.take({ domain: "network:", address: parseAddress("fd00::6"), owner: pod("b"), note });
      expect(await corner.names()).toContain("fd00--6");
      await adopt("fd00::/64");
      expect(await corner.names()).toEqual([
        "fd00-0000-0000-0000-0000-0000-0000-0005",
        "fd00-0000-0000-0000-0000-0000-0000-0006",
      ]);
    });

    it("is to be done again after whereabouts was active once more", async () => {
      await adopt("fd00::/64");
      const { client, namespace } = corner;
      expect(await disownPools(client, { namespace })).toBe(1);
      expect(await disownPools(client, { namespace })).toBe(0);
      expect(await isMarked("fd00---64")).toBeUndefined();
      await corner.reservation("fd00--5", "d/a");
      expect(await adopt("fd00::/64")).toMatchObject({ created: 1, pool: { adopted: true } });
      expect(await held()).toEqual(["fd00::5 a"]);
    });

    it("by twelve at once makes each hold once", async () => {
      const entries = Array.from({ length: 60 }, (_, n) => [String(n + 1), entry(`p${n}`)] as const);
      await corner.pool("fd00---64", "fd00::/64", Object.fromEntries(entries));
      for (let n = 0; n < 30; n++) await corner.reservation(`fd00--${(n + 1).toString(16)}`, `d/p${n}`);
      const results = await Promise.all(Array.from({ length: 12 }, () => adopt("fd00::/64")));
      expect(results.every(({ pool }) => pool.adopted)).toBe(true);
      expect(results.reduce((sum, { created }) => sum + created, 0)).toBe(60);
      expect(await held()).toHaveLength(60);
      expect(await corner.names()).toHaveLength(60);
    });

    it("does not mark a pool that got an entry after it was read", async () => {
      await corner.pool("10.0.0.0-24", "10.0.0.0/24", { "1": entry("a") });
      const real = fixture.transport();
      let late = true;
      const slow: Transport = async (call) => {
        if (call.method === "PATCH" && late) {
          late = false;
          const body = { spec: { allocations: { "2": entry("late") } } };
          const at = { namespace: corner.namespace, name: "10.0.0.0-24" };
          await corner.client.patch(ipPools, at, { type: "merge", body });
        }
        return real(call);
      };
      const { created } = await adopt("10.0.0.0/24", {}, new KubeClient({ transport: slow }));
      expect(created).toBe(2);
      expect(await held()).toEqual(["10.0.0.1 a", "10.0.0.2 late"]);
      expect(await isMarked("10.0.0.0-24")).toBeDefined();
    });

    it("that is broken off anywhere is finished by the next", async () => {
      const entries = Array.from({ length: 6 }, (_, n) => [String(n + 1), entry(`p${n}`)] as const);
      await corner.pool("fd00---64", "fd00::/64", Object.fromEntries(entries));
      for (let n = 0; n < 6; n++) await corner.reservation(`fd00--${n + 1}`, `d/p${n}`);
      const real = fixture.transport();
      for (let struck = 1; struck < 16; struck += 2) {
        let writes = 0;
        const broken: Transport = async (call) => {
          if (call.method !== "GET" && ++writes >= struck) throw new Error("the connection broke");
          return real(call);
        };
        await adopt("fd00::/64", {}, new KubeClient({ transport: broken })).catch(() => {});
        expect(await held()).toHaveLength(6);
      }
      expect(await adopt("fd00::/64")).toMatchObject({ pool: { adopted: true } });
      expect(await corner.names()).toHaveLength(6);
      expect(await isMarked("fd00---64")).toBeDefined();
    });

    it("of a pool that is gone says so", async () => {
      const pool = await ensurePool(corner.client, {
        namespace: corner.namespace,
        identity: { range: parsePrefix("10.0.0.0/24"), network: "", node: "" },
      });
      await corner.client.delete(ipPools, { namespace: corner.namespace, name: pool.name });
      await expect(adoptPool(corner.client, { pool, domain: "network:", now: () => 0 })).rejects.toThrow(LedgerError);
    });
  });
}
