// The decision, told as stories: each row is one step on the same pool.
import { describe, expect, it } from "vitest";

import { type Address, parseAddress } from "../net/address.ts";
import { parseBlock } from "../net/interval.ts";
import { parseCidr } from "../net/prefix.ts";
import { decide } from "./decide.ts";
import type { PoolDefinition } from "./definition.ts";
import type { Owner } from "./owner.ts";
import { Pool } from "./pool.ts";
import type { Decision, Strategy, Want } from "./request.ts";
import { formatTrace } from "./trace.ts";

const ip = (text: string) => parseAddress(text);
const pod = (name: string): Owner => ({
  kind: "pod",
  uid: `uid-${name}`,
  namespace: "default",
  name,
  interface: "eth0",
  containerId: `c-${name}`,
});
const given = (text: string): Want => ({ kind: "given", address: ip(text) });
const preferred = (text: string): Want => ({ kind: "preferred", address: ip(text) });
const oneOf = (...texts: string[]): Want => ({ kind: "oneOf", addresses: texts.map(ip) });

class Story {
  nowMs = 0;
  readonly pool: Pool;

  constructor(prefix: string, more: Partial<PoolDefinition> = {}) {
    this.pool = new Pool({ prefix: parseCidr(prefix).prefix, ...more }, () => this.nowMs);
  }

  /** "10.0.0.1", "10.0.0.1 early", or the refusal's code. */
  ask(name: string, want: Want = { kind: "any" }, strategy: Strategy = { kind: "lowest" }): string {
    return brief(decide(this.pool, { owner: pod(name), want, strategy }, () => 0));
  }

  take(name: string, want?: Want, strategy?: Strategy): string {
    const answer = this.ask(name, want, strategy);
    if (/^[0-9a-f.:]+( early)?$/.test(answer)) this.pool.take(ip(answer.split(" ")[0]!), pod(name));
    return answer;
  }

  free(name: string): string {
    return String(this.pool.releaseOwner(pod(name))?.address);
  }
}

function brief(decision: Decision): string {
  return decision.kind === "refusal" ? decision.code : `${decision.address}${decision.early ? " early" : ""}`;
}

function further(decision: Decision, count = 100): string[] {
  if (decision.kind === "refusal") return [];
  const list: Address[] = [decision.address];
  for (const { address } of decision.further()) {
    if (list.length === count) break;
    list.push(address);
  }
  return list.map(String);
}

