// `holdfast adopt` on a server: after a restore, from a file of another cluster, and beside other writers.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { beforeEach, describe, expect, it } from "vitest";

import { planAdoption } from "../../src/claims/moves/adopt.ts";
import { moveAll, type MovingOptions } from "../../src/claims/moves/move-all.ts";
import { configMaps, ipamClaims, ipPools, reservations, virtualMachines } from "../../src/cluster/resources.ts";
import { system } from "../pools/fixture.ts";
import type { CliFixture } from "./cli-fixture.ts";
import { movingOptions } from "./cli-moving.ts";

const old = "5956a54c-989c-414c-b5ba-55cae03a5ada";
const identity = `${old}/blue`;

export function adoptStories(fixture: () => CliFixture): void {
  beforeEach(() => fixture().clear());

  const adopt = (...argv: string[]) => fixture().run("adopt", "shop/db", "--from", old, ...argv);
  /** address -> claim's name, UID of the VM it is for */
  const books = async () =>
    (await fixture().held()).map(
      ({ hold }) => `${hold.address} ${hold.owner.kind} ${hold.owner.name} ${hold.note?.identity ?? ""}`,
    );

  describe("after a restore", () => {
    it("gives the VM what its earlier life held; first only says so; done twice, it is done once", async () => {
      const uid = await fixture().vm();
      await fixture().orphan("10.0.0.7", identity);
      const before = await fixture().versions();
      const dry = await adopt("--dry-run");
      expect(dry).toMatchObject({ code: 0, err: "" });
      expect(dry.out).toContain("blue: would do: create IPAMClaim shop/db.blue, pass 10.0.0.7 on");
      expect(await fixture().versions()).toEqual(before);

      const done = await adopt();
      expect(done).toMatchObject({ code: 0, err: "" });
      expect(done.out).toContain("blue: IPAMClaim shop/db.blue has 10.0.0.7, passed on");
      const claim = await fixture().readClaim();
      expect(claim.metadata).toMatchObject({
        finalizers: ["holdfast.io/persistent-ip"],
        ownerReferences: [{ kind: "VirtualMachine", name: "db", uid }],
        annotations: {
          "holdfast.io/claim-owner": uid,
          "holdfast.io/claim-nic": "blue",
          "holdfast.io/adopted-from": old,
        },
      });
      const [held] = await fixture().held();
      expect(held?.hold).toMatchObject({
        owner: { kind: "claim", uid: claim.metadata.uid, name: "db.blue" },
        note: { identity: `${uid}/blue`, pool: `${system}/10.0.0.0-24` },
      });

      const after = await fixture().versions();
      const again = await adopt();
      expect(again).toMatchObject({ code: 0, err: "" });
      expect(again.out).toContain(`was adopted from ${old} before`);
      expect(await fixture().versions()).toEqual(after);
    });

    it("makes a restored claim the VM's own, with the address that its hold kept or its status shows", async () => {
      const uid = await fixture().vm("db", ["blue", "dual"]);
      const restored = await fixture().ours(old);
      await fixture().orphan("10.0.0.7", identity);
      await fixture().ours(old, { nic: "dual", ips: ["10.1.0.9/24", "fd00::9/64"] });
      expect(await adopt()).toMatchObject({ code: 0, err: "" });
      expect(await books()).toEqual([
        `10.0.0.7 claim db.blue ${uid}/blue`,
        `10.1.0.9 claim db.dual ${uid}/dual`,
        `fd00::9 claim db.dual ${uid}/dual`,
      ]);
      expect((await fixture().readClaim()).metadata.uid).toBe(restored.metadata.uid);
    });

    it("continues a claim that is being deleted: the address is never nobody's", async () => {
      const uid = await fixture().vm();
      const { metadata } = await fixture().ours(old);
      await fixture().hold(
        "10.0.0.7",
        { kind: "claim", uid: metadata.uid ?? "", namespace: "shop", name: "db.blue" },
        { note: { identity } },
      );
      await fixture().client.delete(ipamClaims, { namespace: "shop", name: "db.blue" });
      expect((await fixture().readClaim()).metadata.deletionTimestamp).toBeDefined();
      expect(await adopt()).toMatchObject({ code: 0, err: "" });
      const claim = await fixture().readClaim();
      expect(claim.metadata.uid).not.toBe(metadata.uid);
      expect(claim.metadata.annotations?.["holdfast.io/continues"]).toBe(metadata.uid);
      expect(await books()).toEqual([`10.0.0.7 claim db.blue ${uid}/blue`]);
    });

    it("refuses without the proof, for an owner that lives, and what a third has; nothing is written", async () => {
      await fixture().vm();
      const other = await fixture().vm("web");
      await fixture().ours(other);
      const third = await fixture().readClaim();
      await fixture().hold(
        "10.0.0.7",
        { kind: "claim", uid: third.metadata.uid ?? "", namespace: "shop", name: "db.blue" },
        { note: { identity } },
      );
      const before = await fixture().versions();
      const run = async (from: string) => {
        const { code, out, err } = await fixture().run("adopt", "shop/db", "--from", from);
        return { code, words: out + err };
      };
      expect(await run("00000000-0000-0000-0000-000000000000")).toEqual({
        code: 1,
        words: expect.stringContaining("without that proof"),
      });
      expect(await run(other)).toEqual({
        code: 1,
        words: expect.stringContaining("lives: VirtualMachine shop/web exists"),
      });
      expect(await run(old)).toEqual({
        code: 1,
        words: expect.stringContaining(`whose owner is ${other} and not ${old}`),
      });
      expect(await fixture().versions()).toEqual(before);
    });

    it("waits for nobody while whereabouts may be active, or while pools are being moved", async () => {
      await fixture().vm();
      await fixture().orphan("10.0.0.7", identity);
      const at = { namespace: system, name: "holdfast-state" };
      const say = (data: object) => fixture().client.patch(configMaps, at, { type: "merge", body: { data } });
      await say({ paused: "migrate by anna" });
      expect(await adopt()).toMatchObject({ code: 1, err: expect.stringContaining("paused: migrate by anna") });
      await say({ paused: "", coexistence: "on" });
      expect(await adopt()).toMatchObject({
        code: 1,
        err: expect.stringContaining("whereabouts is, or may be, active"),
      });
    });
  });

  describe("while others write", () => {
    const options = (more: Partial<MovingOptions> = {}): MovingOptions => ({
      ...movingOptions(fixture().client, (seen) => planAdoption(seen, { namespace: "shop", name: "db", from: old })),
      ...more,
    });

    it("a write that fails in the middle is taken back: a NIC has all of its addresses or none", async () => {
      await fixture().vm("db", ["dual"]);
      await fixture().ours(old, { nic: "dual" });
      await fixture().orphan("10.1.0.7", `${old}/dual`, "dual");
      await fixture().orphan("fd00::7", `${old}/dual`, "dual");
      const before = await books();
      let puts = 0;
      fixture().fixture.fault = (method, path) =>
        method === "PUT" && path.includes("overlappingrange") && ++puts === 2 ? "forbidden" : false;
      expect(await moveAll(options())).toEqual({ moved: 0, already: 0, refused: 1 });
      expect(await books()).toEqual(before);
      expect((await fixture().readClaim("db.dual")).metadata.annotations?.["holdfast.io/claim-owner"]).toBe(old);
      fixture().fixture.fault = undefined;
      expect(await moveAll(options())).toEqual({ moved: 1, already: 0, refused: 0 });
    });

    /** What a restore may leave; each ends with both addresses of the NIC in the VM's hands. */
    const remains: Record<string, () => Promise<void>> = {
      "the claim is gone": async () => {},
      "the claim was restored": async () => void (await fixture().ours(old, { nic: "dual" })),
      "the claim is being deleted": async () => {
        await fixture().ours(old, { nic: "dual" });
        await fixture().client.delete(ipamClaims, { namespace: "shop", name: "db.dual" });
      },
    };

    it.each(Object.keys(remains))("killed at any write while %s, a second call finishes it", async (what) => {
      let isWhole = false;
      // Two holds, noted and passed, a claim let go, made and marked: no way has more than eight writes.
      for (let last = 1; last <= 9 && !isWhole; last++) {
        await fixture().clear();
        const uid = await fixture().vm("db", ["dual"]);
        await remains[what]!();
        await fixture().orphan("10.1.0.7", `${old}/dual`, "dual");
        await fixture().orphan("fd00::7", `${old}/dual`, "dual");
        isWhole = await fixture().killedAfter(last, () => moveAll(options()));
        // At no moment has an address been nobody's, or been of two.
        expect((await fixture().held()).map(({ hold }) => `${hold.address}`)).toEqual(["10.1.0.7", "fd00::7"]);
        expect(await moveAll(options())).toMatchObject({ refused: 0 });
        const { metadata } = await fixture().readClaim("db.dual");
        expect(metadata.annotations).toMatchObject({ "holdfast.io/claim-owner": uid });
        for (const { hold } of await fixture().held()) {
          expect(hold).toMatchObject({ owner: { uid: metadata.uid }, note: { identity: `${uid}/dual` } });
        }
      }
      expect(isWhole).toBe(true);
    });

    it("a claim that another writes meanwhile is looked at again", async () => {
      const uid = await fixture().vm();
      await fixture().ours(old);
      await fixture().orphan("10.0.0.7", identity);
      let looks = 0;
      const look = async () => {
        const seen = await options().look();
        looks += 1;
        if (looks > 1) return seen;
        const patch = { type: "merge", body: { metadata: { labels: { touched: "yes" } } } } as const;
        await fixture().client.patch(ipamClaims, { namespace: "shop", name: "db.blue" }, patch);
        return seen;
      };
      expect(await moveAll(options({ look }))).toEqual({ moved: 1, already: 0, refused: 0 });
      expect(looks).toBe(2);
      expect(await books()).toEqual([`10.0.0.7 claim db.blue ${uid}/blue`]);
      expect((await fixture().readClaim()).metadata.labels).toMatchObject({
        touched: "yes",
        "holdfast.io/managed": "true",
      });
    });
  });

  describe("from a file", () => {
    const inFile = async (text: string, work: (path: string) => Promise<void>) => {
      const folder = mkdtempSync(join(tmpdir(), "holdfast-claims-"));
      try {
        writeFileSync(join(folder, "claims.json"), text);
        await work(join(folder, "claims.json"));
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    };

    it("takes exactly the addresses of the other cluster for its VM's namesake; another's are refused", async () => {
      const there = await fixture().vm("db", ["blue", "dual"]);
      for (const [nic, addresses] of [
        ["blue", ["10.0.0.7"]],
        ["dual", ["10.1.0.9", "fd00::9"]],
      ] as const) {
        const { metadata } = await fixture().ours(there, { nic });
        for (const each of addresses) {
          await fixture().hold(each, { kind: "claim", uid: metadata.uid ?? "", namespace: "shop", name: `db.${nic}` });
        }
      }
      const exported = await fixture().run("claims", "export", "-n", "shop");
      expect(exported).toMatchObject({ code: 0, err: "" });

      await fixture().clear();
      await inFile(exported.out, async (file) => {
        const early = await fixture().run("adopt", "--file", file);
        expect(early).toMatchObject({ code: 1, out: expect.stringContaining("there is no VM shop/db here") });
        const here = await fixture().vm("db", ["blue", "dual"]);
        await fixture().fixture.hold("10.0.0.7", { uid: "u", name: "web-0" });
        const partly = await fixture().run("adopt", "--file", file);
        expect(partly).toMatchObject({ code: 1, out: expect.stringContaining("10.0.0.7 is held for pod shop/web-0") });
        const expected = [`10.1.0.9 claim db.dual ${here}/dual`, `fd00::9 claim db.dual ${here}/dual`];
        expect(await books()).toEqual(["10.0.0.7 pod web-0 ", ...expected]);
        for (const { object } of (await fixture().held()).slice(0, 1)) await fixture().remove(reservations, object);
        expect(await fixture().run("adopt", "shop/db", "--file", file)).toMatchObject({ code: 0, err: "" });
        expect(await books()).toEqual([`10.0.0.7 claim db.blue ${here}/blue`, ...expected]);
        const again = await fixture().run("adopt", "--file", file);
        expect(again).toMatchObject({ code: 0, out: expect.stringContaining("2 as they must be already, 0 refused") });
      });
    });

    it("does not touch a pool whose entries nobody has adopted", async () => {
      await fixture().vm();
      await fixture().fixture.whereaboutsPool("10.0.0.0-24", "10.0.0.0/24", {
        7: { id: "c", podref: "shop/old", ifname: "net1" },
      });
      const claims = [{ namespace: "shop", vm: "db", nic: "blue", network: "blue-net", ips: ["10.0.0.7/24"] }];
      await inFile(JSON.stringify({ kind: "holdfast-claims", version: 1, claims }), async (file) => {
        const { code, out } = await fixture().run("adopt", "--file", file);
        expect({ code, out }).toEqual({ code: 1, out: expect.stringContaining("is not adopted yet") });
        expect(await fixture().held()).toEqual([]);
      });
      expect((await fixture().client.list(ipPools)).items).toHaveLength(1);
      expect((await fixture().client.list(virtualMachines)).items).toHaveLength(1);
    });

    it("a file that is none is told as such", async () => {
      await inFile("{}", async (file) => {
        const { code, err } = await fixture().run("adopt", "--file", file);
        expect({ code, err }).toEqual({
          code: 1,
          err: expect.stringContaining("is not what `holdfast claims export` writes"),
        });
      });
      const missing = await fixture().run("adopt", "--file", "/nowhere/claims.json");
      expect(missing).toMatchObject({
        code: 1,
        err: expect.stringContaining("--file /nowhere/claims.json cannot be read"),
      });
    });
  });
}
