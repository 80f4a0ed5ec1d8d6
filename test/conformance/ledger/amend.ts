// What every ledger must do whose holds can be passed on and know their users (docs/decisions/0014).
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import {
  type AmendableLedger,
  type AmendRequest,
  type Hold,
  type HoldUser,
  LedgerError,
} from "../../../src/ipam/ledger.ts";
import { type ClaimOwner, type Owner, ownerKey } from "../../../src/ipam/owner.ts";
import { parseAddress } from "../../../src/net/address.ts";
import type { LedgerHarness } from "./suite.ts";

const address = parseAddress("10.0.0.7");
const claim = (uid: string, part?: number): ClaimOwner => ({
  kind: "claim",
  uid,
  namespace: "shop",
  name: "vm.blue",
  ...(part !== undefined && { part }),
});
const user = (name: string, node = "node-1"): HoldUser => ({ uid: `uid-${name}`, name, node });
const note = { pool: "kube-system/10.0.0.0-24", identity: "vm-uid/blue", why: "the lowest free one" };
const [first, second] = [user("launcher-1"), user("launcher-2", "node-2")];

export function amendConformance(about: string, start: () => Promise<LedgerHarness<AmendableLedger>>): void {
  describe(`amend: ${about}`, () => {
    let harness: LedgerHarness<AmendableLedger>;
    let ledger: AmendableLedger;
    let domain: string;
    beforeEach(async () => {
      harness = await start();
      [domain] = harness.domains;
      ledger = await harness.open();
    });
    afterEach(() => harness.close());

    const take = (owner: Owner, more: { users?: readonly HoldUser[]; at?: typeof address; early?: boolean } = {}) => {
      const { at = address, ...rest } = more;
      return ledger.take({ domain, address: at, owner, note, ...rest });
    };
    async function taken(owner: Owner = claim("one"), users: readonly HoldUser[] = [first]): Promise<Hold> {
      const result = await take(owner, { users });
      if (result.outcome !== "taken") throw new Error(`expected to take ${address}, got ${result.outcome}`);
      return result.hold;
    }
    const amend = (hold: Hold, change: Partial<AmendRequest>, client = ledger) =>
      client.amend({ domain, address, owner: ownerKey(hold.owner), version: hold.version, ...change });
    const held = async (owner: Owner) => ledger.find(domain, ownerKey(owner));
    const release = (hold: Hold, cooldownMs = 0) =>
      ledger.release({ domain, address, owner: ownerKey(hold.owner), version: hold.version, cooldownMs });

    describe("a MAC", () => {
      const mac = "02:00:00:00:00:07";
      const alike = (of = mac) => ledger.find(domain, ownerKey(claim("another")), { mac: of });

      it("finds the hold that it is on record with, until that is changed or released", async () => {
        const before = await taken();
        expect(await alike()).toEqual([]);
        const changed = await amend(before, { note: { ...note, mac } });
        if (changed.outcome !== "amended") throw new Error(changed.outcome);
        expect(await alike()).toEqual([changed.hold]);
        expect(await alike("02:00:00:00:00:08")).toEqual([]);
        await release(changed.hold, 60_000);
        expect(await alike()).toEqual([]);
        // The next owner does not inherit it.
        expect((await take(claim("two"), { early: true })).outcome).toBe("taken");
        expect(await alike()).toEqual([]);
      });
    });

    describe("identity", () => {
      const alike = (...identities: readonly string[]) =>
        ledger.find(domain, ownerKey(claim("another")), { identities });

      it("finds a hold, whoever's it is, and no other", async () => {
        const hold = await taken();
        expect(await alike("vm-uid/blue")).toEqual([hold]);
        expect(await alike("vmi-uid/blue", "vm-uid/blue")).toEqual([hold]);
        expect(await alike("vm-uid/green")).toEqual([]);
      });

      it("is the new one after a change of it, and nobody's after a release", async () => {
        const before = await taken();
        const changed = await amend(before, { to: claim("two"), note: { ...note, identity: "other-uid/blue" } });
        if (changed.outcome !== "amended") throw new Error(changed.outcome);
        expect(await alike("vm-uid/blue")).toEqual([]);
        expect(await alike("other-uid/blue")).toEqual([changed.hold]);
        await release(changed.hold, 60_000);
        expect(await alike("other-uid/blue")).toEqual([]);
      });
    });

    describe("users", () => {
      it("of a new hold are kept with it, and read back whole", async () => {
        const hold = await taken(claim("one"), [first, second]);
        expect(hold).toMatchObject({ owner: claim("one"), note, users: [first, second] });
        expect(await held(claim("one"))).toEqual([hold]);
        const all: Hold[] = [];
        for await (const each of ledger.list(domain)) all.push(each);
        expect(all).toEqual([hold]);
      });

      it("none are none", async () => {
        expect((await taken(claim("one"), [])).users ?? []).toEqual([]);
      });

      it("stay as they are where the owner takes what it has: only amend changes them", async () => {
        const hold = await taken();
        expect(await take(claim("one"), { users: [second] })).toEqual({ outcome: "yours", hold });
        expect(await take(claim("one"))).toEqual({ outcome: "yours", hold });
        expect(await held(claim("one"))).toEqual([hold]);
      });

      it("are all replaced, and nothing else, with a new version", async () => {
        const before = await taken();
        const result = await amend(before, { users: [first, second] });
        expect(result).toMatchObject({
          outcome: "amended",
          hold: { owner: claim("one"), note, users: [first, second] },
        });
        const [after] = await held(claim("one"));
        expect(result).toEqual({ outcome: "amended", hold: after });
        expect(after!.version).not.toBe(before.version);
        expect(await amend(after!, { users: [] })).toMatchObject({ outcome: "amended", hold: { note } });
        expect((await held(claim("one")))[0]!.users ?? []).toEqual([]);
      });

      it.each([0, 30_000])("are gone with the hold, %s ms of rest or none", async (cooldownMs) => {
        expect(await release(await taken(), cooldownMs)).toEqual({ outcome: "released" });
        const again = await take(claim("one"));
        expect(again).toMatchObject({ outcome: "taken" });
        expect(again.outcome === "taken" && (again.hold.users ?? [])).toEqual([]);
      });

      it.each([
        ["after its rest", false],
        ["early", true],
      ])("and the identity are not the next owner's, who takes it %s", async (_, early) => {
        await release(await taken(), 30_000);
        if (!early) await harness.advance(30_001);
        const next = await ledger.take({ domain, address, owner: claim("other"), early });
        expect(next).toMatchObject({ outcome: "taken" });
        const [hold] = await held(claim("other"));
        expect(hold!.users ?? []).toEqual([]);
        expect(hold!.note?.identity).toBeUndefined();
      });
    });

    describe("passing on", () => {
      it("is one step: the new owner has it, with users, identity and all", async () => {
        const before = await taken();
        const result = await amend(before, { to: claim("two") });
        expect(result).toMatchObject({ outcome: "amended", hold: { owner: claim("two"), users: [first], note } });
        expect(await held(claim("one"))).toEqual([]);
        expect(await held(claim("two"))).toHaveLength(1);
        expect(await take(claim("one"))).toMatchObject({ outcome: "held", hold: { owner: claim("two") } });
        expect(await take(claim("two"))).toMatchObject({ outcome: "yours" });
      });

      it("takes new users and a new note along, in one write", async () => {
        const before = await taken();
        const changed = { to: claim("two"), users: [second], note: { ...note, identity: "other/blue" } };
        const result = await amend(before, changed);
        expect(result).toMatchObject({ hold: { owner: claim("two"), users: [second], note: changed.note } });
      });

      it("leaves the release of the owner before without effect", async () => {
        const before = await taken();
        await amend(before, { to: claim("two") });
        expect(await release(before)).toMatchObject({ outcome: "superseded", hold: { owner: claim("two") } });
        const old = { domain, address, owner: ownerKey(claim("one")), cooldownMs: 0 };
        expect(await ledger.release(old)).toMatchObject({ outcome: "superseded" });
        expect(await held(claim("two"))).toHaveLength(1);
      });

      it("goes from a pod to a claim, and its container with it", async () => {
        const pod: Owner = { kind: "pod", uid: "p", namespace: "shop", name: "p", interface: "net1", containerId: "c" };
        const before = await taken(pod, []);
        await amend(before, { to: claim("one"), users: [first] });
        const [hold] = await held(claim("one"));
        expect(hold).toMatchObject({ owner: claim("one"), users: [first] });
        expect(await held(pod)).toEqual([]);
      });
    });

    describe("is refused", () => {
      it("where there is no hold, or it rests", async () => {
        const hold = await taken();
        await release(hold, 30_000);
        expect(await amend(hold, { users: [second] })).toEqual({ outcome: "gone" });
        await harness.advance(30_001);
        expect(await amend(hold, { users: [second] })).toEqual({ outcome: "gone" });
        expect(
          await ledger.amend({ domain: harness.domains[1], address, owner: ownerKey(claim("one")), version: "1" }),
        ).toEqual({
          outcome: "gone",
        });
      });

      it("where another has it, with who that is", async () => {
        const hold = await taken(claim("two"));
        const result = await ledger.amend({ domain, address, owner: ownerKey(claim("one")), version: hold.version });
        expect(result).toEqual({ outcome: "superseded", hold });
      });

      it("at an older version", async () => {
        const old = await taken();
        await amend(old, { users: [first, second] });
        const result = await amend(old, { users: [] });
        expect(result).toMatchObject({ outcome: "superseded", hold: { users: [first, second] } });
        expect((await held(claim("one")))[0]!.users).toEqual([first, second]);
      });

      it("after it was freed and taken again, by the same owner or another", async () => {
        const old = await taken();
        await release(old);
        const again = await taken();
        expect(await amend(old, { users: [] })).toEqual({ outcome: "superseded", hold: again });
      });
    });

    describe("of two at once", () => {
      it("one wins, and the other learns of it", async () => {
        const hold = await taken();
        const clients = await Promise.all(Array.from({ length: 8 }, () => harness.open()));
        const results = await Promise.all(
          clients.map((client, index) => amend(hold, { users: [first, user(`racer-${index}`)] }, client)),
        );
        const won = results.filter(({ outcome }) => outcome === "amended");
        expect(won).toHaveLength(1);
        expect(results.filter(({ outcome }) => outcome === "superseded")).toHaveLength(7);
        expect(await held(claim("one"))).toEqual(won.flatMap((each) => ("hold" in each ? [each.hold] : [])));
      });

      it("each that reads again and adds itself is there in the end", async () => {
        await taken(claim("one"), []);
        const racers = Array.from({ length: 6 }, (_, index) => user(`racer-${index}`));
        await Promise.all(
          racers.map(async (racer) => {
            const client = await harness.open();
            for (let tries = 0; tries < 50; tries++) {
              const [hold] = await client.find(domain, ownerKey(claim("one")));
              const users = [...(hold!.users ?? []), racer];
              if ((await amend(hold!, { users }, client)).outcome === "amended") return;
            }
            throw new Error(`${racer.name} never got through`);
          }),
        );
        const [hold] = await held(claim("one"));
        expect(hold!.users!.map(({ name }) => name).toSorted()).toEqual(racers.map(({ name }) => name));
      });

      it("a release and an amend of the same version: one of them happens", async () => {
        for (let round = 0; round < 5; round++) {
          const hold = await taken();
          const other = await harness.open();
          const [freed, amended] = await Promise.all([release(hold), amend(hold, { users: [second] }, other)]);
          const left = await held(claim("one"));
          if (amended.outcome === "amended") {
            expect(freed).toMatchObject({ outcome: "superseded" });
            expect(left).toMatchObject([{ users: [second] }]);
          } else {
            expect(freed).toEqual({ outcome: "released" });
            expect(left).toEqual([]);
          }
          for (const each of left) await release(each);
        }
      });
    });

    it.each(["before-commit", "after-commit"] as const)(
      "a reply lost %s is unknown, and what is read back tells",
      async (when) => {
        const hold = await taken();
        harness.loseNextReply(when);
        const failure = await amend(hold, { to: claim("two") }).catch((error: unknown) => error);
        expect(failure).toBeInstanceOf(LedgerError);
        expect(failure).toMatchObject({ code: "outcome-unknown" });
        const isDone = when === "after-commit";
        expect(await held(claim("two"))).toHaveLength(isDone ? 1 : 0);
        expect(await held(claim("one"))).toHaveLength(isDone ? 0 : 1);
        expect(await amend(hold, { to: claim("two") })).toMatchObject({ outcome: isDone ? "superseded" : "amended" });
      },
    );

    it("the parts of one claim are owners of their own, each with its users", async () => {
      const [whole, part] = [claim("one"), claim("one", 1)];
      await take(whole, { users: [first] });
      expect(await take(part, { users: [first] })).toMatchObject({ outcome: "held", hold: { owner: whole } });
      const at = parseAddress("10.0.0.8");
      expect(await take(part, { at, users: [second] })).toMatchObject({ outcome: "taken", hold: { owner: part } });
      expect(await held(part)).toMatchObject([{ owner: part, users: [second] }]);
      const [hold] = await held(whole);
      expect(await amend(hold!, { to: claim("two") })).toMatchObject({ outcome: "amended" });
      expect(await held(part)).toHaveLength(1);
      expect(await held(claim("two", 1))).toEqual([]);
    });

    it("holds IPv6 addresses too", async () => {
      const at = parseAddress("fd00::7");
      const result = await take(claim("one"), { at, users: [first] });
      const hold = result.outcome === "taken" ? result.hold : undefined;
      expect(await amend(hold!, { address: at, users: [second] })).toMatchObject({ outcome: "amended" });
      expect(await held(claim("one"))).toMatchObject([{ users: [second], note }]);
    });
  });
}
