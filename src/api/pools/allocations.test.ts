import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";

import { owner } from "../../../test/api/arbitrary.ts";
import { apiRefusalOf } from "../../../test/api/refusal.ts";
import { word } from "../../../test/net/arbitrary.ts";
import { parseAddress, V6Address } from "../../net/address.ts";
import { parseObject } from "../kind.ts";
import { allocationKey } from "./allocation-key.ts";
import { readAllocations, writeAllocations } from "./allocations.ts";
import { type IPPool, ipPoolKind } from "./ip-pool.ts";
import { parseRange } from "./range.ts";

function pool(range: string, allocations: object): IPPool {
  return parseObject(ipPoolKind, {
    apiVersion: "whereabouts.cni.cncf.io/v1alpha1",
    kind: "IPPool",
    metadata: { name: "p", namespace: "kube-system" },
    spec: { range, allocations },
  });
}

describe("a pool of whereabouts", () => {
  const { entries, unreadable } = readAllocations(
    pool("10.0.0.0/24", {
      "1": { id: "c1", podref: "default/web-0", ifname: "net1" },
      "2": { id: "c2", podref: "default/web-1" },
      "3": { id: "", podref: "" },
      "4": { id: "c4", podref: "nameless" },
      "300": { id: "c5", podref: "default/web-2", ifname: "net1" },
    }),
  );

  it("has its owners, as far as they are recorded", () => {
    expect(
      entries.map(({ address, owner: { kind, namespace, name, uid } }) => [`${address}`, kind, namespace, name, uid]),
    ).toEqual([
      ["10.0.0.1", "pod", "default", "web-0", ""],
      ["10.0.0.2", "pod", "default", "web-1", ""],
      ["10.0.0.3", "pod", "", "", ""],
      ["10.0.0.4", "pod", "", "nameless", ""],
    ]);
    expect(entries[0]?.owner).toMatchObject({ interface: "net1", containerId: "c1" });
    expect(entries[1]?.owner).toMatchObject({ interface: "", containerId: "c2" });
    expect(entries[2]?.owner).not.toHaveProperty("containerId");
  });

  it("names what cannot be read, with the owner and the remedy", () => {
    expect(unreadable).toHaveLength(1);
    expect(unreadable[0]).toMatchObject({ key: "300", owner: { name: "web-2" } });
    expect(unreadable[0]?.message).toMatch(
      /^IPPool kube-system\/p: the key "300" leads out of 10\.0\.0\.0\/24.*once default\/web-2 is gone/,
    );
  });
});

test("a range of mapped addresses is IPv4, as whereabouts has it", () => {
  const [entry] = readAllocations(pool("::ffff:10.0.0.0/104", { "7": { id: "c", podref: "default/a" } })).entries;
  expect(entry?.address.toString()).toBe("10.0.0.7");
});

test("a pool with host bits tells every address that may be in use", () => {
  const [entry] = readAllocations(pool("10.0.0.5/23", { "248": { id: "c", podref: "default/a" } })).entries;
  expect([entry?.address, ...(entry?.others ?? [])].map(String)).toEqual(["10.0.0.253", "10.0.1.3"]);
});

test("what upstream knows is written as upstream writes it, and nothing else for its pods", () => {
  const web = {
    kind: "pod",
    uid: "",
    namespace: "default",
    name: "web-0",
    interface: "net1",
    containerId: "c1",
  } as const;
  expect(writeAllocations("10.0.0.0/24", [{ address: parseAddress("10.0.0.9"), owner: web }])).toEqual({
    "9": { id: "c1", podref: "default/web-0", ifname: "net1" },
  });
});

test("an offset that whereabouts could not read is refused for it", () => {
  const held = [
    {
      address: parseAddress("fd00::ffff:0:0:1"),
      owner: { kind: "claim", uid: "u", namespace: "default", name: "c" } as const,
    },
  ];
  const range = parseRange("fd00::/64");
  const refusal = apiRefusalOf(() => allocationKey(range, held[0]!.address, { forWhereabouts: true }));
  expect(refusal.code).toBe("offset-too-large");
  expect(Object.keys(writeAllocations("fd00::/64", held))).toHaveLength(1);
});

test("what is written is read back, owners and all", () => {
  const held = fc.array(fc.tuple(word, word, owner), { maxLength: 8 });
  fc.assert(
    fc.property(held, (list) => {
      const byAddress = new Map(
        list.map(([high, low, each]) => [
          `${high} ${low}`,
          { address: new V6Address(0xfd00_0000, 0, high, low), owner: each },
        ]),
      );
      const allocations = writeAllocations("fd00::/64", byAddress.values());
      const { entries, unreadable } = readAllocations(pool("fd00::/64", allocations));
      const plain = (all: Iterable<{ address: unknown; owner: unknown }>) =>
        [...all]
          .map(({ address, owner: each }) => [String(address), each])
          .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
      expect(plain(entries)).toEqual(plain(byAddress.values()));
      expect(unreadable).toEqual([]);
    }),
  );
});
