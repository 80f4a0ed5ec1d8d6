import { describe, expect, test } from "vitest";

import { allows, firstNetwork, judged, primaryClaim, type Story, vmi } from "./testing/story.ts";

describe("a primary network", () => {
  const primary = (config: object, first: string | undefined = "ovn-kubernetes/default") => ({
    persistence: { ...allows("tenant"), isPrimary: true },
    config: JSON.stringify(config),
    first,
  });
  const addresses = (asked: object) => ({ annotations: { "network.kubevirt.io/addresses": JSON.stringify(asked) } });
  const subnets = primary({ subnets: "10.1.0.0/16,fd00:1::/64" });

  test("its claim stands in an annotation", () => {
    const told = judged({ vmi: vmi("default=pod"), elements: [], primary: subnets });
    expect(told.written).toEqual({ [primaryClaim]: "vm1.default" });
  });

  test.each<[string, object, object, unknown]>([
    ["an address, with the length of its subnet", { default: ["10.1.2.3"] }, {}, { ips: ["10.1.2.3/16"] }],
    [
      "of both families, whichever comes first",
      { default: ["fd00:1::7", "10.1.2.3/24"] },
      {},
      { ips: ["fd00:1::7/64", "10.1.2.3/16"] },
    ],
    ["a MAC", {}, { macAddress: "02-11-22-33-44-AA" }, { mac: "02:11:22:33:44:aa" }],
  ])("%s is asked for through the first network", (_name, asked, port, expected) => {
    const machine = vmi("default=pod", addresses(asked));
    machine.spec!.domain = { devices: { interfaces: [{ name: "default", ...port }] } };
    const told = judged({ vmi: machine, elements: [], primary: subnets });
    const first = { name: "default", namespace: "ovn-kubernetes", "ipam-claim-reference": "vm1.default" };
    expect(JSON.parse(told.written[firstNetwork] ?? "null")).toEqual([{ ...first, ...(expected as object) }]);
  });

  test.each<[string, object, Partial<Story>, string]>([
    ["an address of no subnet is not made to look as if", { default: ["192.0.2.1"] }, {}, "192.0.2.1 is no address"],
    ["text that is no address", { default: ["soon"] }, {}, "soon is no address"],
    [
      "no definition of first interfaces",
      { default: ["10.1.2.3"] },
      { primary: primary({ subnets: "10.1.0.0/16" }, undefined) },
      "exactly one",
    ],
  ])("%s: the claim alone, and a word", (_name, asked, story, word) => {
    const first = Object.hasOwn(story, "primary") ? { ...story.primary!, first: undefined } : subnets;
    const told = judged({ vmi: vmi("default=pod", addresses(asked)), elements: [], primary: first });
    expect(told.written).toEqual({ [primaryClaim]: "vm1.default" });
    expect(told.warnings.join()).toContain(word);
  });

  test("who has written either annotation keeps it", () => {
    const machine = vmi("default=pod", addresses({ default: ["10.1.2.3"] }));
    const story = { vmi: machine, elements: [], primary: subnets };
    expect(judged({ ...story, annotations: { [primaryClaim]: "mine" } }).written).toEqual({});
    expect(judged({ ...story, annotations: { [firstNetwork]: "x" } }).written).toEqual({
      [primaryClaim]: "vm1.default",
    });
  });

  test("a pod that is there already is not touched", () => {
    expect(judged({ vmi: vmi("default=pod"), elements: [], before: [], primary: subnets }).written).toEqual({});
  });
});
