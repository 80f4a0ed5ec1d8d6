// The example of RFC 3397, names that are none, and bytes that lead in circles.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { hex, packet, toHex } from "../../../test/dhcp/packet.ts";
import { decodeMessage } from "../message/decode.ts";
import { decodeDomains, encodeDomains } from "./domain-list.ts";

/** RFC 3397 section 2: "eng.apple.com." and "marketing.apple.com.", in three pieces of nine bytes. */
const pieces = ["03656e67056170706c", "6503636f6d00096d61", "726b6574696e67c004"];
const names = ["eng.apple.com", "marketing.apple.com"];

describe("the example of RFC 3397", () => {
  it("is what we send", () => {
    expect(toHex(encodeDomains(names)!)).toBe(pieces.join(""));
  });

  it("is read from its pieces", () => {
    const message = decodeMessage(packet({ options: [[53, "01"], ...pieces.map((piece) => [119, piece] as const)] }));
    expect(message.kind === "message" && decodeDomains(message.options.get(119)!)).toEqual(names);
  });
});

describe("what is sent", () => {
  it.each<readonly [readonly string[], string]>([
    [["example"], "076578616d706c6500"],
    [["example."], "076578616d706c6500"],
    [["a.b", "b"], "0161016200c002"],
    [["b", "a.b"], "0162000161c000"],
    [["a.b", "A.B"], "0161016200c000"],
    [["a.b", "a.b.c"], "016101620001610162016300"],
  ])("%j", (list, bytes) => {
    expect(toHex(encodeDomains(list)!)).toBe(bytes);
  });

  it.each([
    ["an empty name", ""],
    ["the root", "."],
    ["an empty label", "a..b"],
    ["a label of 64", `${"x".repeat(64)}.example`],
    ["a name of 256 bytes", `${"x".repeat(62)}.`.repeat(4) + "xxx"],
    ["umlauts", "bär.example"],
  ])("%s is no name", (_, name) => {
    expect(encodeDomains(["example", name])).toBeUndefined();
  });

  it("a name of 255 bytes is one", () => {
    expect(encodeDomains([`${"x".repeat(62)}.`.repeat(4) + "x"])).toHaveLength(255);
  });
});

describe("what is refused", () => {
  const label63 = `3f${"61".repeat(63)}`;
  it.each([
    ["nothing", ""],
    ["the root", "00"],
    ["a label that is cut off", "0361"],
    ["a name without an end", "0161"],
    ["a pointer that is cut off", "0161c0"],
    ["a pointer to itself", "c000"],
    ["a pointer forward", "c002016100"],
    ["two that point at each other", "0161c003c000"],
    ["a label of the reserved kind", "4161" + "00".repeat(64) + "00"],
    ["a label that does not print", "010000"],
    ["a dot within a label", "03612e6200"],
    ["65 names", "016100".repeat(65)],
    ["a name that grows beyond 255 bytes by pointers", `${label63.repeat(3)}00${label63}c000`],
  ])("%s", (_, bytes) => {
    expect(decodeDomains(hex(bytes))).toMatchObject({ kind: "fault", code: "bad-value" });
  });
});

it("what is sent is what is read, in any case of its letters", () => {
  const label = fc.stringMatching(/^[A-Za-z0-9-]{1,12}$/);
  const name = fc.array(fc.oneof(label, fc.constantFrom("example", "org", "vm")), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 20 }), (list) => {
      const texts = list.map((labels) => labels.join("."));
      const read = decodeDomains(encodeDomains(texts)!);
      const lower = (each: readonly string[]) => each.map((text) => text.toLowerCase());
      expect(lower(read as readonly string[])).toEqual(lower(texts));
    }),
  );
});
