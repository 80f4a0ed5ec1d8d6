import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { refusalOf } from "../../test/net/refusal.ts";
import { macFromBytes, macToBytes, parseMac } from "./mac.ts";

const bytes = fc.uint8Array({ minLength: 6, maxLength: 6 });

describe("parseMac", () => {
  it.each([
    ["02:00:0a:00:00:07", "02:00:0a:00:00:07"],
    ["02:00:0A:00:00:07", "02:00:0a:00:00:07"],
    ["02-00-0A-00-00-07", "02:00:0a:00:00:07"],
    ["0200.0a00.0007", "02:00:0a:00:00:07"],
    ["0200.0A00.0007", "02:00:0a:00:00:07"],
    ["00:00:00:00:00:00", "00:00:00:00:00:00"],
    ["FF:FF:FF:FF:FF:FF", "ff:ff:ff:ff:ff:ff"],
  ])("reads %s as %s", (text, canonical) => {
    expect(parseMac(text)).toBe(canonical);
  });

  it.each([
    "",
    "02:00:0a:00:00",
    "02:00:0a:00:00:07:08",
    "02:00:0a:00:00:07:08:09",
    "02:00:0a:00:00:7",
    "02:00:0a:00:00:007",
    "02:00:0a:00:00:0g",
    "02:00:0a:00:00:",
    ":02:00:0a:00:00:07",
    "02::0a:00:00:07",
    "02:00:0a-00-00-07",
    "02-00:0a:00:00:07",
    "0200.0a00:0007",
    "0200.0a00.007",
    "0200.0a00",
    "02000a000007",
    "02 00 0a 00 00 07",
    " 02:00:0a:00:00:07",
    "02:00:0a:00:00:07\n",
    "02:00:0a:00:00:07\n02:00:0a:00:00:07",
    "02:00:0a:00:00:０7",
    "10.0.0.1",
    "fd00::1",
  ])("refuses %j and names it", (text) => {
    const { code, message } = refusalOf(() => parseMac(text));
    expect(code).toBe("bad-mac");
    expect(message).toContain(`${JSON.stringify(text)} is not a MAC address: write six pairs`);
  });

  it("reads all three forms of the same bytes, in any case, as one", () => {
    fc.assert(
      fc.property(bytes, fc.boolean(), (six, upper) => {
        const pairs = Array.from(six, (byte) => byte.toString(16).padStart(2, "0"));
        const canonical = pairs.join(":");
        const dotted = pairs.join("").replaceAll(/(....)(?=.)/g, "$1.");
        for (const form of [canonical, pairs.join("-"), dotted]) {
          expect(parseMac(upper ? form.toUpperCase() : form)).toBe(canonical);
        }
        const mac = macFromBytes(six);
        expect(mac).toBe(canonical);
        expect(macToBytes(mac)).toEqual(six);
        expect(parseMac(mac)).toBe(mac);
      }),
      { numRuns: 300 },
    );
  });
});

it.each([0, 1, 5, 7, 8, 20])("macFromBytes refuses %d bytes", (length) => {
  const { code, message } = refusalOf(() => macFromBytes(new Uint8Array(length)));
  expect(code).toBe("bad-mac");
  expect(message).toContain(`has 6 bytes, not ${length}`);
});
