// Where an address of a claim stands in the ledger, and when it has no place there.
import { describe, expect, it, test } from "vitest";

import type { NetworkAttachmentDefinition, StoredPool } from "../../cluster/resources.ts";
import { noSlicedRanges, type SlicedRange } from "../../cluster/sliced-ranges.ts";
import { parseAddress } from "../../net/address.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { definition, dual, ovn } from "../moves/testing/snapshot.ts";
import { LedgerPlaces } from "./ledger-place.ts";

const named = (ipam: object, name = "blue") =>
  definition(name, { ipam: { type: "holdfast", range: "10.0.0.0/24", ...ipam } });

interface Input {
  readonly definitions?: readonly NetworkAttachmentDefinition[];
  readonly pools?: ReadonlyMap<string, StoredPool>;
  readonly ranges?: readonly SlicedRange[];
  readonly trusted?: readonly string[];
}

function places({ definitions = [named({})], pools = new Map(), ranges = [], trusted }: Input = {}): LedgerPlaces {
  return new LedgerPlaces({
    systemNamespace: "kube-system",
    ...(trusted && { trusted: new Set(trusted) }),
    definitions,
    pools,
    sliced: { ...noSlicedRanges, ranges },
  });
}

const at = (input: Input, address = "10.0.0.7", keys = ["shop/blue"]) => places(input).of(keys, parseAddress(address));

