// Definitions in, sliced ranges out: who shares a pool, who disagrees, who overlaps, and what each pool is called.
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";

import { trustedNamespaces } from "../../cluster/trusted-namespaces.ts";
import { readDefinitions } from "../../cni/config/definitions.ts";
import { formatInterval } from "../../net/interval.ts";
import { overlaps, parsePrefix } from "../../net/prefix.ts";
import { defaultCutLimits } from "./consent.ts";
import { type ExistingPool, sharingOf, type WishRules, wishesOf } from "./desired-ranges.ts";
import { poolNames, targetsOf } from "./pool-targets.ts";

interface Given {
  readonly name: string;
  readonly namespace?: string;
  readonly configuration?: string;
  readonly created?: number;
  readonly generation?: number;
  readonly ipam: object;
  /** Keys beside ipam. */
  readonly beside?: object;
}

function definition({
  name,
  namespace = "shop",
  configuration = name,
  created = 0,
  generation = 1,
  ipam,
  beside,
}: Given) {
  const creationTimestamp = new Date(Date.UTC(2026, 0, 1) + created * 1000).toISOString();
  const metadata = { namespace, name, uid: name, creationTimestamp, generation };
  const config = {
    cniVersion: "1.0.0",
    name: configuration,
    type: "x",
    ...beside,
    ipam: { type: "holdfast", ...ipam },
  };
  return { metadata, spec: { config: JSON.stringify(config) } };
}

function pool(name: string, range: string, rest: Partial<ExistingPool> = {}): ExistingPool {
  return { namespace: "kube-system", name, range: parsePrefix(range), sliceLength: 26, hasSlices: true, ...rest };
}

const rules = { ...defaultCutLimits, trusted: trustedNamespaces("kube-system", ["shop", "other"]), nodes: 5000 };

function read(given: readonly Given[], pools: readonly ExistingPool[] = [], limits: Partial<WishRules> = {}) {
  const { readable, unreadable } = readDefinitions(given.map(definition), "kube-system");
  expect(unreadable).toEqual([]);
  const wishes = wishesOf(readable, pools, { ...rules, ...limits });
  const names = poolNames([...wishes.accepted, ...wishes.refused.map(({ wish }) => wish)], pools);
  const accepted = wishes.accepted.map(
    (wish) => `${wish.namespace}/${names.get(wish.key)} ${wish.range} /${wish.sliceLength}`,
  );
  const refused = wishes.refused.map(({ wish, reason }) => `${names.get(wish.key)} ${wish.range} ${reason}`);
  return { ...wishes, accepted: accepted.toSorted(), refused: refused.toSorted(), wishes: wishes.accepted };
}

const blue = { range: "10.0.0.0/24", network_name: "blue", node_slice_size: "/26" };

