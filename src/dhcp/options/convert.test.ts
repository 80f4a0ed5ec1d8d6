// Every kind of option: known bytes, what is refused, and that reading undoes writing.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { hex, ip, toHex } from "../../../test/dhcp/packet.ts";
import { v4, word } from "../../../test/net/arbitrary.ts";
import { parsePrefix, Prefix } from "../../net/prefix.ts";
import { DhcpError } from "../error.ts";
import { optionEntry } from "./catalog.ts";
import { decodeOption, encodeOption } from "./convert.ts";
import { linkSelectionOf, subOption } from "./relay-agent.ts";
import type { OptionValue } from "./value.ts";

/** RFC 3442, "Classless Route Option Format": its table of examples. */
const routes: readonly (readonly [string, string])[] = [
  ["0.0.0.0/0", "00"],
  ["10.0.0.0/8", "080a"],
  ["10.0.0.0/24", "180a0000"],
  ["10.17.0.0/16", "100a11"],
  ["10.27.129.0/24", "180a1b81"],
  ["10.229.0.128/25", "190ae50080"],
  ["10.198.122.47/32", "200ac67a2f"],
];

describe("bytes of values", () => {
  it.each<readonly [number, OptionValue, string]>([
    [1, { kind: "address", value: ip("255.255.255.0") }, "ffffff00"],
    [3, { kind: "addresses", value: [ip("192.0.2.1"), ip("192.0.2.2")] }, "c0000201c0000202"],
    [150, { kind: "addresses", value: [ip("192.0.2.1")] }, "c0000201"],
    [26, { kind: "uint16", value: 1500 }, "05dc"],
    [51, { kind: "uint32", value: 0xffff_ffff }, "ffffffff"],
    [52, { kind: "uint8", value: 3 }, "03"],
    [12, { kind: "text", value: "vm-1" }, "766d2d31"],
    [55, { kind: "codes", value: [1, 3, 121] }, "010379"],
    [
      61,
      { kind: "client-identifier", value: { kind: "hardware", htype: 1, address: hex("020000000011") } },
      "01020000000011",
    ],
    // RFC 4361 section 6.1: type, IAID, DUID (here a DUID-LL).
    [
      61,
      { kind: "client-identifier", value: { kind: "node", iaid: 1, duid: hex("00030001020000000011") } },
      "ff0000000100030001020000000011",
    ],
    [61, { kind: "client-identifier", value: { kind: "opaque", bytes: hex("00766d") } }, "00766d"],
    [
      82,
      {
        kind: "relay-agent",
        value: [
          { code: subOption.circuitId, data: hex("aabb") },
          { code: subOption.remoteId, data: hex("") },
        ],
      },
      "0102aabb0200",
    ],
    [43, { kind: "bytes", value: hex("0104deadbeef") }, "0104deadbeef"],
    [224, { kind: "bytes", value: hex("00") }, "00"],
    ...routes.map(
      ([text, bytes]) =>
        [
          121,
          { kind: "routes", value: [{ destination: parsePrefix(text), router: ip("192.0.2.1") }] },
          `${bytes}c0000201`,
        ] as const,
    ),
  ])("option %i", (code, value, bytes) => {
    expect(toHex(encodeOption(code, value))).toBe(bytes);
    expect(decodeOption(code, hex(bytes))).toEqual(value);
  });
});

