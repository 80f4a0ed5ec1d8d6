import { expect, it } from "vitest";

import { takesPart } from "./claim-choice.ts";

const label = "allow-persistent-ips.k8s.cni.cncf.io";
const having = (value: string | undefined) => (value === undefined ? {} : { metadata: { labels: { [label]: value } } });

it.each([
  ["no label anywhere", undefined, undefined, undefined, false, true],
  ["no label where one is demanded", undefined, undefined, undefined, true, false],
  ["the VM says no", "false", undefined, undefined, false, false],
  ["its template says no", undefined, "false", undefined, false, false],
  ["the VMI without a VM says no", undefined, undefined, "false", false, false],
  ["the VM says yes where it is demanded", "true", undefined, undefined, true, true],
  ["the template says yes where it is demanded", undefined, "true", undefined, true, true],
  ["no counts more than yes", "true", "false", undefined, true, false],
  ["another word is no word", "maybe", undefined, undefined, true, false],
])("%s", (_, vm, template, vmi, needsLabel, expected) => {
  const machine = { ...having(vm), spec: { template: having(template) } };
  expect(takesPart(machine, having(vmi), needsLabel)).toBe(expected);
});