describe.each<[string, Given[], ExistingPool[], string[], string[]]>([
  ["nothing is sliced", [{ name: "a", ipam: { range: "10.0.0.0/24" } }], [], [], []],
  ["one", [{ name: "a", ipam: blue }], [], ["kube-system/blue 10.0.0.0/24 /26"], []],
  [
    "the subnets of an OVN network, which has its own name",
    [
      { name: "a", ipam: { node_slice_size: "/26" }, beside: { topology: "layer2", subnets: "10.0.0.0/24" } },
      { name: "b", ipam: { node_slice_size: "/26" }, beside: { topology: "localnet", subnets: "10.0.0.0/24" } },
    ],
    [],
    ["kube-system/a 10.0.0.0/24 /26", "kube-system/b 10.0.0.0/24 /26"],
    [],
  ],
  [
    "two of one name share a pool, whatever their namespaces",
    [
      { name: "a", ipam: blue },
      { name: "b", namespace: "other", ipam: { ...blue, exclude: ["10.0.0.0/28"] } },
    ],
    [],
    ["kube-system/blue 10.0.0.0/24 /26"],
    [],
  ],
  [
    "unnamed ones are named by their configuration, and by the range too where that is taken",
    [
      { name: "a", configuration: "plain", ipam: { range: "10.0.0.0/24", node_slice_size: "26" } },
      { name: "b", configuration: "plain", created: 1, ipam: { range: "10.1.0.0/24", node_slice_size: "26" } },
    ],
    [],
    ["kube-system/plain 10.0.0.0/24 /26", "kube-system/plain-10.1.0.0-24 10.1.0.0/24 /26"],
    [],
  ],
  [
    "one whose configuration has no legal name is named by its range",
    [{ name: "a", configuration: "Not_Legal", ipam: { range: "10.0.0.0/24", node_slice_size: "26" } }],
    [],
    ["kube-system/10.0.0.0-24 10.0.0.0/24 /26"],
    [],
  ],
  [
    "a pool namespace of its own is another key",
    [
      { name: "a", ipam: blue },
      { name: "b", ipam: { ...blue, pool_namespace: "nad" } },
    ],
    [],
    ["kube-system/blue 10.0.0.0/24 /26", "shop/blue 10.0.0.0/24 /26"],
    [],
  ],
  [
    "further ranges of a definition have the range in their name",
    [
      {
        name: "a",
        ipam: {
          network_name: "dual",
          ipRanges: [
            { range: "10.0.0.0/24", node_slice_size: "/26" },
            { range: "fd00::/64", node_slice_size: "/80" },
          ],
        },
      },
    ],
    [],
    ["kube-system/dual 10.0.0.0/24 /26", "kube-system/dual-fd00---64 fd00::/64 /80"],
    [],
  ],
  [
    "a pool of whereabouts' fits by name and range, the fork's by the range",
    [
      { name: "a", ipam: blue },
      { name: "b", configuration: "other", ipam: { range: "10.7.0.0/24", node_slice_size: "26" } },
    ],
    [pool("blue", "10.0.0.0/24"), pool("10.7.0.0-24", "10.7.0.0/24")],
    ["kube-system/10.7.0.0-24 10.7.0.0/24 /26", "kube-system/blue 10.0.0.0/24 /26"],
    [],
  ],
  [
    "the name is taken by the range before: a name with the range, beside it",
    [{ name: "a", ipam: { ...blue, range: "10.1.0.0/24" } }],
    [pool("blue", "10.0.0.0/24", { network: "blue" })],
    ["kube-system/blue-10.1.0.0-24 10.1.0.0/24 /26"],
    [],
  ],
  [
    "sizes differ: the oldest counts where there is no pool",
    [
      { name: "b", created: 0, ipam: { ...blue, node_slice_size: "/27" } },
      { name: "a", created: 1, ipam: blue },
    ],
    [],
    ["kube-system/blue 10.0.0.0/24 /27"],
    [],
  ],
  [
    "sizes differ: the pool stays as it is",
    [
      { name: "b", created: 0, ipam: { ...blue, node_slice_size: "/27" } },
      { name: "a", created: 1, ipam: blue },
    ],
    [pool("blue", "10.0.0.0/24", { network: "blue", sliceLength: 28 })],
    ["kube-system/blue 10.0.0.0/24 /28"],
    [],
  ],
  [
    "ranges of one name differ: what has slices stays, the other waits",
    [
      { name: "a", created: 0, ipam: { ...blue, range: "10.1.0.0/24" } },
      { name: "b", created: 1, ipam: blue },
    ],
    [pool("blue", "10.0.0.0/24", { network: "blue" })],
    ["kube-system/blue 10.0.0.0/24 /26"],
    ["blue-10.1.0.0-24 10.1.0.0/24 Disagreement"],
  ],
  [
    "ranges of one name differ and none has slices: the oldest counts",
    [
      { name: "a", created: 1, ipam: { ...blue, range: "10.1.0.0/24" } },
      { name: "b", created: 0, ipam: blue },
    ],
    [],
    ["kube-system/blue 10.0.0.0/24 /26"],
    ["blue-10.1.0.0-24 10.1.0.0/24 Disagreement"],
  ],
  [
    "one has a range more than the other: no disagreement",
    [
      { name: "a", ipam: blue },
      {
        name: "b",
        ipam: {
          network_name: "blue",
          ipRanges: [
            { range: "10.0.0.0/24", node_slice_size: "/26" },
            { range: "fd00::/64", node_slice_size: "/80" },
          ],
        },
      },
    ],
    [],
    ["kube-system/blue 10.0.0.0/24 /26", "kube-system/blue-fd00---64 fd00::/64 /80"],
    [],
  ],
  [
    "unnamed ranges that overlap: the one with slices, then the oldest",
    [
      { name: "a", created: 0, ipam: { range: "10.0.0.0/16", node_slice_size: "/24" } },
      { name: "b", created: 1, ipam: { range: "10.0.0.0/24", node_slice_size: "/26" } },
    ],
    [pool("b", "10.0.0.0/24", { network: "" })],
    ["kube-system/b 10.0.0.0/24 /26"],
    ["a 10.0.0.0/16 Overlapping"],
  ],
])("%s", (_about, given, pools, accepted, refused) => {
  test("in this order and backwards", () => {
    for (const each of [given, given.toReversed()]) {
      const found = read(each, pools);
      expect(found.accepted).toEqual(accepted);
      expect(found.refused).toEqual(refused);
    }
  });
});

