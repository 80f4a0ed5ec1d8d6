// What every ledger must do, whatever it is made of. A new ledger brings a harness and runs this; see memory.test.ts.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { acquire, type Acquired } from "../../../src/ipam/acquire.ts";
import { type Hold, type HoldNote, type Ledger, LedgerError } from "../../../src/ipam/ledger.ts";
import { formerKey, type Owner, ownerKey, type PodOwner } from "../../../src/ipam/owner.ts";
import { Pool } from "../../../src/ipam/pool.ts";
import type { Refusal, Strategy } from "../../../src/ipam/request.ts";
import { parseAddress } from "../../../src/net/address.ts";
import { parseCidr } from "../../../src/net/prefix.ts";
import { giveBack } from "./give-back.ts";

export interface LedgerHarness<L extends Ledger = Ledger> {
  /** Three domains of the ledger. */
  readonly domains: readonly [string, string, string];
  /** A client of one store. Called again, it is another client of the same store, as another process would be. */
  open(): Promise<L>;
  /** The next write of any client is struck: before it is carried out, or after, and the caller learns neither. */
  loseNextReply(when: "before-commit" | "after-commit"): void;
  now(): number;
  /** Lets time pass, as far as cooling down is concerned. */
  advance(ms: number): Promise<void>;
  close(): Promise<void>;
}

const ip = parseAddress;
const address = ip("10.0.0.7");
const pod = (name: string, containerId = `c-${name}`): Owner => ({
  kind: "pod",
  uid: `uid-${name}`,
  namespace: "default",
  name,
  interface: "eth0",
  containerId,
});
const claim: Owner = { kind: "claim", uid: "uid-claim", namespace: "default", name: "vm.net" };
const nic: Owner = { kind: "nic", uid: "uid-vm", namespace: "default", name: "vm", nic: "net0" };

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return error instanceof LedgerError ? error.code : String(error);
  }
  return "none";
}

async function listed(ledger: Ledger, where: string): Promise<string[]> {
  const list: string[] = [];
  for await (const hold of ledger.list(where)) list.push(`${hold.address} ${ownerKey(hold.owner)}`);
  return list.sort();
}

