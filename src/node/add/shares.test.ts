import { describe, expect, it } from "vitest";

import type { SlicedRange } from "../../cluster/sliced-ranges.ts";
import { parseIpamConfig } from "../../cni/config/ipam-config.ts";
import { parseNetwork } from "../../cni/config/network.ts";
import type { ClaimOwner } from "../../ipam/owner.ts";
import { parseAddress } from "../../net/address.ts";
import { parseCidr } from "../../net/prefix.ts";
import { planOf } from "./shares.ts";

const owner: ClaimOwner = { kind: "claim", uid: "c", namespace: "ns", name: "vm.blue" };
const configOf = (ipam: object) => {
  const whole = { cniVersion: "1.0.0", name: "net", type: "bridge", ipam: { type: "holdfast", ...ipam } };
  return parseIpamConfig(parseNetwork(JSON.stringify(whole))).config;
};
const plan = (ipam: object, recorded: readonly string[], sliced: readonly SlicedRange[] = []) =>
  planOf({
    config: configOf(ipam),
    statics: [],
    owner,
    namespace: "kube-system",
    mayStandAlone: true,
    cooldownMs: 0,
    sliced: { ranges: sliced, unknown: "" },
    isSticky: true,
    recorded: recorded.map((each) => parseAddress(each)),
  });
const hints = (...args: Parameters<typeof plan>) =>
  plan(...args).map(({ recorded }) => recorded && String(recorded.address));

describe("what a claim's status names", () => {
  const dual = { ipRanges: [{ range: "10.0.0.0/24" }, { range: "fd00::/64" }] };
  it.each([
    ["one of each range, whatever the order", dual, ["fd00::7", "10.0.0.7"], ["10.0.0.7", "fd00::7"]],
    ["a range that was added since", dual, ["10.0.0.7"], ["10.0.0.7", undefined]],
    ["an address of no range", dual, ["10.9.0.7"], [undefined, undefined]],
    ["nothing", dual, [], [undefined, undefined]],
    [
      "ranges inside each other: each address once, in their order",
      { ipRanges: [{ range: "10.0.0.0/24" }, { range: "10.0.0.0/16" }] },
      ["10.0.0.7", "10.0.0.9"],
      ["10.0.0.7", "10.0.0.9"],
    ],
  ])("%s", (_, ipam, recorded, expected) => {
    expect(hints(ipam, recorded)).toEqual(expected);
  });

  it("is bound by what the range hands out", () => {
    const [share] = plan({ range: "10.0.0.0/24", exclude: ["10.0.0.0/28"], gateway: "10.0.0.1" }, ["10.0.0.7"]);
    expect(share!.recorded!.definition).toEqual(share!.definition);
    expect(share!.definition.excludes).toHaveLength(1);
  });

  it("is of the part that belongs to no node where the range is cut: what nodes have stays out", () => {
    const { prefix: range } = parseCidr("10.0.0.0/24");
    const { prefix: floating } = parseCidr("10.0.0.128/25");
    const cut = {
      namespace: "kube-system",
      mayStandAlone: true,
      network: "",
      range,
      phase: "open",
      floating,
      blocks: [],
    } as unknown as SlicedRange;
    const ipam = { range: "10.0.0.0/24", node_slice_size: "/28", floating_slice_size: "/25" };
    const [share] = plan(ipam, ["10.0.0.200"], [cut]);
    expect(share!.slice).toBeUndefined();
    expect(share!.recorded!.definition.excludes).toEqual([
      { first: parseAddress("10.0.0.0"), last: parseAddress("10.0.0.127") },
    ]);
  });
});

it("ranges that overlap are different parts of one claim", () => {
  const shares = plan({ ipRanges: [{ range: "10.0.0.0/24" }, { range: "10.0.0.0/16" }] }, []);
  expect(shares.map((each) => each.owner)).toEqual([owner, { ...owner, part: 1 }]);
});
