// CHECK: agreement, and every way to disagree.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { parseAddress } from "../net/address.ts";
import { parseCidr } from "../net/prefix.ts";
import { assertUnchanged, compareResults } from "./check.ts";
import type { Route } from "./config/route.ts";
import type { CniResult, ResultInterface, ResultIp } from "./result.ts";

function ip(text: string, gateway?: string, index?: number): ResultIp {
  return {
    address: parseCidr(text),
    ...(gateway !== undefined && { gateway: parseAddress(gateway) }),
    ...(index !== undefined && { interface: index }),
  };
}

function route(dst: string, gw?: string): Route {
  return { dst: parseCidr(dst), ...(gw !== undefined && { gw: parseAddress(gw) }) };
}

function result(ips: ResultIp[], routes: Route[] = [], interfaces: ResultInterface[] = []): CniResult {
  return { interfaces, ips, routes, dns: {} };
}

const interfaces = [{ name: "br0" }, { name: "net1", sandbox: "/run/netns/c1" }];
const held = result([ip("10.0.0.5/24", "10.0.0.1")], [route("0.0.0.0/0"), route("10.9.0.0/16", "10.0.0.2")]);

describe("compareResults", () => {
  it.each<[string, CniResult, CniResult, string[]]>([
    ["the same", held, held, []],
    ["on our interface", held, result([ip("10.0.0.5/24", "10.0.0.1", 1)], [...held.routes], interfaces), []],
    [
      "only on another's",
      held,
      result([ip("10.0.0.5/24", "10.0.0.1", 0)], [...held.routes], interfaces),
      ["address-not-in-result"],
    ],
    [
      "another's address beside ours",
      held,
      result([ip("10.0.0.5/24", "10.0.0.1", 1), ip("10.8.0.1/24", undefined, 0)], [...held.routes], interfaces),
      [],
    ],
    ["gone from the result", held, result([], [...held.routes]), ["address-not-in-result"]],
    ["not held", result([]), result([ip("10.0.0.5/24")]), ["address-not-held"]],
    [
      "another one",
      result([ip("10.0.0.6/24")]),
      result([ip("10.0.0.5/24")]),
      ["address-not-in-result", "address-not-held"],
    ],
    [
      "another mask",
      result([ip("10.0.0.5/24")]),
      result([ip("10.0.0.5/16")]),
      ["address-not-in-result", "address-not-held"],
    ],
    [
      "another gateway",
      result([ip("10.0.0.5/24", "10.0.0.1")]),
      result([ip("10.0.0.5/24", "10.0.0.2")]),
      ["gateway-differs"],
    ],
    ["no gateway any more", result([ip("10.0.0.5/24", "10.0.0.1")]), result([ip("10.0.0.5/24")]), ["gateway-differs"]],
    ["a gateway that others set", result([ip("10.0.0.5/24")]), result([ip("10.0.0.5/24", "10.0.0.1")]), []],
    ["a route gone", result([], [route("0.0.0.0/0")]), result([]), ["route-missing"]],
    [
      "a route elsewhere",
      result([], [route("10.9.0.0/16", "10.0.0.1")]),
      result([], [route("10.9.0.0/16", "10.0.0.2")]),
      ["route-missing"],
    ],
    ["a route that others added", result([]), result([], [route("0.0.0.0/0")]), []],
    [
      "a route whose gateway others filled in",
      result([], [route("0.0.0.0/0")]),
      result([], [route("0.0.0.0/0", "10.0.0.1")]),
      [],
    ],
  ])("%s", (_what, ours, previous, kinds) => {
    expect(compareResults(ours, previous, "net1").map((difference) => difference.key)).toEqual(kinds);
  });

  it("finds exactly the addresses that one side lacks", () => {
    const some = fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 6 });
    fc.assert(
      fc.property(some, some, (ours, theirs) => {
        const of = (numbers: number[]) => result(numbers.map((last) => ip(`10.0.0.${last}/24`)));
        const differences = compareResults(of(ours), of(theirs), "net1");
        const count = (kind: string) => differences.filter((difference) => difference.key === kind).length;
        expect(count("address-not-in-result")).toBe(ours.filter((last) => !theirs.includes(last)).length);
        expect(count("address-not-held")).toBe(theirs.filter((last) => !ours.includes(last)).length);
      }),
    );
  });

  it("fails with code 100, every difference, and what to do", () => {
    expect(() => assertUnchanged(held, held, "net1")).not.toThrow();
    const run = () => assertUnchanged(result([ip("10.0.0.6/24")]), result([ip("10.0.0.5/24")]), "net1");
    expect(run).toThrow(expect.objectContaining({ code: 100 }));
    expect(run).toThrow(/net1 .*10\.0\.0\.6\/24 is held.*10\.0\.0\.5\/24, and it is not held.*Delete the pod/);
  });
});
