import { expect, it } from "vitest";

import { claimNicAnnotation, claimOwnerAnnotation } from "../../api/claim-marks.ts";
import type { StoredClaim } from "../../ledger/resources.ts";
import { rivalOf } from "./macs.ts";

const claimOf = (
  uid: string,
  second: number,
  more: { network?: string; owner?: string; nic?: string; ips?: string[] } = {},
): StoredClaim => ({
  metadata: {
    uid,
    creationTimestamp: `2026-01-01T00:00:0${second}Z`,
    annotations: { [claimOwnerAnnotation]: more.owner ?? `vm-of-${uid}`, [claimNicAnnotation]: more.nic ?? "blue" },
  },
  spec: { network: more.network ?? "net", interface: "" },
  ...(more.ips && { status: { ips: more.ips } }),
});
const own = claimOf("m", 5);
const use = { claim: own, identity: "vm-of-m/blue" };

it.each([
  ["nobody else", [own], undefined],
  ["an older claim of the network", [own, claimOf("a", 1)], "a"],
  ["a younger one, which has to give way itself", [own, claimOf("z", 9)], undefined],
  ["one of the same second, by UID", [own, claimOf("a", 5)], "a"],
  ["one of the same second, by UID, the other way", [own, claimOf("z", 5)], undefined],
  ["a younger one that has an address with it", [own, claimOf("z", 9, { ips: ["10.0.0.7/24"] })], "z"],
  ["an older one of another network", [own, claimOf("a", 1, { network: "other" })], undefined],
  ["the claim before, of the same NIC", [own, claimOf("a", 1, { owner: "vm-of-m" })], undefined],
  ["another NIC of the same VM", [own, claimOf("a", 1, { owner: "vm-of-m", nic: "green" })], "a"],
])("who has the MAC: %s", (_, others, expected) => {
  expect(rivalOf(use, others)?.metadata.uid).toBe(expected);
});

it("who has an address with it does not lose it to an older one that has none", () => {
  const running = { ...use, claim: claimOf("m", 5, { ips: ["10.0.0.7/24"] }) };
  expect(rivalOf(running, [claimOf("a", 1)])).toBeUndefined();
  expect(rivalOf(running, [claimOf("a", 1, { ips: ["10.0.0.8/24"] })])?.metadata.uid).toBe("a");
});

it("of any two exactly one is refused", () => {
  const other = claimOf("n", 5);
  const back = { claim: other, identity: "vm-of-n/blue" };
  const both = [own, other];
  expect([rivalOf(use, both), rivalOf(back, both)].filter((each) => each !== undefined)).toHaveLength(1);
});
