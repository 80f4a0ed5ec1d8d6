// Which addresses a pool may hand out at all: /31, /32, /127, /128, enable_l3, range_start and range_end.
import { describe, expect, it } from "vitest";

import { parseAddress } from "../net/address.ts";
import { formatInterval } from "../net/interval.ts";
import { parseCidr } from "../net/prefix.ts";
import { cooldownOf, DefinitionError, type PoolDefinition, reservationsOf, usableOf } from "./definition.ts";

function definition(
  prefix: string,
  more: { start?: string; end?: string } & Partial<Omit<PoolDefinition, "start" | "end">> = {},
): PoolDefinition {
  const { start, end, ...rest } = more;
  return {
    prefix: parseCidr(prefix).prefix,
    ...(start === undefined ? {} : { start: parseAddress(start) }),
    ...(end === undefined ? {} : { end: parseAddress(end) }),
    ...rest,
  };
}

function usable(...args: Parameters<typeof definition>): string {
  return formatInterval(usableOf(definition(...args)));
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof DefinitionError) return error.code;
    throw error;
  }
  return "none";
}

describe("usable addresses", () => {
  it.each([
    ["10.0.0.0/24", {}, "10.0.0.1-10.0.0.254"],
    ["10.0.0.0/30", {}, "10.0.0.1-10.0.0.2"],
    ["10.0.0.0/31", {}, "10.0.0.0-10.0.0.1"],
    ["10.0.0.0/32", {}, "10.0.0.0"],
    ["10.0.0.0/24", { l3: true }, "10.0.0.0-10.0.0.255"],
    ["10.0.0.0/31", { l3: true }, "10.0.0.0-10.0.0.1"],
    ["0.0.0.0/0", {}, "0.0.0.1-255.255.255.254"],
    ["0.0.0.0/0", { l3: true }, "0.0.0.0-255.255.255.255"],
    ["fd00::/64", {}, "fd00::1-fd00::ffff:ffff:ffff:fffe"],
    ["fd00::/126", {}, "fd00::1-fd00::2"],
    ["fd00::/127", {}, "fd00::-fd00::1"],
    ["fd00::/128", {}, "fd00::"],
    ["::/0", { l3: true }, "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    // Addresses that end in .0 or .255 inside a larger network are like any other, as in whereabouts.
    ["10.0.0.0/16", { start: "10.0.1.0", end: "10.0.1.255" }, "10.0.1.0-10.0.1.255"],
  ] as const)("%s %o -> %s", (prefix, more, expected) => {
    expect(usable(prefix, more)).toBe(expected);
  });
});

describe("start and end", () => {
  it.each([
    [{ start: "10.0.0.10" }, "10.0.0.10-10.0.0.254"],
    [{ end: "10.0.0.20" }, "10.0.0.1-10.0.0.20"],
    [{ start: "10.0.0.10", end: "10.0.0.10" }, "10.0.0.10"],
  ])("inside: %o -> %s", (more, expected) => {
    expect(usable("10.0.0.0/24", more)).toBe(expected);
  });

  it.each([
    [{ start: "10.0.1.1" }, "start-outside"],
    [{ start: "10.0.0.0" }, "start-outside"],
    [{ end: "10.0.0.255" }, "end-outside"],
    [{ end: "fd00::1" }, "end-outside"],
    [{ start: "10.0.0.20", end: "10.0.0.10" }, "backwards"],
  ])("refused: %o -> %s", (more, code) => {
    expect(codeOf(() => usableOf(definition("10.0.0.0/24", more)))).toBe(code);
  });

  it.each([
    [{ start: "10.0.1.1" }, "10.0.0.1-10.0.0.254"],
    [{ start: "10.0.0.0" }, "10.0.0.1-10.0.0.254"],
    [{ end: "10.0.0.255" }, "10.0.0.1-10.0.0.254"],
    [{ start: "10.0.0.20", end: "10.0.0.10" }, "10.0.0.20-10.0.0.254"],
  ])("ignored where whereabouts ignores it: %o -> %s", (more, expected) => {
    expect(usable("10.0.0.0/24", { ...more, outside: "ignore" })).toBe(expected);
  });

  it("names the pool, the address and what would do", () => {
    expect(() => usableOf(definition("10.0.0.0/24", { start: "10.0.1.1" }))).toThrow(
      "the start 10.0.1.1 of the pool 10.0.0.0/24 is none of its usable addresses, 10.0.0.1-10.0.0.254: give one of those.",
    );
  });
});

describe("the rest of a definition", () => {
  it("reserves the gateway beside what is reserved anyway", () => {
    const vip = { interval: { first: parseAddress("10.0.0.9"), last: parseAddress("10.0.0.9") }, reason: "VIP" };
    const list = reservationsOf(definition("10.0.0.0/24", { gateway: parseAddress("10.0.0.1"), reservations: [vip] }));
    expect(list.map(({ reason, interval }) => `${reason} ${formatInterval(interval)}`)).toEqual([
      "VIP 10.0.0.9",
      "gateway 10.0.0.1",
    ]);
  });

  it("refuses a gateway that nothing in the pool could reach", () => {
    const far = definition("10.0.0.0/24", { gateway: parseAddress("10.0.1.1") });
    expect(codeOf(() => reservationsOf(far))).toBe("gateway-outside");
  });

  it("rests 30 s by default, not at all with 0, and never for a time that is none", () => {
    expect(cooldownOf(definition("10.0.0.0/24"))).toBe(30_000);
    expect(cooldownOf(definition("10.0.0.0/24", { cooldownMs: 0 }))).toBe(0);
    for (const cooldownMs of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(codeOf(() => cooldownOf(definition("10.0.0.0/24", { cooldownMs })))).toBe("bad-cooldown");
    }
  });
});
