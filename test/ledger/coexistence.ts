// Side by side with whereabouts: whatever one of the two has, the other does not get.
import { beforeEach, describe, expect, it } from "vitest";

import { ipPools, reservations } from "../../src/cluster/resources.ts";
import { LedgerError } from "../../src/ipam/ledger.ts";
import { type Owner, ownerKey, type PodOwner } from "../../src/ipam/owner.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { removeObject } from "../../src/ledger/reservation/guarded-delete.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { parseAddress } from "../../src/net/address.ts";
import { Corner, type LedgerFixture } from "./fixture.ts";

const web: Owner = { kind: "pod", uid: "u-1", namespace: "d", name: "web", interface: "net1", containerId: "c-1" };
const kept = ["holdfast.io/kept"];

export function coexistenceTests(fixture: LedgerFixture): void {
  describe("beside whereabouts", () => {
    let corner: Corner;
    let isActive: boolean;
    let ledger: ReservationLedger;
    beforeEach(async () => {
      corner = await Corner.of(fixture);
      isActive = true;
      ledger = open(fixture.transport());
    });

    const open = (transport: Transport) =>
      new ReservationLedger({
        client: new KubeClient({ transport }),
        namespace: corner.namespace,
        node: "n-1",
        now: () => 1_000_000,
        coexistence: () => isActive,
      });
    const request = (text: string, pool: string, more: { owner?: Owner; domain?: string } = {}) => ({
      domain: "network:",
      address: parseAddress(text),
      owner: web,
      note: { pool: `${corner.namespace}/${pool}` },
      ...more,
    });
    const take = (text: string, pool: string, more: { owner?: Owner; domain?: string } = {}) =>
      ledger.take(request(text, pool, more));
    const free = (text: string, cooldownMs = 0, more: { version?: string; domain?: string } = {}) =>
      ledger.release({ domain: "network:", address: parseAddress(text), owner: ownerKey(web), cooldownMs, ...more });

    it("a take writes the object with a finalizer, and the pool's entry", async () => {
      await corner.pool("p", "10.0.0.0/24");
      expect(await take("10.0.0.5", "p")).toMatchObject({ outcome: "taken" });
      expect(await corner.entries("p")).toEqual({ "5": { id: "c-1", podref: "d/web", ifname: "net1", uid: "u-1" } });
      expect(await corner.objects()).toMatchObject([{ metadata: { name: "10.0.0.5", finalizers: kept } }]);
    });

    it("a hold from before whereabouts came gets its finalizer and its entry when its owner asks again", async () => {
      await corner.pool("p", "10.0.0.0/24");
      isActive = false;
      expect(await take("10.0.0.5", "p")).toMatchObject({ outcome: "taken" });
      isActive = true;
      expect(await take("10.0.0.5", "p")).toMatchObject({ outcome: "yours" });
      expect(Object.keys(await corner.entries("p"))).toEqual(["5"]);
      expect(await corner.objects()).toMatchObject([{ metadata: { name: "10.0.0.5", finalizers: kept } }]);
    });

    it("gives way where the entry is another's, and leaves nothing behind", async () => {
      await corner.pool("p", "10.0.0.0/24", { "5": { id: "x", podref: "d/other", ifname: "net1" } });
      const result = await take("10.0.0.5", "p");
      expect(result).toMatchObject({ outcome: "held", hold: { owner: { namespace: "d", name: "other", uid: "" } } });
      expect(await corner.names()).toEqual([]);
      expect(Object.keys(await corner.entries("p"))).toEqual(["5"]);
    });

    it("takes the entry of its own pod over, with the new container", async () => {
      await corner.pool("p", "10.0.0.0/24", { "5": { id: "old", podref: "d/web", ifname: "net1" } });
      await corner.reservation("10.0.0.5", "d/web");
      expect(await take("10.0.0.5", "p")).toMatchObject({ outcome: "yours", hold: { owner: web } });
      expect(await corner.entries("p")).toMatchObject({ "5": { id: "c-1", podref: "d/web" } });
      expect(await corner.objects()).toMatchObject([{ spec: { poduid: "u-1", containerid: "c-1" } }]);
    });

    it("a release takes both away, and the finalizer", async () => {
      await corner.pool("p", "10.0.0.0/24", { "9": { id: "x", podref: "d/other" } });
      await take("10.0.0.5", "p");
      expect(await free("10.0.0.5")).toEqual({ outcome: "released" });
      expect(Object.keys(await corner.entries("p"))).toEqual(["9"]);
      expect(await corner.names()).toEqual([]);
      expect(await free("10.0.0.5")).toEqual({ outcome: "gone" });
    });

    it("a release that is half done does not take the object from under a later container", async () => {
      await corner.pool("p", "10.0.0.0/24");
      const { hold } = (await take("10.0.0.5", "p")) as { hold: { version: string } };
      const later: Owner = { ...(web as PodOwner), containerId: "c-2" };
      let answered: unknown;
      // Between the delete, which the finalizer holds up, and the finalizer's end.
      const slow: Transport = async (call) => {
        if (call.method === "PATCH" && call.path.includes("overlappingrangeipreservations") && answered === undefined) {
          answered = await take("10.0.0.5", "p", { owner: later });
        }
        return fixture.transport()(call);
      };
      const guard = { domain: "network:", address: parseAddress("10.0.0.5"), owner: ownerKey(web), cooldownMs: 0 };
      const released = await open(slow).release({ ...guard, version: hold.version });
      // Whichever came first: who was told that the address is its own has it.
      expect(answered).toMatchObject({ outcome: "yours", hold: { owner: later } });
      expect(await corner.objects()).toMatchObject([{ spec: { containerid: "c-2" } }]);
      expect(released).toMatchObject({ outcome: "superseded", hold: { owner: later } });
      expect(await corner.entries("p")).toMatchObject({ "5": { id: "c-2" } });
    });

    it("nor does the end of a rest, from under whoever took the address meanwhile", async () => {
      await corner.pool("p", "10.0.0.0/24");
      await take("10.0.0.5", "p");
      await free("10.0.0.5", 1000);
      const [rested] = await corner.objects();
      const other: Owner = { ...(web as PodOwner), uid: "u-2", name: "other", containerId: "c-9" };
      let answered: unknown;
      const slow: Transport = async (call) => {
        if (call.method === "PATCH" && answered === undefined) {
          answered = await ledger.take({ ...request("10.0.0.5", "p", { owner: other }), early: true });
        }
        return fixture.transport()(call);
      };
      expect(await removeObject(new KubeClient({ transport: slow }), reservations, rested!)).toBe("changed");
      expect(answered).toMatchObject({ outcome: "taken", hold: { owner: other } });
      expect(await corner.objects()).toMatchObject([{ spec: { podref: "d/other", containerid: "c-9" } }]);
    });

    it.each([
      ["a release", "10.0.0.0/24", "10.0.0.5", "10.0.0.5", {}],
      ["a release, of the old name", "fd00::/64", "fd00::5", "fd00--5", {}],
      ["a take that gives way", "10.0.0.0/24", "10.0.0.5", "10.0.0.5", { id: "x", podref: "d/other", ifname: "net1" }],
      ["a take that gives way, of the old name", "fd00::/64", "fd00::5", "fd00--5", { id: "x", podref: "d/other" }],
    ])("%s leaves nothing where whereabouts' DEL deletes ours in between", async (_, range, text, name, entry) => {
      const isOthers = "id" in entry;
      await corner.pool("p", range, isOthers ? { "5": entry } : {});
      const at = { namespace: corner.namespace, name };
      let struck = 0;
      // It deletes the address's reservation by name, whosever it is; our finalizer keeps the object, in a new version.
      const rival: Transport = async (call) => {
        if (call.method === "DELETE" && call.path.endsWith(`/${name}`) && struck++ === 0)
          await corner.client.delete(reservations, at);
        return fixture.transport()(call);
      };
      ledger = open(rival);
      expect(await take(text, "p")).toMatchObject({ outcome: isOthers ? "held" : "taken" });
      if (!isOthers) expect(await free(text)).toEqual({ outcome: "released" });
      expect(struck).toBeGreaterThan(0);
      expect(await corner.names()).toEqual([]);
    });

    it("a release leaves an entry alone that is another's by now, or of a later container", async () => {
      await corner.pool("p", "10.0.0.0/24");
      const at = { namespace: corner.namespace, name: "p" };
      for (const entry of [
        { id: "x", podref: "d/other", ifname: "net1" },
        { id: "c-2", podref: "d/web", ifname: "net1" },
      ]) {
        await take("10.0.0.5", "p");
        const body = { spec: { allocations: { "5": { ...entry, uid: null } } } };
        await corner.client.patch(ipPools, at, { type: "merge", body });
        expect(await free("10.0.0.5")).toEqual({ outcome: "released" });
        expect(await corner.entries("p")).toEqual({ "5": entry });
        await corner.client.patch(ipPools, at, { type: "merge", body: { spec: { allocations: { "5": null } } } });
      }
    });

    it("what rests has no entry, and whereabouts still sees it as taken", async () => {
      await corner.pool("p", "10.0.0.0/24");
      await take("10.0.0.5", "p");
      expect(await free("10.0.0.5", 30_000)).toEqual({ outcome: "released" });
      expect(await corner.entries("p")).toEqual({});
      expect(await corner.objects()).toMatchObject([
        { metadata: { name: "10.0.0.5", finalizers: kept, labels: { "holdfast.io/cooling": "true" } } },
      ]);
      const back = await take("10.0.0.5", "p");
      expect(back).toMatchObject({ outcome: "taken", hold: { owner: web } });
      expect(Object.keys(await corner.entries("p"))).toEqual(["5"]);
    });

    it("whereabouts' reconciler cannot free what is ours, and a release later ends it", async () => {
      await corner.pool("p", "10.0.0.0/24");
      await take("10.0.0.5", "p");
      await corner.client.delete(reservations, { namespace: corner.namespace, name: "10.0.0.5" });
      expect(await corner.names()).toEqual(["10.0.0.5"]);
      const other: Owner = { ...web, uid: "u-2", name: "other" };
      expect(await take("10.0.0.5", "p", { owner: other })).toMatchObject({ outcome: "held", hold: { owner: web } });
      expect(await take("10.0.0.5", "p")).toMatchObject({ outcome: "yours" });
      isActive = false;
      expect(await free("10.0.0.5")).toEqual({ outcome: "released" });
      expect(await corner.names()).toEqual([]);
    });

    it("an object that somebody else's deletion will take away is not handed out again", async () => {
      isActive = false;
      const metadata = { namespace: corner.namespace, name: "10.0.0.5", finalizers: ["example.com/theirs"] };
      const spec = { podref: "d/web", ifname: "net1", poduid: "u-1", containerid: "c-1" };
      await corner.client.create(reservations, { metadata, spec });
      await corner.client.delete(reservations, { namespace: corner.namespace, name: "10.0.0.5" });
      const error = await take("10.0.0.5", "p").catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(LedgerError);
      expect(error).toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("example.com/theirs") as string,
      });
      const other: Owner = { ...web, uid: "u-2", name: "other" };
      expect(await take("10.0.0.5", "p", { owner: other })).toMatchObject({ outcome: "held" });
    });

    describe("IPv6", () => {
      const full = "fd00-0000-0000-0000-0000-0000-0000-0005";

      it("claims whereabouts' own name too, and gives both back", async () => {
        await corner.pool("p", "fd00::/64");
        await take("fd00::5", "p");
        expect(await corner.names()).toEqual(["fd00--5", full]);
        const found = await ledger.find("network:", ownerKey(web));
        expect(found.map(({ address }) => address.toString())).toEqual(["fd00::5"]);
        expect(await Array.fromAsync(ledger.list("network:"))).toHaveLength(1);
        expect(await take("fd00::5", "p")).toMatchObject({ outcome: "yours" });
        expect(await free("fd00::5")).toEqual({ outcome: "released" });
        expect(await corner.names()).toEqual([]);
        expect(await corner.entries("p")).toEqual({});
      });

      it("gives way to whereabouts' reservation from an overlapping pool", async () => {
        await corner.pool("p", "fd00::/64");
        await corner.reservation("fd00--5", "d/other");
        expect(await take("fd00::5", "p")).toMatchObject({ outcome: "held", hold: { owner: { name: "other" } } });
        expect(await corner.names()).toEqual(["fd00--5"]);
        expect(await corner.entries("p")).toEqual({});
      });

      it("gives way where the old name means another address of ours as well", async () => {
        await corner.pool("p", "a:b::/64");
        await corner.pool("a-p", "b::/64");
        expect(await take("a:b::1", "p")).toMatchObject({ outcome: "taken" });
        const result = await take("b::1", "a-p", { domain: "network:a", owner: { ...web, uid: "u-2", name: "other" } });
        expect(result).toMatchObject({ outcome: "held", hold: { domain: "network:a", owner: { name: "web" } } });
        expect(await corner.entries("a-p")).toEqual({});
      });

      it("refuses an offset that whereabouts cannot read, and writes nothing", async () => {
        await corner.pool("p", "fd00::/64");
        await expect(take("fd00::8000:0:0:5", "p")).rejects.toMatchObject({
          code: "unavailable",
          message: expect.stringContaining("below 2^63 only") as string,
        });
        expect(await corner.names()).toEqual([]);
        isActive = false;
        expect(await take("fd00::8000:0:0:5", "p")).toMatchObject({ outcome: "taken" });
      });

      it("a hold under the old name alone is found and released", async () => {
        isActive = false;
        await corner.reservation("fd00--5", "d/web");
        const owner = ownerKey({ ...web, uid: "" });
        const guard = { domain: "network:", address: parseAddress("fd00::5"), cooldownMs: 0 };
        expect(await ledger.release({ ...guard, owner: ownerKey(web) })).toMatchObject({ outcome: "superseded" });
        expect(await ledger.release({ ...guard, owner })).toEqual({ outcome: "released" });
        expect(await corner.names()).toEqual([]);
      });
    });

    it("a pool whose overlaps are not protected has an entry and a Hold, without a finalizer", async () => {
      await corner.pool("p", "10.0.0.0/24");
      const domain = `pool:${corner.namespace}/p`;
      expect(await take("10.0.0.5", "p", { domain })).toMatchObject({ outcome: "taken" });
      expect(Object.keys(await corner.entries("p"))).toEqual(["5"]);
      const [object] = await corner.objects();
      expect(object).toMatchObject({ kind: "Hold" });
      expect(object?.metadata.finalizers).toBeUndefined();
      expect(await free("10.0.0.5", 0, { domain })).toEqual({ outcome: "released" });
      expect(await corner.entries("p")).toEqual({});
    });

    it("whatever step's reply is lost, a repeated take ends with object and entry, and a repeated release with neither", async () => {
      await corner.pool("p", "fd00::/64");
      const real = fixture.transport();
      for (const when of ["before", "after"]) {
        for (let struck = 1; struck <= 3; struck++) {
          let writes = 0;
          const lossy: Transport = async (call) => {
            if (call.method === "GET" || ++writes !== struck) return real(call);
            if (when === "after") for await (const _ of (await real(call)).body);
            throw new Error("the connection broke");
          };
          ledger = open(lossy);
          await take("fd00::5", "p").catch((error: unknown) =>
            expect(error).toMatchObject({ code: "outcome-unknown" }),
          );
          expect(await take("fd00::5", "p")).toMatchObject({ hold: { owner: web } });
          expect(await corner.names()).toEqual(["fd00--5", "fd00-0000-0000-0000-0000-0000-0000-0005"]);
          expect(await corner.entries("p")).toMatchObject({ "5": { id: "c-1" } });
          writes = 0;
          await free("fd00::5").catch((error: unknown) => expect(error).toMatchObject({ code: "outcome-unknown" }));
          await free("fd00::5");
          expect(await corner.names()).toEqual([]);
          expect(await corner.entries("p")).toEqual({});
        }
      }
    });

    it("names the pool that a take lacks", async () => {
      const { note: _, ...bare } = request("10.0.0.5", "p");
      await expect(ledger.take(bare)).rejects.toThrow(/without its pool/);
      await expect(take("10.0.0.5", "none")).rejects.toThrow(/There is no IPPool .*none/);
      expect(await corner.names()).toEqual([]);
    });
  });
}
