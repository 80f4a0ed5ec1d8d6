// The record of a claim's address through a migration: who has it, who uses it and what it is for go along.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { holdObjectOf, holdOfObject } from "../../api/holds/hold-object.ts";
import type { HoldObject } from "../../api/holds/hold.ts";
import { holdOfReservation, reservationOf } from "../../api/holds/reservation-hold.ts";
import type { Reservation } from "../../api/holds/reservation.ts";
import type { Hold } from "../../ipam/ledger.ts";
import type { ClaimOwner } from "../../ipam/owner.ts";
import { parseAddress } from "../../net/address.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { networkDomain } from "../plan/goal.ts";
import { recordMoves } from "../plan/record-moves.ts";
import { type AddressObject, type AddressRecord, movedRecord, readRecord } from "./record-object.ts";

const text = fc.stringMatching(/^[a-z0-9]{1,8}$/);
const user = fc.record({ uid: fc.uuid(), name: text, node: text });
const claim = fc
  .record({
    uid: fc.uuid(),
    namespace: text,
    name: text,
    part: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
  })
  .map(({ part, ...rest }): ClaimOwner => ({ kind: "claim", ...rest, ...(part !== undefined && { part }) }));
const hold = fc.record({
  domain: fc.constant("network:"),
  address: fc.constantFrom("10.0.0.7", "fd00::7").map((each) => parseAddress(each)),
  owner: claim,
  users: fc.array(user, { minLength: 1, maxLength: 3 }),
  note: fc.record({ pool: fc.constant("kube-system/a"), identity: text, why: text }),
});

function recordOf(object: AddressObject): AddressRecord {
  const record = readRecord(object, new Set());
  if (typeof record === "string") throw new Error(record);
  return record;
}

function stored<T extends AddressObject>(object: T, uid = "u"): T {
  return { ...object, metadata: { ...object.metadata, uid, resourceVersion: "1" } };
}

const ofOwner = ({ owner, users, note, address }: Hold) => ({ owner, users, note, address: `${address}` });

describe("a claim's record", () => {
  it("goes to another network and back with owner, users and identity", () => {
    fc.assert(
      fc.property(hold, (each) => {
        const before = stored(reservationOf(each, "kube-system"));
        const renamed = new Map([["kube-system/a", "shop/b"]]);
        const there = movedRecord(recordOf(before), { namespace: "shop", network: "red", renamed }) as Reservation;
        const after = holdOfReservation(stored(there), new Set(["red"]));
        expect(after.domain).toBe("network:red");
        expect(ofOwner(after)).toEqual({
          ...ofOwner({ ...each, version: "" }),
          note: { ...each.note, pool: "shop/b" },
        });
        const back = new Map([["shop/b", "kube-system/a"]]);
        const home = movedRecord(recordOf(stored(there)), { namespace: "kube-system", network: "", renamed: back });
        expect(ofOwner(holdOfReservation(stored(home as Reservation)))).toEqual(ofOwner({ ...each, version: "" }));
      }),
    );
  });

  it("the same, as a Hold of a pool's own domain", () => {
    fc.assert(
      fc.property(hold, (each) => {
        const before = stored(holdObjectOf({ ...each, domain: "pool:kube-system/a" }, "kube-system"));
        const renamed = new Map([["kube-system/a", "shop/b"]]);
        const to = { namespace: "shop", network: "", poolDomain: "shop/b", renamed };
        const after = holdOfObject(stored(movedRecord(recordOf(before), to) as HoldObject));
        expect(after.domain).toBe("pool:shop/b");
        expect(ofOwner(after)).toEqual({
          ...ofOwner({ ...each, version: "" }),
          note: { ...each.note, pool: "shop/b" },
        });
      }),
    );
  });

  const held = (uid: string, namespace: string) => {
    const owner: ClaimOwner = { kind: "claim", uid, namespace: "shop", name: "vm.blue" };
    const address = parseAddress("10.0.0.7");
    return recordOf(stored(reservationOf({ domain: "network:", address, owner }, namespace), `${uid}-${namespace}`));
  };
  const moves = (records: readonly AddressRecord[]) => {
    const currents = ["a", "b"].map((namespace) => ({
      label: namespace,
      from: networkDomain({ namespace, network: "" }),
      prefix: parsePrefix("10.0.0.0/24"),
      to: { namespace: "c", network: "red" },
      pools: [],
    }));
    return recordMoves(records, currents, new Map());
  };

  it("two of one claim that come to one place become one", () => {
    const { moves: all, conflicts } = moves([held("one", "a"), held("one", "b")]);
    expect(conflicts).toEqual([]);
    expect(all.map(({ after }) => after !== undefined)).toEqual([true, false]);
  });

  it("those of two namesakes never do: somebody must decide", () => {
    expect(moves([held("one", "a"), held("two", "b")]).conflicts).toHaveLength(1);
  });
});