it("what is useful is what any definition hands out, also one that is not sliced yet", () => {
  const base = { network_name: "blue", range: "10.0.0.0/24" };
  const { wishes } = read([
    {
      name: "a",
      ipam: {
        ...base,
        node_slice_size: "/26",
        range_start: "10.0.0.10",
        range_end: "10.0.0.19",
        exclude: ["10.0.0.12"],
      },
    },
    { name: "b", ipam: { ...base, range_start: "10.0.0.100", range_end: "10.0.0.101" } },
  ]);
  expect([...wishes[0]!.useful].map(formatInterval)).toEqual([
    "10.0.0.10-10.0.0.11",
    "10.0.0.13-10.0.0.19",
    "10.0.0.100-10.0.0.101",
  ]);
});

it("a gateway that is kept out is of no use", () => {
  const { wishes } = read([{ name: "a", ipam: { ...blue, gateway: "10.0.0.1", exclude_gateway: true } }]);
  expect(wishes[0]!.useful.has(parsePrefix("10.0.0.1/32").first)).toBe(false);
});

it("a definition that was changed, also one that is not sliced, makes the range no original", () => {
  expect(read([{ name: "a", ipam: blue }]).wishes[0]!.isOriginal).toBe(true);
  expect(read([{ name: "a", generation: 2, ipam: blue }]).wishes[0]!.isOriginal).toBe(false);
  const shared = { name: "b", generation: 2, ipam: { range: "10.0.0.0/24", network_name: "blue" } };
  expect(read([{ name: "a", ipam: blue }, shared]).wishes[0]!.isOriginal).toBe(false);
  // Nor a definition that was never changed and shares some of the range: its pod may be on its way to a first address.
  for (const range of ["10.0.0.0/24", "10.0.0.0/16", "10.0.0.192/26"]) {
    const beside = { name: "b", ipam: { range, network_name: "blue" } };
    expect(read([{ name: "a", ipam: blue }, beside]).wishes[0]!.isOriginal).toBe(false);
  }
  const apart = [{ range: "10.0.1.0/24", network_name: "blue" }, { range: "10.0.0.0/24" }];
  for (const ipam of apart)
    expect(
      read([
        { name: "a", ipam: blue },
        { name: "b", ipam },
      ]).wishes[0]!.isOriginal,
    ).toBe(true);
});

it("the words name the definitions and what to do", () => {
  const { wishes } = read([
    { name: "a", ipam: blue },
    { name: "b", created: 1, ipam: { ...blue, node_slice_size: "/27" } },
  ]);
  expect(wishes[0]!.disagreement).toBe(
    "Of 10.0.0.0/24, shop/a asks for slices of /26, shop/b asks for slices of /27. The pool has slices of /26. Write the same into all of them.",
  );
});

test("in any order the same, no two of a network overlap, no two have one pool, and none is forgotten", () => {
  const ranges = ["10.0.0.0/16", "10.0.0.0/24", "10.0.1.0/24", "10.1.0.0/24", "fd00::/64"];
  const one = fc.record({
    range: fc.constantFrom(...ranges),
    network: fc.constantFrom("", "blue", "red"),
    size: fc.constantFrom(0, 2, 4),
    configuration: fc.constantFrom("x", "y"),
    created: fc.nat(3),
    isOwn: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(one, { maxLength: 6 }), fc.subarray(ranges), fc.nat(), (all, there, turn) => {
      const given = all.map(({ range, network, size, configuration, created, isOwn }, index): Given => {
        const length = `/${Number(range.split("/")[1]) + size}`;
        const ipam = { range, network_name: network, node_slice_size: length, ...(isOwn && { pool_namespace: "nad" }) };
        return { name: `d${index}`, configuration, created, ipam };
      });
      const pools = there.map((range, index) => pool(`p${index}`, range, { network: "blue" }));
      const { readable } = readDefinitions(given.map(definition), "kube-system");
      const turned =
        readable.length === 0
          ? []
          : [...readable.slice(turn % readable.length), ...readable.slice(0, turn % readable.length)];
      const { accepted, refused } = wishesOf(readable, pools, rules);
      const again = wishesOf(turned, pools, rules);
      expect(again.accepted.map(({ key }) => key).toSorted()).toEqual(accepted.map(({ key }) => key).toSorted());
      for (const a of accepted) {
        for (const b of accepted) {
          const isSame = a.namespace === b.namespace && a.network === b.network;
          if (a !== b && isSame) expect(overlaps(a.range, b.range)).toBe(false);
        }
      }
      const wishes = [...accepted, ...refused.map(({ wish }) => wish)];
      const names = poolNames(wishes, pools);
      const keys = wishes
        .filter(({ key }) => names.has(key))
        .map(({ namespace, key }) => `${namespace}/${names.get(key)}`);
      expect(new Set(keys).size).toBe(keys.length);
      expect(new Set(wishes.map(({ key }) => key)).size).toBe(
        new Set(all.map(({ range, network, isOwn }) => `${range} ${network} ${isOwn}`)).size,
      );
    }),
  );
});

