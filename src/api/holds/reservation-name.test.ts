import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";

import { apiRefusalOf } from "../../../test/api/refusal.ts";
import { address } from "../../../test/net/arbitrary.ts";
import { equal, parseAddress, unmapped } from "../../net/address.ts";
import { readReservationName, reservationName, reservationNamesToRead } from "./reservation-name.ts";

const one = "fd00-0000-0000-0000-0000-0000-0000-0001";

describe("the name", () => {
  test.each([
    ["", "10.0.0.1", ["10.0.0.1"]],
    ["red", "10.0.0.1", ["red-10.0.0.1"]],
    ["", "fd00::1", [one, "fd00--1"]],
    ["red", "fd00::1", [`red-${one}`, "red-fd00--1"]],
    ["", "fd00::", ["fd00-0000-0000-0000-0000-0000-0000-0000", "fd00--0"]],
    ["red", "::1", ["red-0000-0000-0000-0000-0000-0000-0000-0001", "red---1"]],
    // whereabouts' own name, "--1", is none that a server takes.
    ["", "::1", ["0000-0000-0000-0000-0000-0000-0000-0001"]],
    ["", "1111:2222:3333:4444:5555:6666:7777:8888", ["1111-2222-3333-4444-5555-6666-7777-8888"]],
  ])("network %j, %s", (network, text, names) => {
    expect(reservationNamesToRead(network, parseAddress(text))).toEqual(names);
  });

  it("is refused where the network's name cannot be part of one", () => {
    const { code, message } = apiRefusalOf(() => reservationName("Red Net", parseAddress("10.0.0.1")));
    expect(code).toBe("bad-name");
    expect(message).toContain('network "Red Net" and address 10.0.0.1');
  });
});

describe("reading a name", () => {
  const readings = (name: string) => readReservationName(name).map((each) => `${each.network}|${each.address}`);

  test.each([
    ["10.0.0.1", ["|10.0.0.1"]],
    ["red-blue-10.0.0.1", ["red-blue|10.0.0.1"]],
    ["10.0.0.1-10.0.0.2", ["10.0.0.1|10.0.0.2"]],
    [one, ["|fd00::1"]],
    [`red-${one}`, ["red|fd00::1"]],
    [`aaaa-${one}`, ["aaaa|fd00::1"]],
    ["fd00--1", ["|fd00::1"]],
    ["red-fd00--1", ["red|fd00::1"]],
    ["fd00--0", ["|fd00::"]],
    ["a-b--1", ["|a:b::1", "a|b::1"]],
    ["red---1", ["red|::1"]],
    ["--1", ["|::1"]],
    ["fd00-0--1", []], // not as anybody prints fd00::1
    ["10.0.0.256", []],
    ["10.0.0.01", []],
    ["red", []],
    ["", []],
  ])("%s", (name, expected) => {
    expect(readings(name)).toEqual(expected);
  });

  const network = fc.option(fc.stringMatching(/^[a-f0-9]([-.a-f0-9]{0,12}[a-f0-9])?$/), { nil: "" });
  const held = fc.tuple(network, address.map(unmapped)).filter(([name]) => !/[-.][-.]/.test(name));

  it("what is written today has one meaning, whatever the network is called", () => {
    fc.assert(
      fc.property(held, ([name, at]) => {
        const [only, ...more] = readReservationName(reservationName(name, at));
        expect(more).toEqual([]);
        expect(only?.network).toBe(name);
        expect(only !== undefined && equal(only.address, at)).toBe(true);
      }),
    );
  });

  it("an old name has its true meaning among those found", () => {
    fc.assert(
      fc.property(held, ([name, at]) => {
        for (const old of reservationNamesToRead(name, at)) {
          expect(readings(old)).toContain(`${name}|${at}`);
        }
      }),
    );
  });
});
