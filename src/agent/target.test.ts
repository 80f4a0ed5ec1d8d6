import { expect, test } from "vitest";

import { checkTargets, parseTarget } from "./target.ts";

test("a target is a namespace, a name and an interface", () => {
  expect(parseTarget("network", "default/net-48=eth1")).toEqual({
    kind: "network",
    key: "default/net-48",
    interface: "eth1",
  });
  expect(parseTarget("pool", "a/b.c=br0.100")).toEqual({ kind: "pool", key: "a/b.c", interface: "br0.100" });
});

test.each([
  "net-48=eth1",
  "default/net-48",
  "default/net-48=",
  "default/net=a/b",
  "A/b=eth1",
  "a/b=sixteen-bytes-00",
  "",
])("%j is none", (text) => {
  expect(() => parseTarget("pool", text)).toThrow(/write NAMESPACE\/NAME=INTERFACE/);
});

test("two networks on one interface, and nothing at all, are refused", () => {
  const of = (key: string, name: string) => parseTarget("network", `${key}=${name}`);
  expect(() => checkTargets([])).toThrow(/give --network or --pool/);
  expect(() => checkTargets([of("a/b", "eth1"), of("a/c", "eth1")])).toThrow(/Interface eth1/);
  expect(() => checkTargets([of("a/b", "eth1"), of("a/b", "eth2")])).toThrow(/given twice/);
  expect(() => checkTargets([of("a/b", "eth1"), of("a/c", "eth2")])).not.toThrow();
});
