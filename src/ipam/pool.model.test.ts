// The pool and its decisions against the slowest thing that works: one map from address to state, searched from end to
// end for every question. At least 100,000 generated operations, and the invariants after each.
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";

import { type Address, parseAddress, plus } from "../net/address.ts";
import { parseBlock } from "../net/interval.ts";
import { parseCidr } from "../net/prefix.ts";
import { decide } from "./decide.ts";
import type { PoolDefinition } from "./definition.ts";
import { type Owner, ownerKey } from "./owner.ts";
import { Pool } from "./pool.ts";
import type { Want } from "./request.ts";

interface Spot {
  readonly text: string;
  readonly withheld: "excluded" | "reserved" | undefined;
  owner?: Owner;
  /** Who released it, and until when it cools. */
  rest?: { readonly untilMs: number; readonly lastOwner: string } | undefined;
}

/** Everything by looking at every address. */
class Naive {
  readonly clock: { nowMs: number };
  readonly spots: readonly Spot[];
  readonly cooldownMs: number;
  /** owner key -> what it released last */
  readonly latest = new Map<string, Spot>();

  constructor(spots: readonly Spot[], cooldownMs: number, clock: { nowMs: number }) {
    this.clock = clock;
    this.spots = spots;
    this.cooldownMs = cooldownMs;
  }

  state(spot: Spot): string {
    if (spot.owner !== undefined) return "allocated";
    if (spot.rest !== undefined && spot.rest.untilMs > this.clock.nowMs) return "quarantined";
    return spot.withheld ?? "free";
  }

  of(owner: Owner): Spot | undefined {
    return this.spots.find((spot) => spot.owner !== undefined && ownerKey(spot.owner) === ownerKey(owner));
  }

  /** What `decide` must answer with the lowest-free strategy. */
  answer(owner: Owner, want: Want): string {
    const has = this.of(owner);
    const wished =
      want.kind === "given" ? [String(want.address)] : want.kind === "oneOf" ? want.addresses.map(String) : undefined;
    if (has !== undefined) return wished === undefined || wished.includes(has.text) ? has.text : "owner-has-another";
    const canHave = (text: string) => {
      const spot = this.spots.find((each) => each.text === text);
      if (spot === undefined) return false;
      const state = this.state(spot);
      if (state === "quarantined") return spot.withheld === undefined && spot.rest!.lastOwner === ownerKey(owner);
      return state === "free";
    };
    if (wished !== undefined) return wished.find(canHave) ?? "refused";
    if (want.kind === "preferred" && canHave(String(want.address))) return String(want.address);
    const back = this.returning(owner);
    if (back !== undefined && back.withheld === undefined) return back.text;
    const free = this.spots.find((spot) => this.state(spot) === "free");
    if (free !== undefined) return free.text;
    const resting = this.spots.filter((spot) => this.state(spot) === "quarantined" && spot.withheld === undefined);
    const longest = Math.min(...resting.map((spot) => spot.rest!.untilMs));
    return resting.length === 0 ? "refused" : `early ${longest}`;
  }

  /** The address that this owner released last, while it cools. */
  returning(owner: Owner): Spot | undefined {
    const spot = this.latest.get(ownerKey(owner));
    return spot !== undefined && this.state(spot) === "quarantined" && spot.rest!.lastOwner === ownerKey(owner)
      ? spot
      : undefined;
  }

  release(spot: Spot | undefined): void {
    if (spot?.owner === undefined) return;
    const lastOwner = ownerKey(spot.owner);
    delete spot.owner;
    this.latest.set(lastOwner, spot);
    spot.rest = this.cooldownMs > 0 ? { untilMs: this.clock.nowMs + this.cooldownMs, lastOwner } : undefined;
  }
}

const owners: readonly Owner[] = Array.from({ length: 14 }, (_, i): Owner => {
  if (i < 8)
    return {
      kind: "pod",
      uid: i < 6 ? `u${i >> 1}` : "",
      namespace: "n",
      name: `p${i >> 1}`,
      interface: `net${i % 2}`,
      containerId: `c${i}`,
    };
  return i < 11
    ? { kind: "claim", uid: `u${i}`, namespace: "n", name: `c${i}` }
    : { kind: "nic", uid: `u${i}`, namespace: "n", name: "vm", nic: `net${i}` };
});

const layouts: readonly {
  readonly name: string;
  readonly prefix: string;
  readonly more: Partial<PoolDefinition>;
  readonly excludes: readonly string[];
}[] = [
  { name: "a /29", prefix: "10.0.0.8/29", more: {}, excludes: [] },
  {
    name: "a /28 with holes",
    prefix: "10.0.0.16/28",
    more: { gateway: parseAddress("10.0.0.17") },
    excludes: ["10.0.0.20/31", "10.0.0.21", "10.0.0.30"],
  },
  {
    name: "a part of a /24",
    prefix: "10.0.1.0/24",
    more: { start: parseAddress("10.0.1.250"), end: parseAddress("10.0.1.254") },
    excludes: ["10.0.1.252"],
  },
  { name: "the end of IPv4, layer 3", prefix: "255.255.255.248/29", more: { l3: true }, excludes: [] },
  { name: "a /31", prefix: "10.9.9.8/31", more: {}, excludes: [] },
  {
    name: "an IPv6 /125 across a carry",
    prefix: "fd00::ffff:fff8/125",
    more: { l3: true },
    excludes: ["fd00::ffff:fffa"],
  },
  {
    name: "ten addresses of a /64, as intervals",
    prefix: "fd00::/64",
    more: { start: parseAddress("fd00::ffff:ffff:fffa"), end: parseAddress("fd00::1:0:0:3") },
    excludes: ["fd00::1:0:0:1"],
  },
];