describe("the place of an address", () => {
  test.each<[string, Input, string, object]>([
    ["of a plain range", {}, "10.0.0.7", { domain: "network:", pool: "kube-system/10.0.0.0-24", part: 0, length: 24 }],
    [
      "of a named network",
      { definitions: [named({ network_name: "n" })] },
      "10.0.0.7",
      { domain: "network:n", pool: "kube-system/n-10.0.0.0-24" },
    ],
    [
      "of a pool that is a domain of its own",
      { definitions: [named({ enable_overlapping_ranges: false })], trusted: ["shop"] },
      "10.0.0.7",
      { domain: "pool:kube-system/10.0.0.0-24" },
    ],
    [
      "of a pool that a tenant's definition wants as a domain of its own",
      { definitions: [named({ enable_overlapping_ranges: false })] },
      "10.0.0.7",
      { domain: "network:" },
    ],
    [
      "of the second family",
      { definitions: [{ ...dual, metadata: { namespace: "shop", name: "blue" } }] },
      "fd00::7",
      { part: 0, length: 64 },
    ],
    [
      "of the second of two ranges that overlap",
      {
        definitions: [
          definition("blue", {
            ipam: { type: "holdfast", ipRanges: [{ range: "10.0.1.0/24" }, { range: "10.0.0.0/16" }] },
          }),
        ],
      },
      "10.0.0.7",
      { part: 1, length: 16 },
    ],
    [
      "of the floating part of a sliced range",
      {
        definitions: [named({ network_name: "n", node_slice_size: "/28", floating_slice_size: "/28" })],
        ranges: [cut("10.0.0.0/28")],
      },
      "10.0.0.7",
      { domain: "network:n", pool: "kube-system/n-10.0.0.0-28", length: 24 },
    ],
  ])("%s", (_, input, address, expected) => {
    expect(at(input, address)).toMatchObject({ kind: "place", place: { namespace: "kube-system", ...expected } });
  });

  it("a pool that is there says its domain, and under which of its names it is", () => {
    const pool: StoredPool = {
      metadata: { namespace: "kube-system", name: "10.0.0.0-24", annotations: { "holdfast.io/domain": "network:" } },
      spec: { range: "10.0.0.0/24", allocations: {} },
    };
    const input = {
      definitions: [named({ enable_overlapping_ranges: false })],
      pools: new Map([["kube-system/10.0.0.0-24", pool]]),
    };
    expect(at(input)).toMatchObject({ kind: "place", place: { domain: "network:" } });
    pool.metadata.annotations = { "holdfast.io/domain": "pool:kube-system/10.0.0.0-24" };
    expect(at({ ...input, definitions: [named({})] })).toMatchObject({
      kind: "nowhere",
      why: expect.stringContaining("enable_overlapping_ranges"),
    });
  });

  test.each<[string, Input, string, string[], string]>([
    ["it is in no range", {}, "10.5.0.7", ["shop/blue"], "is in no range of shop/blue"],
    [
      "it is the gateway's, whatever a status says",
      { definitions: [named({ gateway: "10.0.0.1" })] },
      "10.0.0.1",
      ["shop/blue"],
      "gateway of shop/blue",
    ],
    ["there is no definition", {}, "10.0.0.7", ["shop/red"], "no NetworkAttachmentDefinition shop/red"],
    ["the network is nobody's", {}, "10.0.0.7", [], "no network attachment definition has the network"],
    [
      "the definition cannot be read",
      { definitions: [named({ range: "ten" })] },
      "10.0.0.7",
      ["shop/blue"],
      "cannot be read",
    ],
    [
      "nodes hand it out by themselves",
      {
        definitions: [named({ network_name: "n", node_slice_size: "/28", floating_slice_size: "/28" })],
        ranges: [cut("10.0.0.0/28")],
      },
      "10.0.0.77",
      ["shop/blue"],
      "floating part 10.0.0.0/28",
    ],
    [
      "two definitions have it in different domains",
      { definitions: [named({}), named({ network_name: "n" }, "red")] },
      "10.0.0.7",
      ["shop/blue", "shop/red"],
      "different domains",
    ],
  ])("has none where %s", (_, input, address, keys, words) => {
    expect(at(input, address, keys)).toMatchObject({ kind: "nowhere", why: expect.stringContaining(words) });
  });

  it.each([
    ["an excluded one", {}, "10.0.0.65", "excludes it"],
    ["one before the start", {}, "10.0.0.5", "hands out from 10.0.0.10"],
    ["of a claim without an owner where nobody consents", {}, "10.0.0.20", "does not let its pods choose"],
    ["of a claim without an owner where it is consented", { allow_requested_ips: true }, "10.0.0.20", undefined],
  ])("that a status asks for: %s", (_, more, address, why) => {
    const bounds = { exclude: ["10.0.0.64/28"], range_start: "10.0.0.10", ...more };
    const asked = places({ definitions: [named(bounds)] });
    const placing = asked.of(["shop/blue"], parseAddress(address), { isByHand: true });
    if (why === undefined) expect(placing.kind).toBe("place");
    else expect(placing.kind).toBe("nowhere");
    const owned = asked.of(["shop/blue"], parseAddress(address), { isByHand: false });
    expect(owned.kind).toBe(address === "10.0.0.20" ? "place" : "nowhere");
    if (owned.kind === "nowhere") expect(owned.why).toContain(why);
    // What is held already has its place, whatever became of the range since.
    expect(asked.of(["shop/blue"], parseAddress(address)).kind).toBe("place");
  });

  it("is what the nearest definitions of the name say", () => {
    const elsewhere = (namespace: string, ipam: object) => ({ ...named(ipam), metadata: { namespace, name: "blue" } });
    const theirs = elsewhere("attacker", { network_name: "theirs" });
    const ofShop = (...definitions: NetworkAttachmentDefinition[]) =>
      places({ definitions: [theirs, ...definitions] }).ofNetwork("blue-net", "shop");
    expect(ofShop(named({}))).toEqual(["shop/blue"]);
    expect(ofShop(elsewhere("default", {}))).toEqual(["default/blue"]);
    expect(ofShop(elsewhere("kube-system", {}))).toEqual(["kube-system/blue"]);
    expect(ofShop()).toEqual(["attacker/blue"]);
  });

  it("another IPAM's is not ours to hold", () => {
    const foreign = definition("blue", {
      type: "kube-ovn",
      topology: "layer2",
      subnets: "10.0.0.0/24",
      ipam: {},
    });
    expect(at({ definitions: [foreign] })).toEqual({ kind: "theirs" });
    expect(places({ definitions: [ovn] }).giverOf("ovn-net", "shop")).toBe("other");
    expect(places().giverOf("blue-net", "shop")).toBe("holdfast");
    expect(places().giverOf("red-net", "shop")).toBe("unknown");
  });
});

function cut(floating: string): SlicedRange {
  const place = { namespace: "kube-system", network: "n", range: parsePrefix("10.0.0.0/24"), pool: "n" };
  return { ...place, phase: "open", floating: parsePrefix(floating), blocks: [] };
}
