// Which domains' addresses count for a sliced range.
import { expect, test } from "vitest";

import { parsePrefix } from "../net/prefix.ts";
import { isOfRange } from "./reserved-addresses.ts";

const blue = { namespace: "kube-system", network: "blue", pool: "blue", range: parsePrefix("10.0.0.0/24") };
const unnamed = { ...blue, network: "", pool: "plain" };

test.each([
  ["network:blue", blue, true],
  ["network:", blue, false],
  ["network:", unnamed, true],
  ["slice:kube-system/blue", blue, true],
  ["slice:kube-system/plain", blue, false],
  ["pool:kube-system/blue-10.0.0.0-24", blue, true],
  ["pool:kube-system/blue-10.0.0.128-25", blue, true],
  ["pool:kube-system/blue-10.0.1.0-24", blue, false],
  ["pool:kube-system/10.0.0.0-24", blue, false],
  ["pool:kube-system/10.0.0.0-24", unnamed, true],
  ["pool:kube-system/blue", blue, true],
  ["pool:kube-system/red", blue, false],
  ["pool:shop/blue-10.0.0.0-24", blue, false],
  ["vm-network:kube-system/blue", blue, false],
  ["nobody understands it", blue, true],
])("%s of %o: %s", (domain, scope, expected) => {
  expect(isOfRange(domain, scope)).toBe(expected);
});
