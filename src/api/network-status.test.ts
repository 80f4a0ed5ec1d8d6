import { expect, it } from "vitest";

import { readNetworkStatus } from "./network-status.ts";

const read = (value: unknown) =>
  readNetworkStatus(JSON.stringify(value))?.map(({ interface: port, addresses }) => [port, addresses.map(String)]);

it("reads what multi-network plugins write", () => {
  const status = [
    { name: "cbr0", interface: "eth0", ips: ["10.1.0.3"], default: true },
    { name: "shop/blue", interface: "net1", ips: ["10.0.0.5", "fd00:0::5", "10.0.0.6/24"], mac: "aa:bb:cc:dd:ee:ff" },
    { name: "shop/none", interface: "net2" },
  ];
  expect(read(status)).toEqual([
    ["eth0", ["10.1.0.3"]],
    ["net1", ["10.0.0.5", "fd00::5", "10.0.0.6"]],
    ["net2", []],
  ]);
});

it.each([
  ["no annotation", undefined],
  ["no JSON", "[{"],
  ["no list", '{"name":"x"}'],
])("%s: nothing is known", (_story, text) => {
  expect(readNetworkStatus(text)).toBeUndefined();
});

it("what is no entry and what is no address is passed over", () => {
  expect(read([null, 7, { interface: 3, ips: ["x", 5, "10.0.0.1"] }])).toEqual([["", ["10.0.0.1"]]]);
});
