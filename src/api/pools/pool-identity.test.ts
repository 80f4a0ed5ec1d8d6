import { describe, expect, it, test } from "vitest";

import { apiRefusalOf } from "../../../test/api/refusal.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { parseObject } from "../kind.ts";
import { type IPPool, ipPoolKind } from "./ip-pool.ts";
import { assertPoolIs, identityAnnotations } from "./pool-identity.ts";
import { poolName, type PoolIdentity, type PoolNaming } from "./pool-name.ts";

const pool = (range: string, network = "", node = ""): PoolIdentity => ({ range: parsePrefix(range), network, node });

function stored(identity: PoolIdentity, annotations: Record<string, string> = {}): IPPool {
  return parseObject(ipPoolKind, {
    apiVersion: "whereabouts.cni.cncf.io/v1alpha1",
    kind: "IPPool",
    metadata: { name: poolName(identity), namespace: "kube-system", annotations },
    spec: { range: identity.range.toString(), allocations: {} },
  });
}

describe("pairs of pools that share a name", () => {
  test.each<[string, PoolIdentity, PoolIdentity, PoolNaming]>([
    ["a network that looks like a group", pool("b::/64", "a"), pool("a:b::/64"), "whereabouts"],
    ["a network with the node's name in it", pool("10.0.0.0/24", "a", "b"), pool("10.0.0.0/24", "a-b"), "whereabouts"],
    ["a network named as a node", pool("10.0.0.0/24", "", "b"), pool("10.0.0.0/24", "b"), "whereabouts"],
    ["two slices of one node", pool("10.0.0.0/24", "a", "b"), pool("10.0.1.0/24", "a", "b"), "slices"],
    ["two ranges of one network", pool("10.0.0.0/24", "a"), pool("fd00::/64", "a"), "network"],
  ])("%s", (_, one, other, naming) => {
    expect(poolName(one, naming)).toBe(poolName(other, naming));
  });

  it("there are none among IPv4 pools without nodes", () => {
    const all = [pool("10.0.0.0/8"), pool("10.0.0.0/8", "a"), pool("10.0.0.0/8", "a-10.0.0.0"), pool("10.0.0.0/9")];
    expect(new Set(all.map((each) => poolName(each))).size).toBe(all.length);
  });
});

describe("a pool found by its name", () => {
  it("is the one that was meant: with our annotations, and without them", () => {
    const identity = pool("10.0.0.0/24", "a", "b");
    expect(() => assertPoolIs(stored(identity), identity)).not.toThrow();
    expect(() => assertPoolIs(stored(identity, identityAnnotations(identity)), identity)).not.toThrow();
  });

  it("is refused when its range is another", () => {
    const { code, message } = apiRefusalOf(() => assertPoolIs(stored(pool("a:b::/64")), pool("b::/64", "a")));
    expect(code).toBe("name-taken");
    expect(message).toMatch(/IPPool kube-system\/a-b---64 has range a:b::\/64; wanted is range b::\/64, network "a"/);
  });

  it("is refused when its range begins alike and is shorter", () => {
    const found = stored(pool("10.0.0.0/24", "a"));
    expect(apiRefusalOf(() => assertPoolIs(found, pool("10.0.0.0/25", "a"))).code).toBe("name-taken");
  });

  it("is refused when its annotations name another network or node", () => {
    const one = pool("10.0.0.0/24", "a", "b");
    for (const other of [pool("10.0.0.0/24", "a-b"), pool("10.0.0.0/24", "", "a-b"), pool("10.0.0.0/24", "a", "c")]) {
      const found = stored(one, identityAnnotations(one));
      expect(apiRefusalOf(() => assertPoolIs(found, other)).code).toBe("name-taken");
    }
  });

  it("with host bits in its range, is still the one", () => {
    const found = stored(pool("10.0.0.0/24"));
    found.spec.range = "10.0.0.7/24";
    expect(() => assertPoolIs(found, pool("10.0.0.0/24"))).not.toThrow();
  });
});
