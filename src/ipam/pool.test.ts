// What a pool records, beside choosing: release in its three ways, renewal, learning from a ledger, counting.
import { beforeEach, describe, expect, it } from "vitest";

import { type Address, parseAddress } from "../net/address.ts";
import { parseBlock } from "../net/interval.ts";
import { parseCidr } from "../net/prefix.ts";
import { type Owner, ownerKey } from "./owner.ts";
import { Pool, PoolError } from "./pool.ts";

const ip = (text: string) => parseAddress(text);
const pod = (name: string, containerId = `c-${name}`, uid = `uid-${name}`): Owner => ({
  kind: "pod",
  uid,
  namespace: "default",
  name,
  interface: "eth0",
  containerId,
});

let nowMs = 0;
let pool: Pool;
beforeEach(() => {
  nowMs = 0;
  pool = new Pool({ prefix: parseCidr("10.0.0.0/24").prefix, cooldownMs: 1000 }, () => nowMs);
});
const stateAt = (text: string) => pool.stateOf(ip(text)).state;

describe("a rest that a ledger remembers", () => {
  it.each([NaN, -1, 0])("until %d is over", (untilMs) => {
    pool.cool({ address: ip("10.0.0.1"), untilMs, lastOwner: ownerKey(pod("a")) });
    expect(stateAt("10.0.0.1")).toBe("free");
  });
});

describe("release", () => {
  it("by owner, whichever of its sandboxes asks, once", () => {
    for (const [index, name] of ["a", "b"].entries()) pool.take(ip(`10.0.0.${index + 1}`), pod(name));
    expect(String(pool.releaseOwner(pod("a", "another"))?.address)).toBe("10.0.0.1");
    expect(pool.releaseOwner(pod("a"))).toBeUndefined();
    expect(pool.counts()).toMatchObject({ allocated: 1, quarantined: 1 });
  });

  it("of an address outside the pool leaves nothing behind", () => {
    pool.take(ip("192.168.0.1"), pod("a"));
    pool.take(ip("10.0.0.255"), pod("b"));
    pool.releaseOwner(pod("a"));
    pool.releaseOwner(pod("b"));
    nowMs += 1000;
    expect([stateAt("192.168.0.1"), stateAt("10.0.0.255")]).toEqual(["outside", "outside"]);
    expect(pool.counts().free).toBe(254n);
  });
});

describe("a contradiction", () => {
  const codeOf = (run: () => void) => {
    try {
      run();
    } catch (error) {
      return error instanceof PoolError ? error.code : error;
    }
    return "none";
  };

  it("is refused and changes nothing", () => {
    pool.take(ip("10.0.0.1"), pod("a", "c1"));
    expect(codeOf(() => pool.take(ip("10.0.0.1"), pod("b")))).toBe("held-by-another");
    expect(codeOf(() => pool.take(ip("10.0.0.2"), pod("a")))).toBe("owner-has-another");
    expect(pool.ownerAt(ip("10.0.0.1"))).toEqual(pod("a", "c1"));
    expect(stateAt("10.0.0.2")).toBe("free");
    expect(String(pool.releaseOwner(pod("a"))?.address)).toBe("10.0.0.1");
  });

  it("with what a ledger says is settled in the ledger's favour", () => {
    pool.take(ip("10.0.0.1"), pod("a"));
    pool.take(ip("10.0.0.2"), pod("b"));
    pool.learn(ip("10.0.0.1"), pod("b"));
    expect(pool.ownerAt(ip("10.0.0.1"))).toEqual(pod("b"));
    expect(pool.addressOf(pod("a"))).toBeUndefined();
    expect(stateAt("10.0.0.2")).toBe("free");
  });
});

