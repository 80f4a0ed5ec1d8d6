import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";

import { apiRefusalOf } from "../../../test/api/refusal.ts";
import { address } from "../../../test/net/arbitrary.ts";
import { bitsOf, unmapped } from "../../net/address.ts";
import { parseCidr, parsePrefix, Prefix } from "../../net/prefix.ts";
import { isLegalName } from "../name.ts";
import {
  poolName,
  poolNamesToRead,
  type PoolNaming,
  poolNamings,
  readPoolName,
  type PoolIdentity,
} from "./pool-name.ts";

const pool = (range: string, network = "", node = ""): PoolIdentity => ({ range: parsePrefix(range), network, node });

describe("the name", () => {
  test.each([
    ["10.0.0.0/8", "", "", "10.0.0.0-8", "10.0.0.0-8", undefined],
    ["10.0.0.0/8", "red", "", "red-10.0.0.0-8", "red-10.0.0.0-8", "red"],
    ["10.0.4.0/22", "", "otter", "otter-10.0.4.0-22", "10.0.4.0-22-otter", undefined],
    ["10.0.4.0/22", "red", "otter", "red-otter-10.0.4.0-22", "red-otter", "red-otter"],
    ["caa5::/64", "", "", "caa5---64", "caa5---64", undefined],
    ["fd00:0:0:1::/64", "red", "", "red-fd00-0-0-1---64", "red-fd00-0-0-1---64", "red"],
    ["::/126", "red", "", "red----126", "red----126", "red"],
    ["::/126", "", "", "0---126", "0---126", undefined],
  ])("%s of network %j on node %j", (range, network, node, today, slices, byNetwork) => {
    const identity = pool(range, network, node);
    expect(poolName(identity)).toBe(today);
    expect(poolName(identity, "slices")).toBe(slices);
    if (byNetwork === undefined) expect(() => poolName(identity, "network")).toThrow("set network_name");
    else expect(poolName(identity, "network")).toBe(byNetwork);
  });

  it("is refused where the API server would refuse it", () => {
    expect(apiRefusalOf(() => poolName(pool("10.0.0.0/8", "Red"))).message).toContain('network "Red"');
    expect(apiRefusalOf(() => poolName(pool("10.0.0.0/8", "a".repeat(250)))).code).toBe("bad-name");
  });
});

describe("the names under which it may already be", () => {
  test.each([
    [pool("10.0.0.0/8"), "10.1.2.3/8", ["10.0.0.0-8", "10.1.2.3-8"]],
    [pool("192.168.2.224/28", "red"), "192.168.2.225/28", ["red-192.168.2.224-28", "red", "red-192.168.2.225-28"]],
    [pool("10.0.4.0/22", "", "otter"), "10.0.0.1/8", ["otter-10.0.4.0-22", "10.0.4.0-22-otter"]],
    [pool("10.0.4.0/22", "red", "otter"), "10.0.0.1/8", ["red-otter-10.0.4.0-22", "red-otter"]],
  ])("$range of $network", (identity, written, names) => {
    expect(poolNamesToRead(identity, "whereabouts", parseCidr(written))).toEqual(names);
  });

  it("begin with the scheme that is written", () => {
    const names = poolNamesToRead(pool("10.0.4.0/22", "", "otter"), "slices");
    expect(names).toEqual(["10.0.4.0-22-otter", "otter-10.0.4.0-22"]);
  });

  it("leave out what no server can have", () => {
    const names = poolNamesToRead(pool("::/64"), "whereabouts", parseCidr("::5/64"));
    expect(names).toEqual(["0---64"]);
  });
});

describe("reading a name", () => {
  const readings = (name: string, naming?: PoolNaming) =>
    readPoolName(name, naming).map(({ before, range: { address: at, prefix }, after }) => {
      const node = after === "" ? "" : `|${after}`;
      return `${before}|${at}/${prefix.length}${node}`;
    });

  test.each([
    ["10.0.0.0-8", ["|10.0.0.0/8"]],
    ["red-10.0.0.0-8", ["red|10.0.0.0/8"]],
    ["a-10.0.0.0-10.0.0.0-8", ["a-10.0.0.0|10.0.0.0/8"]],
    ["192.168.2.225-28", ["|192.168.2.225/28"]],
    ["red-otter-10.0.4.0-22", ["red-otter|10.0.4.0/22"]],
    ["fd00---64", ["|fd00::/64"]],
    ["red-fd00---64", ["red|fd00::/64"]],
    // The dangerous one: a network whose name is a group of an IPv6 address.
    ["a-b---64", ["|a:b::/64", "a|b::/64"]],
    ["0---126", ["|::/126"]],
    ["red----126", ["red|::/126"]],
    ["red", []],
    ["red-otter", []],
    ["10.0.0.0-33", []],
    ["010.0.0.0-8", []],
    ["fd00-0--64", []],
  ])("%s", (name, expected) => {
    expect(readings(name)).toEqual(expected);
  });

  test.each([
    ["10.0.4.0-22-otter", ["|10.0.4.0/22|otter"]],
    ["10.0.4.0-22-otter.example.com", ["|10.0.4.0/22|otter.example.com"]],
    ["fd00-4---64-otter", ["|fd00:4::/64|otter"]],
    ["red-10.0.4.0-22", ["red|10.0.4.0/22"]],
    // A node called "64", or a range with host bits.
    ["1--2-3-64", ["|1::2:3/64", "|1::2/3|64"]],
    ["red-otter", []],
  ])("%s, in the scheme of slices", (name, expected) => {
    expect(readings(name, "slices")).toEqual(expected);
  });

  it("in the scheme of networks says no range", () => {
    expect(readings("red-10.0.0.0-8", "network")).toEqual([]);
  });

  const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,6}[a-z0-9])?$/);
  const identity = fc
    .tuple(address, fc.nat(), fc.option(label, { nil: "" }), fc.option(label, { nil: "" }))
    .map(([at, length, network, node]) => {
      const plain = unmapped(at);
      return { range: Prefix.around(plain, length % (bitsOf(plain.family) + 1)), network, node };
    });

  it("finds what was written among the meanings, and alone where the range is IPv4", () => {
    fc.assert(
      fc.property(identity, (each) => {
        const found = readPoolName(poolName(each));
        const before = [each.network, each.node].filter(Boolean).join("-");
        const same = found.filter((one) => one.before === before && one.range.prefix.toString() === String(each.range));
        expect(same).toHaveLength(1);
        if (each.range.family === 4) expect(found).toHaveLength(1);
      }),
    );
  });

  it("every scheme makes legal names only", () => {
    fc.assert(
      fc.property(identity, fc.constantFrom(...poolNamings), (each, naming) => {
        fc.pre(naming !== "network" || each.network !== "");
        expect(poolNamesToRead(each, naming).every(isLegalName)).toBe(true);
      }),
    );
  });
});
