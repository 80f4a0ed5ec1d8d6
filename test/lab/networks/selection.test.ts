// The annotation in both forms, and everything that is wrong with one.
import { expect, test } from "vitest";

import { parseSelections } from "./selection.ts";

const red = { namespace: "pods", name: "red", interface: "net1" };

test.each([
  ["nothing", undefined, []],
  ["an empty one", "  ", []],
  ["one name", "red", [red]],
  ["several, with blanks", "red , other/blue", [red, { namespace: "other", name: "blue", interface: "net2" }]],
  ["an interface", "other/red@lan0", [{ namespace: "other", name: "red", interface: "lan0" }]],
  ["the same network twice", "red,red", [red, { ...red, interface: "net2" }]],
  ["an empty list", "[]", []],
  ["JSON with a name only", '[{"name":"red"}]', [red]],
  [
    "JSON with everything",
    '[{"name":"red","namespace":"other","interface":"lan0","mac":"02:00:00:00:00:01","ips":["10.0.0.5/24"],"cni-args":{"a":1}}]',
    [
      {
        namespace: "other",
        name: "red",
        interface: "lan0",
        mac: "02:00:00:00:00:01",
        ips: ["10.0.0.5/24"],
        cniArgs: { a: 1 },
      },
    ],
  ],
  ["a claim", '[{"name":"red","ipam-claim-reference":"vm.red"}]', [{ ...red, ipamClaimReference: "vm.red" }]],
  ["empty values as absent ones", '[{"name":"red","namespace":"","mac":"","ips":[]}]', [red]],
])("reads %s", (_, annotation, selections) => {
  expect(parseSelections(annotation, "pods")).toEqual(selections);
});

test.each([
  ["two slashes", "a/b/c", "is not [namespace/]name[@interface]"],
  ["an empty element", "red,,blue", "is not [namespace/]name[@interface]"],
  ["a name that none is", "Red", "no object's name"],
  ["an interface too long", "red@abcdefghijklmnop", "no interface's name"],
  ["two that want one interface", "red@lan0,blue@lan0", "two networks want the interface lan0"],
  ["a chosen interface that a later position wants", "red@net2,blue", "two networks want the interface net2"],
  ["torn JSON", "[{", "JSON"],
  ["JSON without a name", '[{"namespace":"x"}]', "element 0 has no name"],
  ["JSON of strings", '["red"]', "not an object"],
  ["a number for a name", '[{"name":1}]', "name is not a string"],
  ["ips that are none", '[{"name":"red","ips":"10.0.0.1"}]', "not a list of strings"],
  ["both ips and a claim", '[{"name":"red","ips":["10.0.0.1"],"ipam-claim-reference":"c"}]', "has both"],
  ["a default route", '[{"name":"red","default-route":["10.0.0.1"]}]', "does not know default-route"],
])("refuses %s", (_, annotation, reason) => {
  expect(() => parseSelections(annotation, "pods")).toThrow(
    expect.objectContaining({ code: "InvalidNetworks", message: expect.stringContaining(reason) }) as Error,
  );
});
