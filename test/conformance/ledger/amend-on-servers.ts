// What only a ledger on an API server meets: objects of other writers, marks of nodes, whereabouts at work beside it.
import { beforeEach, describe, expect, it } from "vitest";

import type { Hold, HoldUser } from "../../../src/ipam/ledger.ts";
import { type ClaimOwner, ownerKey } from "../../../src/ipam/owner.ts";
import type { HeldObject } from "../../../src/ledger/reservation/list-holds.ts";
import { readObject, recordsOf } from "../../../src/ledger/reservation/records.ts";
import type { ReservationLedger } from "../../../src/ledger/reservation/reservation-ledger.ts";
import { parseAddress } from "../../../src/net/address.ts";
import type { ApiHarness } from "./api-harness.ts";

const address = parseAddress("fd00::7");
const owner: ClaimOwner = { kind: "claim", uid: "one", namespace: "shop", name: "vm.blue" };
const user: HoldUser = { uid: "uid-1", name: "launcher-1", node: "node-1" };
const never = new AbortController().signal;

export function amendOnServers(name: string, start: () => Promise<ApiHarness>): void {
  describe(`amend: ${name}, beside others`, () => {
    let harness: ApiHarness;
    let domain: string;
    beforeEach(async () => {
      harness = await start();
      [domain] = harness.domains;
    });

    const records = () => recordsOf(domain, harness.namespace);
    async function taken(ledger: ReservationLedger, loose = false): Promise<Hold> {
      const result = await ledger.take({ domain, address, owner, users: [user], loose, note: { identity: "vm/blue" } });
      if (result.outcome !== "taken") throw new Error(`got ${result.outcome}`);
      return result.hold;
    }
    const object = async (): Promise<HeldObject | undefined> =>
      readObject(harness.client, records(), records().nameOf(address), never);
    const patch = async (annotations: Readonly<Record<string, string>>, labels = {}) => {
      const found = await object();
      const metadata = {
        ...found!.metadata,
        annotations: { ...found!.metadata.annotations, ...annotations },
        labels: { ...found!.metadata.labels, ...labels },
      };
      await harness.client.update(records().resource, { ...found!, metadata }, {});
    };
    const find = async (ledger: ReservationLedger) => ledger.find(domain, ownerKey(owner));
    const amend = (ledger: ReservationLedger, hold: Hold, users: readonly HoldUser[], to?: ClaimOwner) => {
      const { version } = hold;
      return ledger.amend({ domain, address, owner: ownerKey(owner), version, users, ...(to && { to }) });
    };

    it.each([
      "",
      "{",
      "null",
      "{}",
      '"x"',
      "[1]",
      '[{"uid":"a","name":"b"}]',
      '[{"uid":1,"name":"b","node":"c"}]',
      "[null]",
    ])("users that cannot be read, %j, are one whom nobody can ask for: never none", async (text) => {
      const ledger = harness.openAs("node-1");
      await taken(ledger);
      await patch({ "holdfast.io/users": text });
      const [hold] = await find(ledger);
      expect(hold!.users).toEqual([{ uid: "", name: "", node: "" }]);
      expect(await amend(ledger, hold!, [user])).toMatchObject({ outcome: "amended", hold: { users: [user] } });
    });

    it("an amend keeps what others put on the object", async () => {
      const ledger = harness.openAs("node-1");
      await taken(ledger);
      await patch({ "example.org/ticket": "42" }, { "example.org/team": "blue" });
      const [hold] = await find(ledger);
      await amend(ledger, hold!, []);
      const { annotations, labels } = (await object())!.metadata;
      expect(annotations).toMatchObject({ "example.org/ticket": "42", "holdfast.io/identity": "vm/blue" });
      expect(annotations).not.toHaveProperty(["holdfast.io/users"]);
      expect(labels).toMatchObject({ "example.org/team": "blue" });
    });

    it("the hold is listed for the node that wrote it last, and the leader leaves that mark", async () => {
      const [one, two, leader] = [harness.openAs("node-1"), harness.openAs("node-2"), harness.openAs(undefined)];
      await taken(one);
      const nodeOf = async () => (await object())!.metadata.labels?.["holdfast.io/node"];
      const [before] = await find(two);
      await amend(two, before!, [user, { ...user, uid: "uid-2", node: "node-2" }]);
      expect(await nodeOf()).toBe("node-2");
      const [after] = await find(leader);
      await amend(leader, after!, [{ ...user, uid: "uid-2", node: "node-2" }]);
      expect(await nodeOf()).toBe("node-2");
    });

    it("one that is being deleted, and not by us, is not amended: it would be lost", async () => {
      const ledger = harness.openAs("node-1");
      await taken(ledger);
      const found = await object();
      const metadata = { ...found!.metadata, finalizers: ["example.org/mine"] };
      await harness.client.update(records().resource, { ...found!, metadata }, {});
      await harness.client.delete(records().resource, { namespace: harness.namespace, name: metadata.name! }, {});
      const [hold] = await find(ledger);
      await expect(amend(ledger, hold!, [])).rejects.toMatchObject({ code: "unavailable" });
    });

    it("while whereabouts is active, what stands beside the hold is passed on and freed with it", async () => {
      const ledger = harness.openAs("node-1", { coexistence: true });
      const before = await taken(ledger, true);
      const to = { ...owner, uid: "two", name: "vm.blue2" };
      const result = await amend(ledger, before, [user], to);
      expect(result).toMatchObject({ outcome: "amended", hold: { owner: to } });
      const version = result.outcome === "amended" ? result.hold.version : "";
      const request = { domain, address, owner: ownerKey(to), version, cooldownMs: 0 };
      expect(await ledger.release(request)).toEqual({ outcome: "released" });
      const { items } = await harness.client.list(records().resource, { namespace: harness.namespace });
      expect(items.map(({ metadata }) => metadata.name)).toEqual([]);
    });
  });
}