describe("asking for any address", () => {
  it("gives the lowest, the same owner the same, and says so when nothing is left", () => {
    const story = new Story("10.0.0.0/29", {
      cooldownMs: 0,
      excludes: [parseBlock("10.0.0.3")],
      gateway: ip("10.0.0.1"),
    });
    expect(story.take("a")).toBe("10.0.0.2"); // .1 is the gateway
    expect(story.take("a")).toBe("10.0.0.2");
    expect(story.take("b")).toBe("10.0.0.4"); // .3 is excluded
    expect(story.take("c")).toBe("10.0.0.5");
    expect(story.free("b")).toBe("10.0.0.4");
    expect(story.take("d")).toBe("10.0.0.4");
    expect(story.take("e")).toBe("10.0.0.6"); // .7 is the broadcast address
    expect(story.take("f")).toBe("exhausted");
    expect(story.free("c")).toBe("10.0.0.5");
    expect(story.take("f")).toBe("10.0.0.5");
  });

  it("keeps an owner's address though it has been excluded since", () => {
    const story = new Story("10.0.0.0/24", { excludes: [parseBlock("10.0.0.0/25")] });
    story.pool.take(ip("10.0.0.7"), pod("a"));
    expect(story.ask("a")).toBe("10.0.0.7");
    expect(story.pool.stateOf(ip("10.0.0.7")).state).toBe("allocated");
    story.free("a");
    story.nowMs += 60_000;
    expect(story.pool.stateOf(ip("10.0.0.7")).state).toBe("excluded");
    expect(story.ask("a")).toBe("10.0.0.128");
  });

  it("keeps an owner's address though the range has shrunk past it", () => {
    const story = new Story("10.0.0.0/24", { start: ip("10.0.0.100") });
    story.pool.take(ip("10.0.0.7"), pod("a"));
    story.pool.take(ip("192.168.0.7"), pod("b"));
    expect(story.ask("a")).toBe("10.0.0.7");
    expect(story.ask("b")).toBe("192.168.0.7");
    story.free("a");
    expect(story.ask("a")).toBe("10.0.0.100");
  });

  it("tells two interfaces of one pod, and two pods of one name, apart", () => {
    const story = new Story("10.0.0.0/24");
    const eth0 = pod("a") as Extract<Owner, { kind: "pod" }>;
    story.pool.take(ip("10.0.0.1"), eth0);
    const others: Owner[] = [
      { ...eth0, interface: "net1" },
      { ...eth0, uid: "uid-later" },
    ];
    for (const owner of others) expect(brief(decide(story.pool, { owner }, () => 0))).toBe("10.0.0.2");
  });

  it("hands out of the smallest prefixes, too", () => {
    expect(new Story("10.0.0.0/31").take("a")).toBe("10.0.0.0");
    expect(new Story("fd00::/127", { l3: true }).take("a")).toBe("fd00::");
  });

  it("crosses carries and reaches the ends of both spaces", () => {
    const v6 = new Story("fd00::/64", { excludes: [parseBlock("fd00::1-fd00::ffff:ffff:ffff")] });
    expect(v6.take("a")).toBe("fd00::1:0:0:0");
    const end = new Story("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffc/126", { l3: true, cooldownMs: 0 });
    expect(["a", "b", "c", "d", "e"].map((name) => end.take(name)).slice(-2)).toEqual([
      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
      "exhausted",
    ]);
    const v4 = new Story("255.255.255.254/31", { cooldownMs: 0 });
    expect(["a", "b", "c"].map((name) => v4.take(name))).toEqual(["255.255.255.254", "255.255.255.255", "exhausted"]);
  });
});

describe("asking for a given address", () => {
  const story = new Story("10.0.0.0/24", {
    start: ip("10.0.0.10"),
    end: ip("10.0.0.200"),
    excludes: [parseBlock("10.0.0.64/26")],
    reservations: [{ interval: parseBlock("10.0.0.20-10.0.0.22"), reason: "VIPs" }],
  });
  it.each([
    ["a", "10.0.0.50", "10.0.0.50"],
    ["b", "10.0.0.50", "held-by-another"],
    ["b", "10.0.0.5", "not-in-range"],
    ["b", "10.0.0.255", "not-in-range"],
    ["b", "10.0.1.50", "not-in-range"],
    ["b", "fd00::50", "not-in-range"],
    ["b", "10.0.0.100", "excluded"],
    ["b", "10.0.0.21", "reserved"],
    ["a", "10.0.0.50", "10.0.0.50"],
    ["a", "10.0.0.51", "owner-has-another"],
  ])("%s asks for %s: %s", (name, address, answer) => {
    expect(story.take(name, given(address))).toBe(answer);
  });

  it("names the address, the holder and the remedy", () => {
    const decision = decide(story.pool, { owner: pod("z"), want: given("10.0.0.50") }, () => 0);
    expect(decision).toMatchObject({
      kind: "refusal",
      message: "10.0.0.50 is held by pod default/a (eth0): release it there, or ask for another.",
    });
  });
});