describe("off the wire", () => {
  it.each<readonly [string, number, string]>([
    ["an address of three bytes", 1, "ffffff"],
    ["an address of eight bytes", 54, "c0000201c0000202"],
    ["no addresses", 3, ""],
    ["addresses of six bytes", 6, "c0000201c000"],
    ["a number of three bytes", 51, "000001"],
    ["an empty text", 12, ""],
    ["a text of NULs", 12, "0000"],
    ["a text that does not print", 12, "766d1b"],
    ["a client identifier of one byte", 61, "01"],
    ["no routes", 121, ""],
    ["a mask of 33 bits", 121, "210a00000000c0000201"],
    ["a route that is cut off", 121, "180a0000c00002"],
    ["no sub-options", 82, ""],
    ["a sub-option without a length", 82, "01"],
    ["a sub-option that is cut off", 82, "0103aabb"],
  ])("%s", (_, code, bytes) => {
    expect(decodeOption(code, hex(bytes))).toMatchObject({ kind: "fault", code: "bad-value" });
  });

  it.each<readonly [string, number, string, unknown]>([
    ["a text that ends with NULs", 12, "766d0000", "vm"],
    [
      "bits of a destination beyond its mask",
      121,
      "090affc0000201",
      [{ destination: parsePrefix("10.128.0.0/9"), router: ip("192.0.2.1") }],
    ],
    ["a client identifier of another length is opaque", 61, "0102", { kind: "opaque", bytes: hex("0102") }],
    ["a node without a DUID is opaque", 61, "ff000000010003", { kind: "opaque", bytes: hex("ff000000010003") }],
  ])("%s", (_, code, bytes, value) => {
    expect(decodeOption(code, hex(bytes))).toMatchObject({ value });
  });

  it("what nobody knows is bytes, and not those of the message", () => {
    const bytes = hex("0102");
    const value = decodeOption(230, bytes);
    bytes.fill(9);
    expect(value).toEqual({ kind: "bytes", value: hex("0102") });
    expect(optionEntry(230)).toEqual({ name: "unknown", kind: "bytes" });
  });
});

describe("what cannot be sent", () => {
  it.each<readonly [string, OptionValue]>([
    ["no bytes", { kind: "bytes", value: hex("") }],
    ["an empty text", { kind: "text", value: "" }],
    ["a text with a line break", { kind: "text", value: "a\nb" }],
    ["a text with an emoji", { kind: "text", value: "🐧" }],
    ["no addresses", { kind: "addresses", value: [] }],
    ["a number that is too large", { kind: "uint16", value: 65_536 }],
    ["a negative number", { kind: "uint32", value: -1 }],
    ["half a number", { kind: "uint8", value: 0.5 }],
    ["a name with an empty label", { kind: "domains", value: ["a..b"] }],
  ])("%s", (_, value) => {
    expect(() => encodeOption(224, value)).toThrow(DhcpError);
  });
});

it("reading undoes writing", () => {
  const prefix = fc
    .tuple(v4, fc.integer({ min: 0, max: 32 }))
    .map(([address, length]) => Prefix.around(address, length));
  const value = fc.oneof<fc.Arbitrary<readonly [number, OptionValue]>[]>(
    fc.tuple(
      fc.constant(3),
      fc.record({ kind: fc.constant("addresses" as const), value: fc.array(v4, { minLength: 1 }) }),
    ),
    fc.tuple(fc.constant(28), fc.record({ kind: fc.constant("address" as const), value: v4 })),
    fc.tuple(fc.constant(51), fc.record({ kind: fc.constant("uint32" as const), value: word })),
    fc.tuple(
      fc.constant(121),
      fc.record({
        kind: fc.constant("routes" as const),
        value: fc.array(fc.record({ destination: prefix, router: v4 }), { minLength: 1 }),
      }),
    ),
    fc.tuple(
      fc.constant(82),
      fc.record({
        kind: fc.constant("relay-agent" as const),
        value: fc.array(fc.record({ code: fc.integer({ min: 0, max: 255 }), data: fc.uint8Array({ maxLength: 20 }) }), {
          minLength: 1,
        }),
      }),
    ),
  );
  fc.assert(
    fc.property(value, ([code, each]) => {
      expect(decodeOption(code, encodeOption(code, each))).toEqual(each);
    }),
  );
});

describe("link selection (RFC 3527)", () => {
  it.each<readonly [string, string, number | undefined]>([
    ["alone", "05040a000001", 0x0a00_0001],
    ["behind others", "0102aabb020005040a000001", 0x0a00_0001],
    ["of another length", "05030a0000", undefined],
    ["cut off", "05040a00", undefined],
    ["none", "0102aabb", undefined],
    ["half a sub-option", "01", undefined],
    ["nothing", "", undefined],
  ])("%s", (_, bytes, address) => {
    expect(linkSelectionOf(hex(bytes))).toBe(address);
  });
});
