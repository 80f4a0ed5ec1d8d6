import { expect, test } from "vitest";

import { apiRefusalOf } from "../../../test/api/refusal.ts";
import { domainOfPool, formatDomain, parseDomain } from "./domain.ts";

const pool = { namespace: "kube-system", name: "red-10.0.0.0-8" };

test.each([
  ["red", true, "network:red"],
  ["", true, "network:"],
  ["red", false, "pool:kube-system/red-10.0.0.0-8"],
  ["", false, "pool:kube-system/red-10.0.0.0-8"],
])("network %j, overlaps protected: %s", (network, protectsOverlaps, domain) => {
  expect(domainOfPool({ network, protectsOverlaps, pool })).toBe(domain);
});

test.each(["network:", "network:red", "pool:kube-system/10.0.0.0-8", "vm-network:default/blue"])(
  "%s is read and written alike",
  (domain) => {
    expect(formatDomain(parseDomain(domain))).toBe(domain);
  },
);

test.each(["", "red", "pool:", "pool:a", "pool:a/", "pool:/b", "pool:a/b/c", "slices:a/b"])(
  "%j is no domain",
  (text) => {
    const { code, message } = apiRefusalOf(() => parseDomain(text));
    expect(code).toBe("bad-domain");
    expect(message).toContain(`${JSON.stringify(text)} is no domain`);
  },
);