describe("asking for a preferred address, or for one of a list", () => {
  it("takes the preferred one if it can be had, else any", () => {
    const story = new Story("10.0.0.0/24");
    expect(story.take("a", preferred("10.0.0.9"))).toBe("10.0.0.9");
    expect(story.take("b", preferred("10.0.0.9"))).toBe("10.0.0.1");
    expect(story.take("c", preferred("192.168.0.1"))).toBe("10.0.0.2");
    expect(story.take("b", preferred("10.0.0.77"))).toBe("10.0.0.1"); // it has one already
  });

  it("goes through a list in its own order", () => {
    const story = new Story("10.0.0.0/24");
    const list = oneOf("10.0.0.9", "10.0.1.1", "10.0.0.3", "10.0.0.9");
    expect(story.take("a", list)).toBe("10.0.0.9");
    expect(story.take("b", list)).toBe("10.0.0.3");
    expect(story.take("c", list)).toBe("exhausted");
    expect(story.take("b", list)).toBe("10.0.0.3");
    expect(story.take("c", oneOf("10.0.0.3"))).toBe("held-by-another");
    expect(story.take("c", oneOf())).toBe("exhausted");
    expect(
      further(
        decide(story.pool, { owner: pod("d"), want: oneOf("10.0.0.3", "10.0.0.5", "10.0.0.4", "10.0.0.5") }, () => 0),
      ),
    ).toEqual(["10.0.0.5", "10.0.0.4"]);
  });
});

describe("cooling down", () => {
  it("keeps a released address from others, gives it back to its owner, and frees it when its time is over", () => {
    const story = new Story("10.0.0.0/29", { cooldownMs: 30_000 });
    story.take("a");
    story.free("a");
    expect(story.ask("b")).toBe("10.0.0.2");
    expect(story.ask("b", given("10.0.0.1"))).toBe("cooling-down");
    expect(story.ask("b", preferred("10.0.0.1"))).toBe("10.0.0.2");
    expect(story.ask("a")).toBe("10.0.0.1");
    expect(story.ask("a", given("10.0.0.1"))).toBe("10.0.0.1");
    story.nowMs += 29_999;
    expect(story.ask("b")).toBe("10.0.0.2");
    story.nowMs += 1;
    expect(story.ask("b")).toBe("10.0.0.1");
  });

  it("gives the one that has cooled longest early, where it would otherwise refuse", () => {
    const story = new Story("10.0.0.0/29", { cooldownMs: 30_000 });
    for (const name of ["a", "b", "c", "d", "e", "f"]) story.take(name);
    for (const name of ["d", "b", "e"]) {
      story.nowMs += 100;
      story.free(name);
    }
    expect(story.ask("x")).toBe("10.0.0.4 early");
    expect(further(decide(story.pool, { owner: pod("x") }, () => 0))).toEqual(["10.0.0.4", "10.0.0.2", "10.0.0.5"]);
    expect(story.take("x")).toBe("10.0.0.4 early");
    expect(story.take("y")).toBe("10.0.0.2 early");
    expect(story.take("e")).toBe("10.0.0.5"); // its own comes back, not early
    expect(story.take("z")).toBe("exhausted");
  });

  it("gives nothing early to who asks for late ones only; its own comes back all the same", () => {
    const story = new Story("10.0.0.0/30", { cooldownMs: 30_000 });
    for (const name of ["a", "b"]) story.take(name);
    story.free("a");
    const lateOnly = (name: string) => decide(story.pool, { owner: pod(name), lateOnly: true }, () => 0);
    expect(lateOnly("x")).toMatchObject({ kind: "refusal", code: "exhausted" });
    expect(lateOnly("x")).toHaveProperty("message", expect.stringContaining("1 at rest after a release"));
    expect(further(lateOnly("a"))).toEqual(["10.0.0.1"]);
    story.nowMs += 30_000;
    expect(lateOnly("x")).toMatchObject({ kind: "grant", early: false });
  });

  it("never gives an excluded or reserved address early", () => {
    const story = new Story("10.0.0.0/30", { excludes: [parseBlock("10.0.0.1")], gateway: ip("10.0.0.2") });
    story.pool.take(ip("10.0.0.1"), pod("a"));
    story.pool.take(ip("10.0.0.2"), pod("b"));
    story.free("a");
    story.free("b");
    expect(story.ask("c")).toBe("exhausted");
    expect(story.ask("a")).toBe("exhausted");
    expect(story.ask("a", given("10.0.0.1"))).toBe("cooling-down");
  });

  it("is not shortened by a clock that jumps back, and ends at once when it jumps ahead", () => {
    const story = new Story("10.0.0.0/29", { cooldownMs: 30_000 });
    story.nowMs = 1_000_000;
    story.take("a");
    story.free("a");
    story.nowMs = 0;
    expect(story.ask("b")).toBe("10.0.0.2");
    story.nowMs = 5_000_000;
    expect(story.ask("b")).toBe("10.0.0.1");
  });
});

