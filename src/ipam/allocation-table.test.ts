// The table against two plain maps, with few addresses and owners so that they collide all the time.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { parseAddress, plus } from "../net/address.ts";
import { AllocationTable } from "./allocation-table.ts";
import { type Owner, ownerKey } from "./owner.ts";

const owners: readonly Owner[] = [
  { kind: "pod", uid: "u1", namespace: "a", name: "web-0", interface: "eth0" },
  { kind: "pod", uid: "u1", namespace: "a", name: "web-0", interface: "net1" },
  { kind: "pod", uid: "u1", namespace: "a", name: "web-0", interface: "net2" },
  { kind: "pod", uid: "", namespace: "a", name: "web-0", interface: "eth0" },
  { kind: "pod", uid: "", namespace: "a", name: "web-1", interface: "eth0" },
  { kind: "claim", uid: "u1", namespace: "a", name: "vm.net" },
  { kind: "nic", uid: "u1", namespace: "a", name: "vm", nic: "eth0" },
  ...Array.from({ length: 30 }, (_, i): Owner => ({ kind: "claim", uid: `c${i}`, namespace: "b", name: `c${i}` })),
];

describe.each(["10.0.0.0", "fd00::ffff:fff0"])("AllocationTable at %s", (base) => {
  const address = (i: number) => plus(parseAddress(base), i)!;

  it("agrees with two maps", () => {
    const steps = fc.array(fc.record({ puts: fc.boolean(), address: fc.nat(40), owner: fc.nat(owners.length - 1) }), {
      minLength: 50,
      maxLength: 300,
    });
    fc.assert(
      fc.property(steps, (list) => {
        const table = new AllocationTable();
        const byAddress = new Map<string, Owner>();
        const byOwner = new Map<string, string>();
        for (const step of list) {
          const at = address(step.address);
          const owner = owners[step.owner]!;
          const holder = byAddress.get(`${at}`);
          if (!step.puts) {
            table.delete(at);
            byAddress.delete(`${at}`);
            if (holder !== undefined) byOwner.delete(ownerKey(holder));
          } else {
            const has = byOwner.get(ownerKey(owner));
            const conflicts = has === undefined ? holder !== undefined : has !== `${at}`;
            expect(table.put(at, owner) !== undefined).toBe(conflicts);
            if (!conflicts) {
              byAddress.set(`${at}`, owner);
              byOwner.set(ownerKey(owner), `${at}`);
            }
          }
          expect(table.size).toBe(byAddress.size);
          expect(table.ownerAt(at)).toBe(byAddress.get(`${at}`));
          expect(String(table.addressOf(owner))).toBe(String(byOwner.get(ownerKey(owner))));
        }
        const all = [...table.values()].map((each) => `${each.address} ${ownerKey(each.owner)}`).sort();
        expect(all).toEqual([...byAddress].map(([text, owner]) => `${text} ${ownerKey(owner)}`).sort());
      }),
      { numRuns: 150 },
    );
  });

  it("renews the description of an owner that has the address already", () => {
    const table = new AllocationTable();
    const pod: Owner = { kind: "pod", uid: "u", namespace: "n", name: "p", interface: "eth0", containerId: "old" };
    table.put(address(1), pod);
    const renewed = { ...pod, containerId: "new" };
    expect(table.put(address(1), renewed)).toBeUndefined();
    expect(table.ownerAt(address(1))).toBe(renewed);
    expect(table.size).toBe(1);
  });

  it("holds many, and gives their slots to others", () => {
    const table = new AllocationTable();
    const claim = (i: number): Owner => ({ kind: "claim", uid: `uid-${i}`, namespace: "n", name: `c${i}` });
    for (let i = 0; i < 20_000; i++) expect(table.put(address(i), claim(i))).toBeUndefined();
    for (let i = 0; i < 20_000; i += 2) table.delete(address(i));
    for (let i = 0; i < 20_000; i++) {
      expect(table.ownerAt(address(i))?.uid).toBe(i % 2 === 0 ? undefined : `uid-${i}`);
      expect(table.addressOf(claim(i)) === undefined).toBe(i % 2 === 0);
    }
    for (let i = 0; i < 20_000; i += 2) expect(table.put(address(i), claim(i))).toBeUndefined();
    expect(table.size).toBe(20_000);
  });

  it("finds one of very many NICs of one network config in a few steps", () => {
    let reads = 0;
    const nic = (i: number): Owner => ({
      kind: "nic",
      get uid() {
        reads += 1;
        return "u1";
      },
      namespace: "n",
      name: "vm",
      nic: `nic-${i}`,
    });
    const table = new AllocationTable();
    for (let i = 0; i < 2000; i++) table.put(address(i), nic(i));
    // Two look-ups each; all in one chain would be two million.
    expect(reads).toBeLessThan(2000 * 20);
  });
});
