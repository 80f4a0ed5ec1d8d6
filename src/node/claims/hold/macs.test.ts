import { expect, it } from "vitest";

import type { HoldNote } from "../../../ipam/ledger.ts";
import { MemoryLedger, MemoryStore } from "../../../ipam/testing/memory-ledger.ts";
import { parseAddress } from "../../../net/address.ts";
import { parseCidr } from "../../../net/prefix.ts";
import { ClaimRefusal, type ClaimUse } from "../resolve/claim-binding.ts";
import { assertMacFree } from "./claim-holds.ts";

const { signal } = new AbortController();
const mac = "02:00:00:00:00:07";
const owner = (uid: string) => ({ kind: "claim" as const, uid, namespace: "ns", name: uid });
const use = { owner: owner("mine"), identity: "vm-m/blue", mac } as ClaimUse;
const share = { definition: { prefix: parseCidr("10.0.0.0/24").prefix }, owner: use.owner };

interface Other {
  readonly uid?: string;
  readonly at?: string;
  readonly domain?: string;
  readonly note?: HoldNote;
}

async function outcomeWith({ uid = "other", at = "10.0.0.9", domain = "network:net", note = { mac } }: Other) {
  const ledger = new MemoryLedger(new MemoryStore(), { now: () => 1 });
  await ledger.take({ domain, address: parseAddress(at), owner: owner(uid), note });
  const quest = { ledger, domain: "network:net", share, mayBeOld: false, signal };
  return assertMacFree(quest, use).then(
    () => "free",
    (error: unknown) => (error instanceof ClaimRefusal ? error.reason : error),
  );
}

it.each<[string, Other, string]>([
  ["another claim that holds an address of the range with it", {}, "MACAddressConflict"],
  ["another NIC of the same VM", { note: { mac, identity: "vm-m/green" } }, "MACAddressConflict"],
  ["the claim itself", { uid: "mine" }, "free"],
  ["the claim before, of the same NIC", { note: { mac, identity: "vm-m/blue" } }, "free"],
  ["nobody: the other has another MAC", { note: { mac: "02:00:00:00:00:08" } }, "free"],
  ["nobody: the other has none on record", { note: {} }, "free"],
  ["nobody here: an address of another range", { at: "10.0.1.9" }, "free"],
  ["nobody here: an address of another domain", { domain: "network:other" }, "free"],
])("who has the MAC: %s", async (_, other, expected) => {
  expect(await outcomeWith(other)).toBe(expected);
});
