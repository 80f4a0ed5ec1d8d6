import { describe, expect, it } from "vitest";

import { claimReferencesOf } from "./claim-references.ts";

const of = (annotations: Record<string, string>) => claimReferencesOf({ namespace: "shop", name: "p", annotations });
const networks = "k8s.v1.cni.cncf.io/networks";

describe("the claims that a pod refers to", () => {
  it.each([
    ["nothing", {}, []],
    ["networks without claims", { [networks]: '[{"name":"blue"}]' }, []],
    ["names with commas", { [networks]: "blue,green@net7" }, []],
    ["one of two", { [networks]: '[{"name":"blue","ipam-claim-reference":"vm.blue"},{"name":"green"}]' }, ["vm.blue"]],
    [
      "the same twice",
      { [networks]: '[{"name":"a","ipam-claim-reference":"x"},{"name":"b","ipam-claim-reference":"x"}]' },
      ["x"],
    ],
    [
      "the default network",
      { "v1.multus-cni.io/default-network": '[{"name":"d","ipam-claim-reference":"vm.default"}]' },
      ["vm.default"],
    ],
    ["a primary network", { "k8s.ovn.org/primary-udn-ipamclaim": "vm.pod" }, ["vm.pod"]],
    ["an empty word", { "k8s.ovn.org/primary-udn-ipamclaim": "" }, []],
    ["what cannot be read", { [networks]: '[{"ipam-claim-reference":"x"' }, []],
    [
      "what cannot be read beside what can",
      { [networks]: '[{"ipam-claim-reference":"x"', "k8s.ovn.org/primary-udn-ipamclaim": "vm.pod" },
      ["vm.pod"],
    ],
  ])("%s", (_, annotations, claims) => {
    expect(of(annotations as Record<string, string>)).toEqual(claims);
  });
});
