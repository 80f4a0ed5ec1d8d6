import fc from "fast-check";
import { expect, test } from "vitest";

import { parseAddress, V4Address } from "../../net/address.ts";
import { type Mac, macFromBytes, parseMac } from "../../net/mac.ts";
import { arp } from "./arp.ts";

const ours = parseMac("02:00:00:00:00:01");
const theirs = parseMac("02:00:00:00:00:02");
const question = { address: parseAddress("10.7.0.5") as V4Address, mac: ours };
const hex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));

test("a probe says nothing about its sender but the MAC", () => {
  const wanted = "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 00000000 000000000000 0a070005";
  expect(arp.frame(question)).toEqual(hex(wanted));
});

const to = "020000000001 020000000002 0806 0001 0800 06 04";
test.each<[string, string, Mac | undefined]>([
  ["a reply from the address", `${to} 0002 020000000002 0a070005 020000000001 00000000`, theirs],
  ["padded to the smallest frame", `${to} 0002 020000000002 0a070005 020000000001 00000000 ${"00".repeat(18)}`, theirs],
  ["a request sent from the address", `${to} 0001 020000000002 0a070005 000000000000 0a070001`, theirs],
  ["an announcement of it", `${to} 0001 020000000002 0a070005 000000000000 0a070005`, theirs],
  ["another's probe for it", `${to} 0001 020000000002 00000000 000000000000 0a070005`, theirs],
  ["somebody who looks for it", `${to} 0001 020000000002 0a070001 000000000000 0a070005`, undefined],
  ["a reply to somebody who has it not", `${to} 0002 020000000002 0a070006 020000000001 0a070005`, undefined],
  ["another's probe for another", `${to} 0001 020000000002 00000000 000000000000 0a070006`, undefined],
  ["our own frame, come back", `${to} 0001 020000000001 00000000 000000000000 0a070005`, undefined],
  ["a reply without a sender", `${to} 0002 000000000000 0a070005 020000000001 00000000`, undefined],
  ["another operation", `${to} 0003 020000000002 0a070005 020000000001 00000000`, undefined],
  [
    "another hardware",
    `020000000001 020000000002 0806 0020 0800 06 04 0002 020000000002 0a070005 020000000001 00000000`,
    undefined,
  ],
  [
    "another type",
    `020000000001 020000000002 0800 0001 0800 06 04 0002 020000000002 0a070005 020000000001 00000000`,
    undefined,
  ],
  ["cut off", `${to} 0002 020000000002 0a070005 020000000001 0000`, undefined],
  ["nothing", "", undefined],
])("%s", (_, frame, mac) => {
  expect(arp.conflict(hex(frame), question)).toBe(mac);
});

const address = fc.integer({ min: 1, max: 0xffff_ffff }).map((value) => new V4Address(value));
const mac = fc
  .uint8Array({ minLength: 6, maxLength: 6 })
  .filter((bytes) => bytes.some((byte) => byte > 0))
  .map(macFromBytes);

test("two that probe conflict exactly when they ask for the same address with different MACs", () => {
  fc.assert(
    fc.property(address, address, mac, mac, fc.boolean(), (one, other, a, b, same) => {
      const asked = same ? one : other;
      const found = arp.conflict(arp.frame({ address: asked, mac: b }), { address: one, mac: a });
      expect(found).toBe(asked.value === one.value && a !== b ? b : undefined);
    }),
  );
});

test("any bytes are judged without a throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (noise) => {
      expect(() => arp.conflict(noise, question)).not.toThrow();
    }),
  );
});