describe("strategies", () => {
  it("sticky gives a name the same address again, and the next free one where another has it", () => {
    const story = new Story("10.0.0.0/24", { cooldownMs: 0 });
    const sticky: Strategy = { kind: "sticky" };
    const first = story.take("web-0", undefined, sticky);
    for (const name of ["x", "y", "z"]) story.take(name);
    story.free("web-0");
    const reborn: Owner = { ...pod("web-0"), uid: "uid-later" };
    expect(brief(decide(story.pool, { owner: reborn, strategy: sticky }, () => 0))).toBe(first);
    story.pool.take(ip(first), pod("squatter"));
    expect(brief(decide(story.pool, { owner: reborn, strategy: sticky }, () => 0))).not.toBe(first);
  });

  it("sticky scatters names over the pool", () => {
    const story = new Story("10.0.0.0/16", { cooldownMs: 0 });
    const places = new Set(Array.from({ length: 200 }, (_, i) => story.ask(`web-${i}`, undefined, { kind: "sticky" })));
    expect(places.size).toBeGreaterThan(190);
  });

  it("spread takes the lowest of its stripe, and goes from stripe to stripe for each further candidate", () => {
    const story = new Story("10.0.0.0/24");
    const ask = (strategy: Strategy) => decide(story.pool, { owner: pod("a"), strategy }, () => 0);
    const at = (first: number) => brief(ask({ kind: "spread", stripes: 4, first, step: 1 }));
    expect([0, 1, 2, 3, 4].map(at)).toEqual(["10.0.0.4", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]);
    story.pool.take(ip("10.0.0.2"), pod("b"));
    expect(further(ask({ kind: "spread", stripes: 4, first: 2, step: 1 }), 5)).toEqual([
      "10.0.0.6",
      "10.0.0.3",
      "10.0.0.4",
      "10.0.0.1",
      "10.0.0.10",
    ]);
  });

  it("spread is asked anew for every candidate: its writer may have gone on to another stripe", () => {
    const story = new Story("10.0.0.0/24");
    const strategy = { kind: "spread", stripes: 4, first: 1, step: 1 } as const;
    const moving = { ...strategy };
    const decision = decide(story.pool, { owner: pod("a"), strategy: moving }, () => 0);
    Object.assign(moving, { first: 2, stripes: 8 });
    expect(further(decision, 3)).toEqual(["10.0.0.1", "10.0.0.3", "10.0.0.4"]);
  });

  it.each([1e9, Infinity, NaN, 0, -1])("spread over %d stripes ends soon, in an IPv6 pool too", (stripes) => {
    const story = new Story("fd00::/64");
    const strategy: Strategy = { kind: "spread", stripes, first: 4092, step: 1 };
    const decision = decide(story.pool, { owner: pod("a"), strategy }, () => 0.999);
    expect(further(decision, 3)).toHaveLength(3);
    expect(brief(decision)).toBe(stripes > 1 ? "fd00::ffc" : "fd00::1");
  });

  it.each<Strategy>([
    { kind: "lowest" },
    { kind: "random" },
    { kind: "spread", stripes: 2, first: 1, step: 1 },
    { kind: "spread", stripes: 8, first: -3, step: -5 },
    { kind: "spread", stripes: 500, first: 77, step: 12 },
    { kind: "sticky" },
  ])("%o offers every free address once", (strategy) => {
    for (const seed of [0.1, 0.4, 0.9]) {
      const story = new Story("10.0.0.0/27", { cooldownMs: 0, excludes: [parseBlock("10.0.0.8/30")] });
      story.pool.take(ip("10.0.0.17"), pod("held"));
      let state = seed;
      const random = () => (state = (state * 16_807 + 0.123) % 1);
      const offered = further(decide(story.pool, { owner: pod("a"), strategy }, random));
      const expected = Array.from({ length: 30 }, (_, i) => i + 1).filter((i) => (i < 8 || i > 11) && i !== 17);
      expect([...offered].sort()).toEqual(expected.map((i) => `10.0.0.${i}`).sort());
    }
  });

  it("random reaches all parts of a /64, also below the 53rd bit", () => {
    const story = new Story("fd00::/64");
    const seen = Array.from({ length: 50 }, () =>
      decide(story.pool, { owner: pod("a"), strategy: { kind: "random" } }, Math.random),
    );
    const words = seen.map(
      (decision) => (decision.kind === "grant" && decision.address.family === 6 ? decision.address : undefined)!,
    );
    expect(new Set(words.map(({ w2 }) => w2 >>> 28)).size).toBeGreaterThan(4);
    expect(new Set(words.map(({ w3 }) => w3 & 15)).size).toBeGreaterThan(4);
  });
});

