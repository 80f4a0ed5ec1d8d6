import { expect, it } from "vitest";

import { isAdopted, markedDomain, settledDomain } from "./pool-domain.ts";

const pool = { namespace: "kube-system", name: "10.0.0.0-24" };
const own = "pool:kube-system/10.0.0.0-24";

it.each([
  ["protects, unmarked", true, undefined, "network:blue"],
  ["protects, marked alike", true, "network:blue", "network:blue"],
  ["protects, and the pool is a domain of its own: refused", true, own, undefined],
  ["does not, unmarked", false, undefined, own],
  ["does not, marked alike", false, own, own],
  ["does not, and the pool is the network's: stricter, and safe", false, "network:blue", "network:blue"],
  ["does not, and the pool is another network's: refused", false, "network:red", undefined],
  ["protects, and the pool is another network's: refused", true, "network:", undefined],
  ["does not, and the mark names another pool: refused", false, "pool:kube-system/10.0.0.0-16", undefined],
])("%s", (_story, protectsOverlaps, marked, settled) => {
  expect(settledDomain({ network: "blue", protectsOverlaps, mayStandAlone: true, pool }, marked)).toBe(settled);
});

it.each([
  ["on record so already: it counts", own, own],
  ["unmarked: the network's", undefined, "network:blue"],
  ["the network's: it goes along", "network:blue", "network:blue"],
])("does not protect, by a definition that does not administer the pool; %s", (_story, marked, settled) => {
  const rule = { network: "blue", protectsOverlaps: false, mayStandAlone: false, pool };
  expect(settledDomain(rule, marked)).toBe(settled);
});

it("a pool is adopted where it says since when and for which domain", () => {
  const marked = (annotations: Record<string, string>) => ({ metadata: { annotations } });
  expect(markedDomain(marked({ "holdfast.io/domain": "network:" }))).toBe("network:");
  expect(isAdopted(marked({ "holdfast.io/adopted": "2026-01-01T00:00:00Z" }))).toBe(false);
  expect(isAdopted(marked({ "holdfast.io/domain": "network:" }))).toBe(false);
  expect(isAdopted(marked({ "holdfast.io/domain": "network:", "holdfast.io/adopted": "2026" }))).toBe(true);
  expect(markedDomain(marked({ "holdfast.io/domain": "nonsense" }))).toBeUndefined();
  expect(isAdopted({ metadata: {} })).toBe(false);
});
