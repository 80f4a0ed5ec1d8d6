import * as fc from "fast-check";
import { expect, test } from "vitest";

import { anyOwner, dnsLabel } from "../../../test/api/arbitrary.ts";
import { apiRefusalOf } from "../../../test/api/refusal.ts";
import { address } from "../../../test/net/arbitrary.ts";
import { parseAddress, unmapped } from "../../net/address.ts";
import { parseObject } from "../kind.ts";
import { holdName, holdObjectOf, holdOfObject } from "./hold-object.ts";
import { holdKind } from "./hold.ts";

const claim = { kind: "claim", uid: "u", namespace: "d", name: "c" } as const;
const written = { uid: "u-7", resourceVersion: "41" };

test.each([
  ["pool:kube-system/10.0.0.0-8", "10.0.0.1", "pool.kube-system.10.0.0.0-8-10.0.0.1"],
  ["vm-network:default/blue", "fd00::1", "vm-network.default.blue-fd00-0000-0000-0000-0000-0000-0000-0001"],
])("%s, %s is named %s", (domain, at, name) => {
  expect(holdName(domain, parseAddress(at))).toBe(name);
});

test.each([
  ["network:red", "bad-domain", /record 10.0.0.1 as an OverlappingRangeIPReservation/],
  [`pool:kube-system/${"a".repeat(240)}`, "bad-name", /shorten what it is made of/],
])("%s has no holds", (domain, code, words) => {
  const refusal = apiRefusalOf(() => holdName(domain, parseAddress("10.0.0.1")));
  expect(refusal.code).toBe(code);
  expect(refusal.message).toMatch(words);
});

const held = fc.record({
  domain: fc
    .tuple(fc.constantFrom("pool", "vm-network"), dnsLabel, dnsLabel)
    .map(([scope, namespace, name]) => `${scope}:${namespace}/${name}`),
  address: address.map(unmapped),
  owner: anyOwner,
});

test("an object is read back as the hold it was made of", () => {
  fc.assert(
    fc.property(held, (hold) => {
      const made = holdObjectOf(hold, "kube-system");
      const read = holdOfObject(parseObject(holdKind, { ...made, metadata: { ...made.metadata, ...written } }));
      expect(read).toEqual({ ...hold, version: read.version });
    }),
  );
});

test("different domains or addresses have different names", () => {
  fc.assert(
    fc.property(held, held, (a, b) => {
      const isSame = a.domain === b.domain && a.address.toString() === b.address.toString();
      expect(holdName(a.domain, a.address) === holdName(b.domain, b.address)).toBe(isSame);
    }),
  );
});

test("an object whose name and content disagree holds nothing", () => {
  const made = holdObjectOf({ domain: "pool:a/b", address: parseAddress("10.0.0.1"), owner: claim }, "kube-system");
  const other = { ...made, metadata: { ...made.metadata, ...written }, spec: { ...made.spec, address: "10.0.0.2" } };
  const { code, message } = apiRefusalOf(() => holdOfObject(other));
  expect(code).toBe("bad-object");
  expect(message).toMatch(/Hold kube-system\/pool\.a\.b-10\.0\.0\.1 says .* would be named pool\.a\.b-10\.0\.0\.2/);
});

test("an address that is none is named", () => {
  const made = holdObjectOf({ domain: "pool:a/b", address: parseAddress("10.0.0.1"), owner: claim }, "kube-system");
  const { message } = apiRefusalOf(() => holdOfObject({ ...made, spec: { ...made.spec, address: "10.0.0" } }));
  expect(message).toContain("spec.address");
});