describe("who may have what cut", () => {
  const wide = { range: "10.0.0.0/8", node_slice_size: "/24" };
  const part = { range: "10.5.0.0/24" };
  const many = (count: number) => ({
    network_name: "many",
    ipRanges: Array.from({ length: count }, (_, index) => ({ range: `10.0.${index}.0/24`, node_slice_size: "/28" })),
  });
  const each = (count: number, namespace: string, more: object = {}): Given[] =>
    Array.from({ length: count }, (_, index) => ({
      name: `d${index}`,
      namespace,
      created: index,
      ipam: { range: `10.0.${index}.0/24`, network_name: `n${index}`, node_slice_size: "/28", ...more },
    }));

  it.each<[string, Given[], number, string[]]>([
    ["a namespace that is not trusted", [{ name: "a", namespace: "tenant", ipam: wide }], 0, ["NotTrusted"]],
    ["one in its own pools", [{ name: "a", namespace: "tenant", ipam: { ...wide, pool_namespace: "nad" } }], 1, []],
    [
      "one beside who may: it has no say",
      [
        { name: "a", namespace: "tenant", ipam: { ...wide, node_slice_size: "/12" } },
        { name: "b", created: 5, ipam: wide },
      ],
      1,
      [],
    ],
    [
      "another namespace of administrators shares a part of it, and did so before",
      [
        { name: "a", namespace: "other", ipam: part },
        { name: "b", created: 5, ipam: wide },
      ],
      0,
      ["OnRecord"],
    ],
    [
      "a tenant shares a part of it, and more, and did so before: what it holds stays taken",
      [
        { name: "a", namespace: "tenant", ipam: part },
        { name: "b", created: 5, ipam: wide },
        { name: "c", namespace: "tenant", ipam: { range: "10.0.0.0/7" } },
      ],
      1,
      [],
    ],
    [
      "another namespace of administrators shares a part of it, and this was shared too",
      [
        { name: "a", namespace: "other", created: 5, ipam: part },
        { name: "b", generation: 2, ipam: wide },
      ],
      0,
      ["OnRecord"],
    ],
    [
      "a tenant came later and shares a part of it, or more: this stays the administrators', changed or not",
      [
        { name: "a", namespace: "tenant", created: 5, ipam: part },
        { name: "b", generation: 2, ipam: wide },
        { name: "c", namespace: "tenant", created: 5, ipam: { range: "10.0.0.0/7" } },
      ],
      1,
      [],
    ],
    [
      "another namespace came later, or has a name of its own, or the same range",
      [
        { name: "a", namespace: "tenant", created: 5, ipam: part },
        { name: "b", ipam: wide },
        { name: "c", namespace: "tenant", ipam: { ...part, network_name: "own" } },
        { name: "d", namespace: "tenant", ipam: { range: "10.0.0.0/8" } },
      ],
      1,
      [],
    ],
    ["as many ranges as a definition may have", [{ name: "a", ipam: many(16) }], 16, []],
    ["one more", [{ name: "a", ipam: many(17) }], 0, Array.from({ length: 17 }, () => "TooMany")],
    ["ten networks of administrators at 5,000 nodes", each(10, "shop"), 10, []],
    ["as many as a namespace may have", each(66, "shop"), 64, ["TooMany", "TooMany"]],
    ["as many slices as a tenant may have", each(5, "tenant", { pool_namespace: "nad" }), 4, ["TooMany"]],
  ])("%s", (_, given, count, reasons) => {
    const { accepted, refused } = read(given);
    expect([accepted.length, refused.map((line) => line.split(" ").at(-1))]).toEqual([count, reasons]);
  });

  // 10.0.0.0/8, /9 and so on: each overlaps the first.
  const nested = (count: number, namespace: string): Given[] =>
    Array.from({ length: count }, (_, index) => ({
      name: `o${index}`,
      namespace,
      created: index,
      ipam: { range: `10.0.0.0/${8 + index}`, node_slice_size: "/28", pool_namespace: "nad" },
    }));

  it("what is refused for another reason counts too: beyond the limit it gets no object either", () => {
    const { accepted, refused } = read(nested(7, "tenant"), [], { rangesPerNamespace: 4, nodes: 1 });
    const reasons = refused.map((line) => line.split(" ").at(-1) ?? "").toSorted();
    expect([accepted.length, reasons]).toEqual([
      1,
      [...Array<string>(3).fill("Overlapping"), ...Array<string>(3).fill("TooMany")],
    ]);
    // A refused range never takes the place of one that may have slices.
    const good = {
      name: "z",
      namespace: "tenant",
      created: 9,
      ipam: { ...wide, range: "11.0.0.0/8", pool_namespace: "nad" },
    };
    expect(read([...nested(7, "tenant"), good], [], { rangesPerNamespace: 4, nodes: 1 }).accepted).toHaveLength(2);
  });

  it("the cluster has a limit: trusted namespaces first, others half of it, and what has slices stays", () => {
    const tenants = ["t1", "t2", "t3"].flatMap((namespace) => each(2, namespace, { pool_namespace: "nad" }));
    const limits = { rangesInAll: 6, nodes: 1 };
    const { wishes, refused } = read([...tenants, ...each(4, "shop")], [], limits);
    expect(wishes.map(({ namespace }) => namespace).toSorted()).toEqual([
      ...Array<string>(4).fill("kube-system"),
      "t1",
      "t2",
    ]);
    expect(refused.map((line) => line.split(" ").at(-1))).toEqual(Array<string>(4).fill("TooMany"));
    expect(read(tenants, [], limits).accepted).toHaveLength(3);
    const there = pool("n1", "10.0.1.0/24", { namespace: "t3", network: "n1" });
    const later = wishesOf(
      readDefinitions([...tenants, ...each(7, "shop")].map(definition), "kube-system").readable,
      [there],
      { ...rules, ...limits },
    );
    expect(later.accepted.filter(({ namespace }) => namespace === "t3").map(({ range }) => `${range}`)).toEqual([
      "10.0.1.0/24",
    ]);
    expect(later.accepted).toHaveLength(6);
    expect(later.refused[0]!.why).toMatch(/has 6 already/);
  });

  it("no sentence is longer than what carries it", () => {
    const given = nested(16, "tenant").map((one) => ({ ...one, name: `${"n".repeat(240)}${one.name}` }));
    const same = given.flatMap((one) =>
      Array.from({ length: 5 }, (_, index) => ({ ...one, name: `${one.name}-${index}` })),
    );
    const { refused } = wishesOf(readDefinitions(same.map(definition), "kube-system").readable, [], {
      ...rules,
      nodes: 1,
    });
    expect(refused).toHaveLength(15);
    for (const { why } of refused) expect(why.length).toBeLessThanOrEqual(2000);
  });

  it("what has slices keeps them, whatever the rules have become", () => {
    const there = pool("a", "10.0.0.0/8", { network: "" });
    const { accepted, refused } = read([{ name: "a", namespace: "tenant", ipam: wide }], [there]);
    expect([accepted.length, refused]).toEqual([1, []]);
  });
});