describe("a rest", () => {
  it("that a ledger remembers is taken over, unless it is over or the address is held", () => {
    const lastOwner = ownerKey(pod("a"));
    const rest = (text: string, untilMs: number) => pool.cool({ address: ip(text), untilMs, lastOwner });
    pool.take(ip("10.0.0.3"), pod("b"));
    rest("10.0.0.1", 500);
    rest("10.0.0.2", 0);
    rest("10.0.0.3", 500);
    expect(["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(stateAt)).toEqual(["quarantined", "free", "allocated"]);
    expect(String(pool.returningTo(pod("a")))).toBe("10.0.0.1");
    nowMs = 500;
    expect(stateAt("10.0.0.1")).toBe("free");
  });

  it("ends when the address is taken", () => {
    pool.take(ip("10.0.0.1"), pod("a"));
    pool.releaseOwner(pod("a"));
    pool.take(ip("10.0.0.1"), pod("b"));
    nowMs += 5000;
    expect(stateAt("10.0.0.1")).toBe("allocated");
    expect(pool.counts()).toMatchObject({ allocated: 1, quarantined: 0, free: 253n });
  });
});

describe("counts", () => {
  it("adds up with nested and overlapping excludes", () => {
    const blocks = ["10.0.0.0/26", "10.0.0.16/28", "10.0.0.60-10.0.0.70", "10.0.0.17", "172.16.0.0/12", "fd00::/64"];
    const busy = new Pool(
      {
        prefix: parseCidr("10.0.0.0/24").prefix,
        excludes: blocks.map((block) => parseBlock(block)),
        gateway: ip("10.0.0.254"),
      },
      () => nowMs,
    );
    busy.take(ip("10.0.0.100"), pod("a"));
    busy.take(ip("10.0.0.17"), pod("b")); // held though excluded
    // .0 is not usable; .1 to .70 are excluded, .254 is the gateway
    expect(busy.counts()).toEqual({ usable: 254n, free: 182n, allocated: 2, quarantined: 0, withheld: 71n });
  });

  it("knows a /64 and what it costs", () => {
    const wide = new Pool({ prefix: parseCidr("fd00::/64").prefix }, () => nowMs);
    wide.take(ip("fd00::1"), pod("a"));
    wide.take(ip("fd00::8000:0:0:1"), pod("b")); // its offset needs 64 bits
    expect(wide.counts()).toMatchObject({ usable: 2n ** 64n - 2n, free: 2n ** 64n - 4n, allocated: 2 });
    expect([...wide.allocations()].map(({ address }: { address: Address }) => String(address))).toEqual([
      "fd00::1",
      "fd00::8000:0:0:1",
    ]);
  });
});

describe("a hint of what is taken", () => {
  const lowest = () => String(pool.nextFree(ip("10.0.0.1")));

  it("is not offered, and a later hint replaces it", () => {
    pool.suppose([parseBlock("10.0.0.0-10.0.0.9")]);
    expect([lowest(), stateAt("10.0.0.5"), stateAt("10.0.0.10")]).toEqual(["10.0.0.10", "reserved", "free"]);
    pool.suppose([parseBlock("10.0.0.2")]);
    expect([lowest(), stateAt("10.0.0.2"), stateAt("10.0.0.5")]).toEqual(["10.0.0.1", "reserved", "free"]);
  });

  it("does not free what is held or cools, and yields to what is recorded later", () => {
    pool.take(ip("10.0.0.1"), pod("a"));
    pool.take(ip("10.0.0.2"), pod("b"));
    pool.releaseOwner(pod("b"));
    pool.suppose([parseBlock("10.0.0.3")]);
    pool.suppose([]);
    expect([lowest(), stateAt("10.0.0.1"), stateAt("10.0.0.2")]).toEqual(["10.0.0.3", "allocated", "quarantined"]);
    pool.suppose([parseBlock("10.0.0.3-10.0.0.4")]);
    pool.learn(ip("10.0.0.3"), pod("c"));
    pool.forget(ip("10.0.0.3")); // another's, and gone since: newer than the hint
    expect([lowest(), stateAt("10.0.0.4")]).toEqual(["10.0.0.3", "reserved"]);
  });
});
