// Pool objects under all of their names, and the objects of holds as tools read them.
import { beforeEach, describe, expect, it } from "vitest";

import { ensurePool } from "../../src/cluster/pool-object.ts";
import { ipPools } from "../../src/cluster/resources.ts";
import type { Owner } from "../../src/ipam/owner.ts";
import { ownerKey } from "../../src/ipam/owner.ts";
import { type HeldObjectsOptions, listHolds } from "../../src/ledger/reservation/list-holds.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { parseAddress } from "../../src/net/address.ts";
import { parseCidr } from "../../src/net/prefix.ts";
import { Corner, type LedgerFixture } from "./fixture.ts";

export function poolTests(fixture: LedgerFixture): void {
  let corner: Corner;
  beforeEach(async () => {
    corner = await Corner.of(fixture);
  });

  describe("a pool object", () => {
    const ensure = (range: string, network = "", more: { l3?: boolean } = {}) => {
      const { address, prefix } = parseCidr(range);
      const identity = { range: prefix, network, node: "" };
      return ensurePool(corner.client, {
        namespace: corner.namespace,
        identity,
        written: { address, prefix },
        ...more,
      });
    };

    it("is created once, however many ask at once", async () => {
      const found = await Promise.all(Array.from({ length: 10 }, () => ensure("10.0.0.0/24", "red", { l3: true })));
      expect(new Set(found.map(({ object }) => object.metadata.uid)).size).toBe(1);
      expect(found[0]).toMatchObject({
        name: "red-10.0.0.0-24",
        adopted: false,
        others: [],
        object: {
          metadata: { annotations: { "holdfast.io/network-name": "red" } },
          spec: { range: "10.0.0.0/24", allocations: {}, enable_l3: true },
        },
      });
    });

    it.each([
      ["whereabouts' own", "10.0.0.0-24", "10.0.0.0/24", ""],
      ["the first scheme of named networks", "red", "10.0.0.0/24", "red"],
      ["the range as it was written", "10.0.0.17-24", "10.0.0.17/24", ""],
    ])("is found under %s name", async (_which, name, range, network) => {
      const { metadata } = await corner.pool(name, range);
      expect(await ensure(range, network)).toMatchObject({ name, object: { metadata: { uid: metadata.uid } } });
      expect((await corner.client.list(ipPools, { namespace: corner.namespace })).items).toHaveLength(1);
    });

    it("is refused where another's stands under the name to write, and made where it stands under another scheme's", async () => {
      await corner.pool("a-b---64", "a:b::/64");
      await expect(ensure("b::/64", "a")).rejects.toMatchObject({ code: "name-taken" });
      await corner.pool("red", "10.9.0.0/24");
      expect(await ensure("10.0.0.0/24", "red")).toMatchObject({ name: "red-10.0.0.0-24", others: [] });
    });
  });

  describe("the objects of holds", () => {
    const pod = (name: string, namespace = "d"): Owner => ({
      kind: "pod",
      uid: `u-${name}`,
      namespace,
      name,
      interface: "net1",
      containerId: "c",
    });
    const read = async (more: HeldObjectsOptions = {}) => {
      const found = await Array.fromAsync(listHolds(corner.client, { namespace: corner.namespace, ...more }));
      return found
        .map((each) => each.unreadable ?? `${each.hold.address} ${each.hold.owner.name}${each.cooling ? " rests" : ""}`)
        .sort();
    };

    it("are found of both kinds, by node, by the owner's namespace, and with those that rest", async () => {
      const { client, namespace } = corner;
      const of = (node: string) => new ReservationLedger({ client, namespace, node, now: () => 5 });
      const take = (node: string, domain: string, text: string, owner: Owner) =>
        of(node).take({ domain, address: parseAddress(text), owner });
      await take("n1", "network:", "10.0.0.1", pod("a"));
      await take("n2", "network:red", "10.0.0.1", pod("b", "e"));
      await take("n1", "pool:x/y", "fd00::1", pod("c", "e"));
      await take("n1", "network:", "10.0.0.4", pod("r"));
      const guard = { domain: "network:", address: parseAddress("10.0.0.4"), owner: ownerKey(pod("r")) };
      await of("n1").release({ ...guard, cooldownMs: 10 });
      expect(await read()).toEqual(["10.0.0.1 a", "10.0.0.1 b", "fd00::1 c"]);
      expect(await read({ node: "n1" })).toEqual(["10.0.0.1 a", "fd00::1 c"]);
      expect(await read({ podNamespace: "e" })).toEqual(["10.0.0.1 b", "fd00::1 c"]);
      expect(await read({ includeCooling: true })).toContain("10.0.0.4 r rests");
      const resting = await Array.fromAsync(listHolds(client, { namespace, includeCooling: true }));
      expect(resting.flatMap((each) => ("cooling" in each ? [each.cooling] : []))).toEqual([
        { untilMs: 15, lastOwner: ownerKey(pod("r")) },
      ]);
    });

    it("that mean two addresses come twice, and those that mean none are named", async () => {
      await corner.reservation("a-b--1", "d/a");
      await corner.reservation("nonsense", "d/a");
      const found = await read();
      expect(found.slice(1)).toEqual(["a:b::1 a", "b::1 a"]);
      expect(found[0]).toMatch(/nonsense: the name does not end with an address/);
    });

    it("of a node with a name that is longer than a label are found", async () => {
      const node = `${"very-long.".repeat(12)}example`;
      const { client, namespace } = corner;
      const ledger = new ReservationLedger({ client, namespace, node, now: () => 5 });
      await ledger.take({ domain: "network:", address: parseAddress("10.0.0.1"), owner: pod("a") });
      expect(await read({ node })).toEqual(["10.0.0.1 a"]);
      expect(await read({ node: `${node}x` })).toEqual([]);
    });

    it("carry at most 1 KiB of explanation, and no label that the server refuses", async () => {
      const { client, namespace } = corner;
      const ledger = new ReservationLedger({ client, namespace, now: () => 5 });
      const owner: Owner = { ...pod("a"), uid: "", namespace: "Not A Namespace" };
      const why = "because ".repeat(1000);
      await ledger.take({ domain: "network:", address: parseAddress("10.0.0.1"), owner, note: { why } });
      const [hold] = await ledger.find("network:", ownerKey(owner));
      expect(hold?.note?.why).toHaveLength(1024);
      expect(hold?.owner).toMatchObject({ namespace: "Not A Namespace" });
    });
  });
}
