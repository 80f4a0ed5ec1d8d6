// Holds as rows of numbers against a plain map: any order of holds that come, change, cool and go leaves both with the
// same ones, by address, MAC and name, in each pool, and in the picture that addresses are chosen from.
import fc from "fast-check";
import { expect, test } from "vitest";

import type { OwnerKey } from "../../../ipam/owner.ts";
import { ManualClock } from "../../../kube/testing/manual-clock.ts";
import { compare, parseAddress } from "../../../net/address.ts";
import type { NicHold } from "../../plan/nic-hold.ts";
import { planned } from "../../rules/testing/pool.ts";
import { HoldRows } from "./hold-rows.ts";
import { NicHolds } from "./nic-holds.ts";

const domains = ["vm-network:shop/blue", "vm-network:shop/red"];
const addresses = [
  "10.7.0.10",
  "10.7.0.11",
  "10.7.0.12",
  "10.7.0.13",
  "192.168.0.7",
  "255.255.255.255",
  "0.0.0.0",
  "fd00::7",
  "fd00::8",
];
const uids = ["a9f0c8de-0000-4000-8000-0000000000ff", "00000000-0000-0000-0000-000000000000", ""];
const macs = ["02:00:00:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "02-00-00-00-00-01", "odd"];
const versions = [
  "a9f0c8de-0000-4000-8000-0000000000ff@7",
  "a9f0c8de-0000-4000-8000-0000000000ff@999999999999999",
  "A9F0C8DE-0000-4000-8000-0000000000FF@7",
  "a9f0c8de-0000-4000-8000-0000000000ff@07",
  "uid@8",
  "",
];

const hold: fc.Arbitrary<NicHold> = fc
  .record({
    domain: fc.constantFrom(...domains),
    address: fc.constantFrom(...addresses).map((text) => parseAddress(text)),
    owner: fc.record({
      kind: fc.constant("nic" as const),
      uid: fc.constantFrom(...uids),
      namespace: fc.constantFrom("shop", "tenant"),
      name: fc.constantFrom("web", "db", "mail"),
      nic: fc.constantFrom(...macs),
    }),
    version: fc.constantFrom(...versions),
    note: fc.constantFrom(
      {},
      { pool: "shop/blue" },
      { pool: "shop/b" },
      { pool: "shop/blue", keeper: "vm/web", vouched: "9 x" },
    ),
    cooling: fc.constantFrom(undefined, undefined, undefined, { untilMs: 1, lastOwner: "nic:x" as OwnerKey }),
    users: fc.constantFrom(undefined, undefined, [{ uid: "u", name: "n", node: "o" }]),
  })
  .map(({ cooling, users, ...rest }) => ({ ...rest, ...(cooling && { cooling }), ...(users && { users }) }));

const step = fc.record({ kind: fc.constantFrom("put", "put", "put", "delete"), hold });
const keyOf = ({ domain, address }: NicHold) => `${domain} ${address}`;
const sorted = (holds: Iterable<NicHold>) => [...holds].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));

test("rows give what was put into them, whatever came and went before", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 120 }), (steps) => {
      const rows = new HoldRows();
      const model = new Map<string, NicHold>();
      for (const { kind, hold: given } of steps) {
        const found = rows.find(given.domain, given.address);
        expect(found >= 0).toBe(model.has(keyOf(given)));
        if (kind === "put") {
          const row = rows.put(given);
          if (found >= 0) expect(row).toBe(found);
          model.set(keyOf(given), given);
        } else if (found >= 0) {
          rows.delete(found);
          model.delete(keyOf(given));
        }
        expect(rows.size).toBe(model.size);
      }
      expect(sorted([...rows.rows()].map((row) => rows.hold(row)))).toEqual(sorted(model.values()));
      for (const row of rows.rows()) {
        const { domain, address, version, note, cooling } = rows.hold(row);
        expect([rows.domainOf(row), rows.versionOf(row), rows.poolOf(row)]).toEqual([domain, version, note?.pool]);
        expect([rows.addressOf(row), rows.isCooling(row)]).toEqual([address, cooling !== undefined]);
      }
      const cooling = [...model.values()].filter((each) => each.cooling !== undefined);
      expect(sorted([...rows.cooling()].map((row) => rows.hold(row)))).toEqual(sorted(cooling));
      expect(rows.coolingCount).toBe(cooling.length);
      // Nobody's number is kept for longer than one of his holds.
      expect(rows.owners.size).toBe(new Set(Array.from(model.values(), ({ owner }) => JSON.stringify(owner))).size);
      for (const row of rows.rows()) rows.delete(row);
      expect([rows.owners.size, [...rows.owners.configs()].length]).toEqual([0, 0]);
    }),
    { numRuns: 300 },
  );
});

