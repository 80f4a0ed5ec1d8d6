import { describe, expect, it } from "vitest";

import { parseAddress } from "../../net/address.ts";
import { doublesOf, isSuperseded } from "./superseded.ts";
import { heldOf } from "./testing/values.ts";

const status = (...addresses: string[]) => [
  { network: "shop/blue", interface: "net1", addresses: addresses.map((text) => parseAddress(text)), isDefault: false },
];

describe("two holds of one pod in one pool", () => {
  const own = heldOf({ address: "10.0.0.7" });
  const left = heldOf({ address: "10.0.0.9", owner: { uid: "" }, node: "" });
  const other = heldOf({ address: "10.0.0.8", owner: { uid: "uid-2", name: "web-1" } });
  const onePool = { of: () => [{ key: "pool" }] };

  it("are found by the pod's name: what whereabouts left behind has no UID", () => {
    expect([...doublesOf([own, other, left], onePool).values()]).toEqual([[own, left]]);
  });

  it("are none on two interfaces, or in two pools", () => {
    const second = heldOf({ address: "10.0.0.9", owner: { interface: "net2" } });
    expect(doublesOf([own, second], onePool).size).toBe(0);
    expect(doublesOf([own, left], { of: ({ address }) => [{ key: String(address) }] }).size).toBe(0);
  });

  it("is superseded only where the pod shows the other one, and not this one", () => {
    const doubles = [own, left];
    expect(isSuperseded(left, doubles, status("10.0.0.7"))).toBe(true);
    expect(isSuperseded(own, doubles, status("10.0.0.7"))).toBe(false);
    expect(isSuperseded(left, doubles, status("10.0.0.7", "10.0.0.9"))).toBe(false);
    expect(isSuperseded(left, doubles, status())).toBe(false);
    expect(isSuperseded(left, doubles, undefined)).toBe(false);
  });
});