describe("who arbitrates what is shared of a range", () => {
  const mine = (name: string, namespace: string, protects: boolean, size?: string): Given => {
    const ipam = { range: "10.0.0.0/24", network_name: "n", enable_overlapping_ranges: protects };
    return { name, namespace, ipam: { ...ipam, ...(size !== undefined && { node_slice_size: size }) } };
  };
  const whole = "network:n";
  const alone = "pool:kube-system/n-10.0.0.0-24";

  it.each([
    { title: "one that may, alone", given: [mine("a", "shop", false, "/26")], domain: alone },
    { title: "one that protects", given: [mine("a", "shop", true, "/26")], domain: whole },
    { title: "one of two protects", given: [mine("a", "shop", false, "/26"), mine("b", "shop", true)], domain: whole },
    { title: "a tenant's protects", given: [mine("a", "shop", false, "/26"), mine("b", "far", true)], domain: whole },
    { title: "a tenant goes along", given: [mine("a", "far", false), mine("b", "shop", false, "/26")], domain: alone },
    { title: "a tenant's alone, of a pool that was cut", given: [mine("a", "far", false)], domain: whole },
    { title: "none is left", given: [], domain: undefined },
  ])("$title", ({ given, domain }) => {
    const pools = [pool("n", "10.0.0.0/24", { network: "n" })];
    const { readable } = readDefinitions(given.map(definition), "kube-system");
    const orders = [readable, readable.toReversed()];
    for (const definitions of orders) {
      const targets = targetsOf(wishesOf(definitions, pools, rules), pools, sharingOf(definitions, rules.trusted));
      expect([...targets.values()].map(({ sharedDomain }) => sharedDomain)).toEqual([domain]);
    }
  });
});