type Operation =
  | {
      kind: "ask";
      owner: number;
      want: "any" | "given" | "preferred" | "oneOf";
      spots: number[];
      takes: boolean;
      container: number;
    }
  | { kind: "releaseOwner"; owner: number }
  | { kind: "forget"; spot: number }
  | { kind: "wait"; ms: number };

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("ask" as const),
      owner: fc.nat(owners.length - 1),
      want: fc.constantFrom("any", "any", "any", "given", "preferred", "oneOf" as const),
      spots: fc.array(fc.nat(40), { minLength: 1, maxLength: 4 }),
      takes: fc.boolean(),
      container: fc.nat(3),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("releaseOwner" as const), owner: fc.nat(owners.length - 1) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("forget" as const), spot: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(60) }) },
);

/** One pool and its slow twin, driven together. */
class Pair {
  readonly clock = { nowMs: 0 };
  readonly pool: Pool;
  readonly naive: Naive;
  readonly addresses: readonly Address[];

  constructor(layout: (typeof layouts)[number], cooldownMs: number) {
    const excludes = layout.excludes.map((block) => parseBlock(block));
    this.pool = new Pool(
      { prefix: parseCidr(layout.prefix).prefix, excludes, cooldownMs, ...layout.more },
      () => this.clock.nowMs,
    );
    const { first, last } = this.pool.usable;
    const addresses: Address[] = [];
    for (let at: Address | undefined = first; at !== undefined; at = plus(at, 1)) {
      addresses.push(at);
      if (String(at) === String(last)) break;
    }
    this.addresses = addresses;
    this.naive = new Naive(
      addresses.map((address) => {
        const state = this.pool.stateOf(address).state; // before anything is held, only what the definition withholds
        return { text: String(address), withheld: state === "free" ? undefined : (state as "excluded" | "reserved") };
      }),
      cooldownMs,
      this.clock,
    );
  }

  address(index: number): Address {
    return this.addresses[index % this.addresses.length]!;
  }

  want(step: Extract<Operation, { kind: "ask" }>): Want {
    if (step.want === "any") return { kind: "any" };
    if (step.want === "oneOf") return { kind: "oneOf", addresses: step.spots.map((spot) => this.address(spot)) };
    return { kind: step.want, address: this.address(step.spots[0]!) };
  }

  perform(step: Operation): void {
    switch (step.kind) {
      case "wait":
        this.clock.nowMs += step.ms;
        return;
      case "releaseOwner":
        this.pool.releaseOwner(owners[step.owner]!);
        this.naive.release(this.naive.of(owners[step.owner]!));
        return;
      case "forget":
        this.pool.forget(this.address(step.spot));
        delete this.naive.spots[step.spot % this.naive.spots.length]!.owner;
        return;
      case "ask":
        this.ask(step);
    }
  }

  ask(step: Extract<Operation, { kind: "ask" }>): void {
    const plain = owners[step.owner]!;
    const owner =
      plain.kind === "pod"
        ? { ...plain, containerId: `${plain.containerId!}${step.container === 0 ? "" : `-${step.container}`}` }
        : plain;
    const want = this.want(step);
    const expected = this.naive.answer(owner, want);
    const decision = decide(this.pool, { owner, want }, () => 0);
    if (decision.kind === "refusal") {
      expect(decision.code === "owner-has-another" ? decision.code : "refused").toBe(expected);
      expect(decision.trace().length).toBeLessThanOrEqual(17);
      return;
    }
    const spot = this.naive.spots.find(({ text }) => text === String(decision.address))!;
    expect(decision.early ? `early ${spot.rest!.untilMs}` : spot.text).toBe(expected);
    expect(new Set([...decision.further()].map(({ address }) => String(address)).concat(spot.text)).size).toBe(
      [...decision.further()].length + 1,
    );
    if (!step.takes) return;
    this.pool.take(decision.address, owner);
    spot.owner = owner;
    spot.rest = undefined;
  }

  /** One owner per address and one address per owner; every address in one state; counts add up. */
  check(): void {
    const states = this.addresses.map((address) => this.pool.stateOf(address).state);
    expect(states).toEqual(this.naive.spots.map((spot) => this.naive.state(spot)));
    const held = [...this.pool.allocations()];
    expect(held.length).toBe(this.naive.spots.filter((spot) => spot.owner !== undefined).length);
    expect(new Set(held.map(({ owner }) => ownerKey(owner))).size).toBe(held.length);
    expect(new Set(held.map(({ address }) => String(address))).size).toBe(held.length);
    const counts = this.pool.counts();
    expect(counts.free).toBe(BigInt(states.filter((state) => state === "free").length));
    expect(counts.allocated).toBe(held.length);
    expect(counts.quarantined).toBe(states.filter((state) => state === "quarantined").length);
  }
}

let performed = 0;

describe.each(layouts)("the pool against the naive map: $name", (layout) => {
  it.each([0, 100])("cooldown %i ms", (cooldownMs) => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 250, size: "max" }), (steps) => {
        const pair = new Pair(layout, cooldownMs);
        for (const step of steps) {
          pair.perform(step);
          pair.check();
          performed += 1;
        }
      }),
      { numRuns: 75 },
    );
  });
});

afterAll(() => {
  expect(performed, "generated operations").toBeGreaterThanOrEqual(100_000);
});