describe("the trace", () => {
  it("says why lower addresses were passed over, run by run", () => {
    const story = new Story("10.0.0.0/24", {
      excludes: [parseBlock("10.0.0.4/30")],
      gateway: ip("10.0.0.1"),
      cooldownMs: 30_000,
    });
    story.take("a");
    story.take("b");
    story.free("b");
    const decision = decide(story.pool, { owner: pod("c") }, () => 0);
    expect(brief(decision)).toBe("10.0.0.8");
    expect(formatTrace(decision.trace())).toEqual([
      "10.0.0.1  reserved: gateway",
      "10.0.0.2  held by pod default/a (eth0)",
      "10.0.0.3  cooling down until 1970-01-01T00:00:30.000Z",
      "10.0.0.4-10.0.0.7  excluded",
    ]);
  });

  it("is bounded and says where it goes on", () => {
    const story = new Story("10.0.0.0/16");
    for (let i = 0; i < 500; i++) story.take(`p${i}`);
    const lines = formatTrace(decide(story.pool, { owner: pod("x") }, () => 0).trace(3));
    expect(lines).toEqual([
      "10.0.0.1  held by pod default/p0 (eth0)",
      "10.0.0.2  held by pod default/p1 (eth0)",
      "10.0.0.3  held by pod default/p2 (eth0)",
      "and so on from 10.0.0.4",
    ]);
  });

  it("is bounded whatever the limit, and names a rest that never ends", () => {
    const story = new Story("10.0.0.0/24", { cooldownMs: Number.MAX_VALUE });
    for (const name of ["a", "b"]) story.take(name);
    story.free("a");
    const decision = decide(story.pool, { owner: pod("x") }, () => 0);
    expect(formatTrace(decision.trace())[0]).toBe("10.0.0.1  cooling down until the end of time");
    expect(formatTrace(decision.trace(-1))).toEqual(["and so on from 10.0.0.1"]);
    const refusal = decide(story.pool, { owner: pod("x"), want: given("10.0.0.1") }, () => 0);
    expect(refusal).toMatchObject({ code: "cooling-down" });
  });

  it("of a choice that is not the lowest ends at the first free address it passed over", () => {
    const story = new Story("10.0.0.0/24");
    story.take("a");
    const decision = decide(story.pool, { owner: pod("b"), want: preferred("10.0.0.9") }, () => 0);
    expect(formatTrace(decision.trace())).toEqual([
      "10.0.0.1  held by pod default/a (eth0)",
      "10.0.0.2  free, passed over: another was preferred",
    ]);
  });

  it("of a refusal explains the whole pool, and its message counts it", () => {
    const story = new Story("10.0.0.0/30", { gateway: ip("10.0.0.1") });
    story.take("a");
    const decision = decide(story.pool, { owner: pod("b") }, () => 0);
    expect(formatTrace(decision.trace())).toEqual([
      "10.0.0.1  reserved: gateway",
      "10.0.0.2  held by pod default/a (eth0)",
    ]);
    expect(decision).toMatchObject({
      code: "exhausted",
      message:
        "10.0.0.0/30 has no free address: of 2 usable, 1 held, 1 excluded or reserved. Release some, widen the range, or exclude less.",
    });
  });
});