const plan = planned(
  { cidr: "10.7.0.0/24", serverIP: "10.7.0.1", leaseTime: 600, pool: { start: "10.7.0.10", end: "10.7.0.99" } },
  { name: "blue", networkName: "shop/blue" },
);

test("what is known of holds is what a map knows, by address, MAC, name and pool; of the picture, too", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 80 }), fc.nat(80), async (steps, drawnAfter) => {
      const holds = new NicHolds(new ManualClock());
      const model = new Map<string, NicHold>();
      for (const [index, { kind, hold: given }] of steps.entries()) {
        if (index === drawnAfter) expect(await holds.draw(plan, "spec")).toBe(true);
        holds.told(kind === "put" ? given : undefined, given, index + 1);
        if (kind === "put") model.set(keyOf(given), given);
        else model.delete(keyOf(given));
      }
      const all = [...model.values()];
      const held = all.filter(({ cooling }) => cooling === undefined);
      expect(sorted(holds.in())).toEqual(sorted(all));
      expect(sorted(holds.cooling())).toEqual(sorted(all.filter((each) => !held.includes(each))));
      expect(holds.count).toBe(held.length);
      for (const domain of domains) {
        expect(sorted(holds.in(domain))).toEqual(sorted(all.filter((each) => each.domain === domain)));
        for (const mac of macs) {
          const own = held.filter((each) => each.domain === domain && each.owner.nic === mac);
          expect(sorted(holds.withMac(domain, mac))).toEqual(sorted(own));
        }
        for (const [family, pool] of [
          [4, "shop/blue"],
          [6, "shop/blue"],
          [4, "shop/b"],
        ] as const) {
          const isIts = (each: NicHold) =>
            each.domain === domain && each.note?.pool === pool && each.address.family === family;
          const its = held.filter(isIts).toSorted((a, b) => compare(a.address, b.address));
          expect(holds.use(domain, pool, family, 2)).toEqual({ count: its.length, lowest: its.slice(0, 2) });
        }
      }
      for (const namespace of ["shop", "tenant"])
        for (const name of ["web", "db", "mail"]) {
          const own = all.filter(({ owner }) => owner.namespace === namespace && owner.name === name);
          expect(sorted(holds.ofName(`${namespace}/${name}`))).toEqual(sorted(own));
          if (own.length > 0) expect([...holds.configs()].some((each) => each.name === name)).toBe(true);
        }
      // The picture: an address that is held is its owner's there, unless that owner has two of them.
      const picture = holds.picture(plan.key, 4);
      expect(picture === undefined).toBe(drawnAfter >= steps.length);
      if (picture === undefined) return;
      const here = held.filter(({ domain, address }) => domain === plan.domain && `${address}`.startsWith("10.7.0."));
      const several = (owner: NicHold["owner"]) => here.filter((each) => each.owner.nic === owner.nic).length > 1;
      for (const { address, owner } of here) if (!several(owner)) expect(picture.ownerAt(address)).toEqual(owner);
      const free = addresses
        .slice(0, 4)
        .filter((text) => !all.some(({ domain, address }) => domain === plan.domain && `${address}` === text));
      for (const text of free) expect(picture.ownerAt(parseAddress(text))).toBeUndefined();
      holds.erase(plan.key);
      for (const each of all) holds.told(undefined, each, 1000);
      expect([[...holds.configs()], holds.count]).toEqual([[], 0]);
    }),
    { numRuns: 300 },
  );
});