export function ledgerConformance(name: string, start: () => Promise<LedgerHarness>): void {
  describe(`ledger: ${name}`, () => {
    let harness: LedgerHarness;
    let ledger: Ledger;
    let domain: string;
    const all = (client: Ledger, where = domain) => listed(client, where);
    beforeEach(async () => {
      harness = await start();
      [domain] = harness.domains;
      ledger = await harness.open();
    });
    afterEach(async () => {
      await harness.close();
    });

    const take = (
      owner: Owner,
      more: { early?: boolean; address?: typeof address; domain?: string; note?: HoldNote } = {},
    ) => ledger.take({ domain, address, owner, ...more });
    const release = (owner: Owner, more: { version?: string; cooldownMs?: number } = {}) =>
      ledger.release({ domain, address, owner: ownerKey(owner), cooldownMs: 0, ...more });
    async function taken(owner: Owner): Promise<Hold> {
      const result = await take(owner);
      if (result.outcome !== "taken") throw new Error(`expected to take ${address}, got ${result.outcome}`);
      return result.hold;
    }

    describe("take", () => {
      it.each([
        ["a pod's interface", pod("a")],
        ["a claim", claim],
        ["a VM's NIC", nic],
      ])("records %s and reads it back whole", async (_what, owner) => {
        const hold = await taken(owner);
        expect(hold).toMatchObject({ domain, owner });
        expect(String(hold.address)).toBe("10.0.0.7");
        const [found] = await ledger.find(domain, ownerKey(owner));
        expect(found).toEqual(hold);
      });

      it("says who holds an address that is another's", async () => {
        await taken(pod("a"));
        const result = await take(pod("b"));
        expect(result).toMatchObject({ outcome: "held", hold: { owner: pod("a") } });
        expect(await all(ledger)).toEqual([`10.0.0.7 ${ownerKey(pod("a"))}`]);
      });

      it("gives the same owner the same hold again", async () => {
        const hold = await taken(pod("a"));
        expect(await take(pod("a"))).toEqual({ outcome: "yours", hold });
      });

      it("lets a new sandbox of the same owner take the hold over, with a new version", async () => {
        const before = await taken(pod("a", "old"));
        const result = await take(pod("a", "new"));
        expect(result).toMatchObject({ outcome: "yours", hold: { owner: { containerId: "new" } } });
        expect(result.outcome === "yours" && result.hold.version).not.toBe(before.version);
      });

      it("leaves it to the sandbox that has it where it is asked for as it is", async () => {
        const before = await taken(pod("a"));
        const result = await ledger.take({ domain, address, owner: pod("a", "earlier"), asIs: true });
        expect(result).toEqual({ outcome: "yours", hold: before });
      });

      it("keeps domains apart", async () => {
        await taken(pod("a"));
        const [, second, third] = harness.domains;
        expect(await take(pod("b"), { domain: second })).toMatchObject({ outcome: "taken" });
        expect(await all(ledger, second)).toEqual([`10.0.0.7 ${ownerKey(pod("b"))}`]);
        expect(await ledger.find(second, ownerKey(pod("a")))).toEqual([]);
        expect(await ledger.release({ domain: third, address, owner: ownerKey(pod("a")), cooldownMs: 0 })).toEqual({
          outcome: "gone",
        });
      });

      it("holds IPv6 addresses, and one owner several addresses", async () => {
        for (const text of ["10.0.0.7", "fd00::7", "::1", "fd00:1::"]) {
          expect(await take(pod("a"), { address: ip(text) })).toMatchObject({ outcome: "taken" });
        }
        const found = await ledger.find(domain, ownerKey(pod("a")));
        expect(found.map((hold) => String(hold.address)).sort()).toEqual(["10.0.0.7", "::1", "fd00:1::", "fd00::7"]);
        expect(await ledger.find(domain, ownerKey(pod("b")))).toEqual([]);
      });

      it("keeps the note, also through a new sandbox, until a new one is given", async () => {
        const note = { pool: "kube-system/10.0.0.0-24", keeper: "statefulset/web", why: "the lowest free one" };
        await take(pod("a", "old"), { note });
        expect((await ledger.find(domain, ownerKey(pod("a"))))[0]).toMatchObject({ note });
        await take(pod("a", "new"));
        expect((await ledger.find(domain, ownerKey(pod("a"))))[0]).toMatchObject({
          note,
          owner: { containerId: "new" },
        });
        await take(pod("a", "newer"), { note: { why: "its own" } });
        expect((await ledger.find(domain, ownerKey(pod("a"))))[0]!.note).toEqual({ why: "its own" });
      });

      it("tells the parts of one interface apart", async () => {
        const [first, second] = [pod("a"), { ...pod("a"), part: 1 } as Owner];
        await take(first);
        expect(await take(second)).toMatchObject({ outcome: "held", hold: { owner: first } });
        expect(await take(second, { address: ip("10.0.0.8") })).toMatchObject({ outcome: "taken" });
        expect(await ledger.find(domain, ownerKey(second))).toMatchObject([{ owner: second }]);
        expect(await ledger.find(domain, ownerKey(first))).toMatchObject([{ owner: first }]);
      });

      describe("of what an older system recorded without a UID", () => {
        const nameless: Owner = { ...pod("a"), uid: "", containerId: "c-old" } as Owner;

        it("is the same pod's, and completes the record", async () => {
          const before = await taken(nameless);
          const result = await take(pod("a"));
          expect(result).toMatchObject({ outcome: "yours", hold: { owner: pod("a") } });
          expect(result.outcome === "yours" && result.hold.version).not.toBe(before.version);
          expect(await all(ledger)).toEqual([`10.0.0.7 ${ownerKey(pod("a"))}`]);
          expect(await ledger.find(domain, ownerKey(nameless))).toEqual([]);
        });

        it("completes the record also for the very same container", async () => {
          await taken({ ...nameless, containerId: "c-a" } as Owner);
          expect(await take(pod("a"))).toMatchObject({ outcome: "yours", hold: { owner: pod("a") } });
          expect(await ledger.find(domain, ownerKey(pod("a")))).toHaveLength(1);
        });

        it.each([
          ["another pod's", pod("b")],
          ["another interface's", { ...pod("a"), interface: "net1" } as Owner],
          ["another part's", { ...pod("a"), part: 1 } as Owner],
        ])("is not %s", async (_what, other) => {
          await taken(nameless);
          expect(await take(other)).toMatchObject({ outcome: "held", hold: { owner: nameless } });
        });

        it("is found by its former key", async () => {
          await taken(nameless);
          expect(await ledger.find(domain, ownerKey(pod("a")))).toEqual([]);
          const formerly = formerKey(pod("a"));
          expect(await ledger.find(domain, ownerKey(pod("a")), { formerly })).toMatchObject([{ owner: nameless }]);
          expect(await ledger.find(domain, ownerKey(pod("b")), { formerly: formerKey(pod("b")) })).toEqual([]);
        });

        it("may have it back at once after its release", async () => {
          await taken(nameless);
          await release(nameless, { cooldownMs: 30_000 });
          expect(await take(pod("b"))).toMatchObject({ outcome: "cooling" });
          expect(await take(pod("a"))).toMatchObject({ outcome: "taken", hold: { owner: pod("a") } });
        });

        it("never goes the other way: a record with a UID is not for one without", async () => {
          await taken(pod("a"));
          expect(await take(nameless)).toMatchObject({ outcome: "held" });
        });
      });

      it("is seen by every client", async () => {
        await taken(pod("a"));
        const other = await harness.open();
        expect(await other.take({ domain, address, owner: pod("b") })).toMatchObject({ outcome: "held" });
        expect(await other.find(domain, ownerKey(pod("a")))).toHaveLength(1);
      });

      it("does nothing when it was called off before it began", async () => {
        const signal = AbortSignal.abort();
        await expect(ledger.take({ domain, address, owner: pod("a") }, { signal })).rejects.toThrow();
        expect(await all(ledger)).toEqual([]);
        await taken(pod("a"));
        await expect(ledger.find(domain, ownerKey(pod("a")), { signal })).rejects.toThrow();
        await expect(Array.fromAsync(ledger.list(domain, { signal }))).rejects.toThrow();
        await expect(
          ledger.release({ domain, address, owner: ownerKey(pod("a")), cooldownMs: 0 }, { signal }),
        ).rejects.toThrow();
        expect(await all(ledger)).toHaveLength(1);
      });
    });

    describe("release", () => {
      it("frees what the owner holds, and says so when there is nothing", async () => {
        await taken(pod("a"));
        expect(await release(pod("a"))).toEqual({ outcome: "released" });
        expect(await release(pod("a"))).toEqual({ outcome: "gone" });
        expect(await take(pod("b"))).toMatchObject({ outcome: "taken" });
      });

      it("is guarded by the owner", async () => {
        await taken(pod("a"));
        expect(await release(pod("b"))).toMatchObject({ outcome: "superseded", hold: { owner: pod("a") } });
        expect(await all(ledger)).toHaveLength(1);
      });

      it("is guarded by the owner also where the version is right", async () => {
        const { version } = await taken(pod("a"));
        expect(await release(pod("b"), { version })).toMatchObject({
          outcome: "superseded",
          hold: { owner: pod("a") },
        });
        expect(await all(ledger)).toHaveLength(1);
      });

      it("is another client's business too, at the version that it was told", async () => {
        const { version } = await taken(pod("a"));
        const other = await harness.open();
        const guard = { domain, address, owner: ownerKey(pod("a")), version, cooldownMs: 0 };
        expect(await other.release({ ...guard, owner: ownerKey(pod("b")) })).toMatchObject({ outcome: "superseded" });
        expect(await other.release(guard)).toEqual({ outcome: "released" });
        expect(await ledger.release(guard)).toEqual({ outcome: "gone" });
      });

      it("parks a hold for its owner, and leaves one alone that a later sandbox uses", async () => {
        const park = { domain, address, owner: ownerKey(pod("a")), cooldownMs: 0, park: true };
        expect(await ledger.release(park)).toEqual({ outcome: "gone" });
        expect(await all(ledger)).toEqual([]);
        const note = { keeper: "statefulset/a" };
        const first = await take(pod("a", "one"), { note });
        if (first.outcome !== "taken") throw new Error(first.outcome);
        const { version } = first.hold;
        const parked = await ledger.release({ ...park, version });
        const { containerId: _, ...owner } = pod("a") as PodOwner;
        expect(parked).toMatchObject({ outcome: "parked", hold: { owner, note } });
        expect(await ledger.find(domain, ownerKey(owner))).toEqual([(parked as { hold: Hold }).hold]);
        expect((parked as { hold: { owner: PodOwner } }).hold.owner.containerId).toBeUndefined();
        expect(await take(pod("b"))).toMatchObject({ outcome: "held" });
        expect(await take(pod("a", "two"))).toMatchObject({ outcome: "yours", hold: { owner: pod("a", "two"), note } });
        expect(await ledger.release({ ...park, version })).toMatchObject({
          outcome: "superseded",
          hold: { owner: pod("a", "two") },
        });
      });

      it("is guarded by the version: a late release of a replaced sandbox frees nothing", async () => {
        const old = await taken(pod("a", "old"));
        const result = await take(pod("a", "new"));
        expect(await release(pod("a"), { version: old.version })).toMatchObject({ outcome: "superseded" });
        expect(await all(ledger)).toHaveLength(1);
        const current = result.outcome === "yours" ? result.hold.version : "";
        expect(await release(pod("a"), { version: current })).toEqual({ outcome: "released" });
      });

      it("of an older hold does not touch a newer one of the same owner", async () => {
        const first = await taken(pod("a"));
        await release(pod("a"));
        await taken(pod("a"));
        expect(await release(pod("a"), { version: first.version })).toMatchObject({ outcome: "superseded" });
        expect(await all(ledger)).toHaveLength(1);
      });
    });

    describe("cooling down", () => {
      it("keeps the address from others, not from its last owner, and ends", async () => {
        await taken(pod("a"));
        await release(pod("a"), { cooldownMs: 30_000 });
        expect(await all(ledger)).toEqual([]);
        expect(await take(pod("b"))).toMatchObject({ outcome: "cooling", lastOwner: ownerKey(pod("a")) });
        expect(await take(pod("a"))).toMatchObject({ outcome: "taken" });
        await release(pod("a"), { cooldownMs: 30_000 });
        await harness.advance(30_001);
        expect(await take(pod("b"))).toMatchObject({ outcome: "taken" });
      });

      it("says until when", async () => {
        await taken(pod("a"));
        const before = harness.now();
        await release(pod("a"), { cooldownMs: 30_000 });
        const result = await take(pod("b"));
        const untilMs = result.outcome === "cooling" ? result.untilMs : 0;
        expect(untilMs).toBeGreaterThanOrEqual(before + 30_000);
        expect(untilMs).toBeLessThanOrEqual(harness.now() + 30_000);
      });

      it("gives way where nothing else is left", async () => {
        await taken(pod("a"));
        await release(pod("a"), { cooldownMs: 30_000 });
        expect(await take(pod("b"), { early: true })).toMatchObject({ outcome: "taken" });
        expect(await take(pod("a"))).toMatchObject({ outcome: "held" });
      });

      it("is over once another has had it early: only the last release counts", async () => {
        await taken(pod("a"));
        await release(pod("a"), { cooldownMs: 30_000 });
        await take(pod("b"), { early: true });
        await release(pod("b"));
        expect(await take(pod("c"))).toMatchObject({ outcome: "taken" });
      });
    });

    describe("a lost reply", () => {
      it.each(["before-commit", "after-commit"] as const)(
        "%s is reported as unknown, never as failed or done",
        async (when) => {
          harness.loseNextReply(when);
          expect(await codeOf(take(pod("a")))).toBe("outcome-unknown");
          expect(await all(ledger)).toHaveLength(when === "after-commit" ? 1 : 0);
        },
      );

      it.each(["before-commit", "after-commit"] as const)("%s of a take can be repeated", async (when) => {
        harness.loseNextReply(when);
        await codeOf(take(pod("a")));
        expect(await take(pod("a"))).toMatchObject({ outcome: when === "after-commit" ? "yours" : "taken" });
        expect(await all(ledger)).toHaveLength(1);
      });

      it.each(["before-commit", "after-commit"] as const)("%s of a release can be repeated", async (when) => {
        const { version } = await taken(pod("a"));
        harness.loseNextReply(when);
        expect(await codeOf(release(pod("a"), { version }))).toBe("outcome-unknown");
        expect(await release(pod("a"), { version })).toEqual({
          outcome: when === "after-commit" ? "gone" : "released",
        });
        expect(await all(ledger)).toEqual([]);
      });
    });

    describe("acquire", () => {
      const newPool = (prefix = "10.0.0.0/29", cooldownMs = 0) =>
        new Pool({ prefix: parseCidr(prefix).prefix, cooldownMs }, () => harness.now());
      const get = (
        owner: Owner,
        pool: Pool,
        more: { client?: Ledger; lookFirst?: boolean; strategy?: Strategy } = {},
      ): Promise<Acquired | Refusal> => {
        const { client = ledger, lookFirst = false, strategy = { kind: "lowest" } } = more;
        return acquire({ ledger: client, domain, pool, request: { owner, strategy }, random: Math.random, lookFirst });
      };
      const shown = (result: Acquired | Refusal) =>
        result.kind === "acquired" ? String(result.hold.address) : result.code;

      it("takes the decided address, and the next where the ledger says it is another's", async () => {
        await take(pod("x"), { address: ip("10.0.0.1") });
        await take(pod("y"), { address: ip("10.0.0.2") });
        const result = await get(pod("a"), newPool());
        expect(shown(result)).toBe("10.0.0.3");
        expect(result).toMatchObject({ conflicts: 2, early: false });
      });

      it("finds what the owner holds already, with an empty picture", async () => {
        await taken(pod("a", "old"));
        const result = await get(pod("a", "new"), newPool(), { lookFirst: true });
        expect(result).toMatchObject({ hold: { owner: { containerId: "new" } } });
        expect(shown(result)).toBe("10.0.0.7");
        expect(await all(ledger)).toHaveLength(1);
      });

      it.each(["before-commit", "after-commit"] as const)(
        "survives a reply lost %s with one hold and one answer",
        async (when) => {
          harness.loseNextReply(when);
          expect(shown(await get(pod("a"), newPool()))).toBe("10.0.0.1");
          expect(await all(ledger)).toEqual([`10.0.0.1 ${ownerKey(pod("a"))}`]);
        },
      );

      it.each(["before-commit", "after-commit"] as const)(
        "hands a hold over to a new sandbox although a reply was lost %s",
        async (when) => {
          const pool = newPool();
          const before = await get(pod("a", "old"), pool);
          harness.loseNextReply(when);
          const after = await get(pod("a", "new"), pool);
          expect(after).toMatchObject({ kind: "acquired", hold: { owner: { containerId: "new" } } });
          const [found] = await ledger.find(domain, ownerKey(pod("a")));
          expect(found).toMatchObject({ owner: { containerId: "new" } });
          const old = before.kind === "acquired" ? before.hold : undefined;
          expect(
            await ledger.release({
              domain,
              address: old!.address,
              owner: ownerKey(pod("a")),
              version: old!.version,
              cooldownMs: 0,
            }),
          ).toMatchObject({ outcome: "superseded" });
        },
      );

      it("does not mistake what the owner holds in another range for this one's", async () => {
        for (const text of ["10.0.1.1", "fd00::7"]) await take(pod("a"), { address: ip(text) });
        expect(shown(await get(pod("a"), newPool(), { lookFirst: true }))).toBe("10.0.0.1");
      });

      it("finds by a lost reply what the picture did not know, and stays with it", async () => {
        await taken(pod("a", "old"));
        harness.loseNextReply("before-commit");
        const result = await get(pod("a", "new"), newPool());
        expect(shown(result)).toBe("10.0.0.7");
        expect(result).toMatchObject({ hold: { owner: { containerId: "new" } } });
        expect(await all(ledger)).toHaveLength(1);
      });

      it("answers with what it tried where the owner has another range's address in the same prefix", async () => {
        await take(pod("a"), { address: ip("10.0.0.2") });
        const pool = newPool();
        for (const text of ["10.0.0.1", "10.0.0.2"]) pool.take(ip(text), pod(text));
        harness.loseNextReply("after-commit");
        expect(shown(await get(pod("a"), pool))).toBe("10.0.0.3");
      });

      it("learns that what it thought its own is another's, and takes another", async () => {
        await take(pod("x"), { address: ip("10.0.0.1") });
        const pool = newPool();
        pool.take(ip("10.0.0.1"), pod("a"));
        expect(shown(await get(pod("a"), pool))).toBe("10.0.0.2");
        expect(pool.ownerAt(ip("10.0.0.1"))).toEqual(pod("x"));
      });

      it("refuses when every address turns out to be held, and says by whom", async () => {
        for (let i = 1; i <= 6; i++) await take(pod(`x${i}`), { address: ip(`10.0.0.${i}`) });
        const result = await get(pod("a"), newPool());
        expect(shown(result)).toBe("exhausted");
        expect(result.kind === "refusal" && result.trace().map(({ state }) => state)).toEqual(
          Array(6).fill("allocated"),
        );
      });

      it("takes one early where all else is held, and says so", async () => {
        for (let i = 1; i <= 5; i++) await take(pod(`x${i}`), { address: ip(`10.0.0.${i}`) });
        await take(pod("gone"), { address: ip("10.0.0.6") });
        await ledger.release({ domain, address: ip("10.0.0.6"), owner: ownerKey(pod("gone")), cooldownMs: 30_000 });
        const result = await get(pod("a"), newPool("10.0.0.0/29", 30_000));
        expect(shown(result)).toBe("10.0.0.6");
        expect(result).toMatchObject({ early: true });
      });

      it("gives many owners racing for the last address to one of them", async () => {
        for (let i = 1; i <= 5; i++) await take(pod(`x${i}`), { address: ip(`10.0.0.${i}`) });
        const racers = Array.from({ length: 24 }, (_, i) => pod(`racer-${i}`));
        const results = await Promise.all(
          racers.map(async (owner) => get(owner, newPool(), { client: await harness.open() })),
        );
        expect(results.filter(({ kind }) => kind === "acquired")).toHaveLength(1);
        expect(new Set(results.filter(({ kind }) => kind === "refusal").map(shown))).toEqual(new Set(["exhausted"]));
        expect(await all(ledger)).toHaveLength(6);
      });

      it.each<Strategy>([{ kind: "lowest" }, { kind: "spread", stripes: 8, first: 3, step: 5 }])(
        "gives %o racers with old pictures an address each, all different",
        async (strategy) => {
          const racers = Array.from({ length: 24 }, (_, i) => pod(`racer-${i}`));
          const results = await Promise.all(
            racers.map(async (owner) => get(owner, newPool("10.0.0.0/24"), { client: await harness.open(), strategy })),
          );
          expect(new Set(results.map(shown)).size).toBe(24);
          expect(await all(ledger)).toHaveLength(24);
        },
      );

      it("lets 40 processes race for 20 addresses: 20 get one each, 20 are refused", async () => {
        const racers = Array.from({ length: 40 }, (_, i) => pod(`racer-${i}`));
        const pool = () => {
          const definition = { prefix: parseCidr("10.0.0.0/24").prefix, end: ip("10.0.0.20"), cooldownMs: 0 };
          return new Pool(definition, () => harness.now());
        };
        const results = await Promise.all(
          racers.map(async (owner) => get(owner, pool(), { client: await harness.open() })),
        );
        const got = results.filter(({ kind }) => kind === "acquired").map(shown);
        expect(new Set(got).size).toBe(20);
        expect(got).toHaveLength(20);
        expect(new Set(results.filter(({ kind }) => kind === "refusal").map(shown))).toEqual(new Set(["exhausted"]));
        expect(await all(ledger)).toHaveLength(20);
      });

      it("finds what an older system recorded for the pod, and stays with it", async () => {
        await taken({ ...pod("a"), uid: "" });
        const result = await get(pod("a"), newPool(), { lookFirst: true });
        expect(shown(result)).toBe("10.0.0.7");
        expect(await all(ledger)).toEqual([`10.0.0.7 ${ownerKey(pod("a"))}`]);
      });

      it("lets requests of one process share a picture without a conflict", async () => {
        const pool = newPool("10.0.0.0/24");
        const results = await Promise.all(Array.from({ length: 24 }, (_, i) => get(pod(`p${i}`), pool)));
        expect(new Set(results.map(shown)).size).toBe(24);
        expect(results.every((result) => result.kind === "acquired" && result.conflicts === 0)).toBe(true);
      });

      it("gives one owner that asks twice at once one address", async () => {
        const pool = newPool("10.0.0.0/24");
        const results = await Promise.all([get(pod("a"), pool), get(pod("a"), pool), get(pod("a"), pool)]);
        expect(new Set(results.map(shown))).toEqual(new Set(["10.0.0.1"]));
        expect(await all(ledger)).toHaveLength(1);
      });
    });

    describe("release of what was acquired", () => {
      const pool = () => new Pool({ prefix: parseCidr("10.0.0.0/29").prefix, cooldownMs: 30_000 }, () => harness.now());
      const got = async (owner: Owner, where: Pool): Promise<Hold> => {
        const result = await acquire({ ledger, domain, pool: where, request: { owner }, random: Math.random });
        if (result.kind !== "acquired") throw new Error(result.message);
        return result.hold;
      };

      it("frees it in the ledger and lets it rest in the picture, once", async () => {
        const where = pool();
        const hold = await got(pod("a"), where);
        expect(await giveBack({ ledger, domain, pool: where, owner: pod("a") })).toEqual({ outcome: "released" });
        expect(where.stateOf(hold.address).state).toBe("quarantined");
        expect(await all(ledger)).toEqual([]);
        expect(await giveBack({ ledger, domain, pool: where, owner: pod("a") })).toEqual({ outcome: "gone" });
      });

      it.each(["before-commit", "after-commit"] as const)("is done once when its reply is lost %s", async (when) => {
        const where = pool();
        const hold = await got(pod("a"), where);
        harness.loseNextReply(when);
        expect(await giveBack({ ledger, domain, pool: where, owner: pod("a") })).toEqual({ outcome: "released" });
        expect(where.stateOf(hold.address).state).toBe("quarantined");
        expect(await all(ledger)).toEqual([]);
      });

      it("of a sandbox that was replaced frees nothing, neither here nor there", async () => {
        const where = pool();
        const old = await got(pod("a", "old"), where);
        await got(pod("a", "new"), where);
        const result = await giveBack({ ledger, domain, pool: where, owner: pod("a", "old"), version: old.version });
        expect(result).toMatchObject({ outcome: "superseded", hold: { owner: { containerId: "new" } } });
        expect(where.ownerAt(old.address)).toMatchObject({ containerId: "new" });
        expect(await all(ledger)).toHaveLength(1);
      });

      it("finds what another process acquired for the owner", async () => {
        const hold = await got(pod("a"), pool());
        const mine = pool();
        expect(await giveBack({ ledger, domain, pool: mine, owner: pod("a") })).toEqual({ outcome: "released" });
        expect(mine.stateOf(hold.address).state).toBe("quarantined");
        expect(await all(ledger)).toEqual([]);
      });

      it("finds what an older system recorded for the pod", async () => {
        await take({ ...pod("a"), uid: "" }, { address: ip("10.0.0.3") });
        expect(await giveBack({ ledger, domain, pool: pool(), owner: pod("a") })).toEqual({ outcome: "released" });
        expect(await all(ledger)).toEqual([]);
      });

      it("waits for the acquire that is under way for the same owner", async () => {
        const where = pool();
        const acquiring = got(pod("a"), where);
        const releasing = giveBack({ ledger, domain, pool: where, owner: pod("a") });
        await acquiring;
        expect(await releasing).toEqual({ outcome: "released" });
        expect(await all(ledger)).toEqual([]);
      });
    });
  });
}
