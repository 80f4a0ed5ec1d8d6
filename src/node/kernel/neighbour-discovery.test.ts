import fc from "fast-check";
import { expect, test } from "vitest";

import { parseAddress, V6Address } from "../../net/address.ts";
import { type Mac, macFromBytes, parseMac } from "../../net/mac.ts";
import { neighbourDiscovery as nd } from "./neighbour-discovery.ts";

const ours = parseMac("02:00:00:00:00:01");
const theirs = parseMac("02:00:00:00:00:02");
const question = { address: parseAddress("fd07::5:6") as V6Address, mac: ours };
const hex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));

/** RFC 1071 over any bytes, in big integers: slow, and written another way than what it checks. */
function sum(bytes: Uint8Array): number {
  const padded = bytes.length % 2 === 0 ? bytes : Uint8Array.of(...bytes, 0);
  const total = BigInt(`0x0${Buffer.from(padded).toString("hex")}`) % 0xffffn;
  return 0xffff - Number(total);
}

/** A frame with the right checksum and lengths. `body` begins behind the checksum. */
function message({ type = 136, code = 0, hops = 255, source = "fd07::5:6", from = theirs, body = target() } = {}) {
  const icmp = Uint8Array.of(type, code, 0, 0, ...body);
  const addresses = Uint8Array.of(...v6(source), ...v6("ff02::1"));
  const check = sum(Uint8Array.of(...addresses, 0, 0, 0, icmp.length, 0, 0, 0, 58, ...icmp));
  icmp.set([check >>> 8, check & 255], 2);
  const head = hex(`333300000001 ${from.replaceAll(":", "")} 86dd 60000000 00 00 3a`);
  head[19] = icmp.length;
  return Uint8Array.of(...head, hops, ...addresses, ...icmp);
}
const v6 = (text: string) => {
  const { w0, w1, w2, w3 } = parseAddress(text) as V6Address;
  const view = new DataView(new ArrayBuffer(16));
  for (const [index, word] of [w0, w1, w2, w3].entries()) view.setUint32(index * 4, word);
  return new Uint8Array(view.buffer);
};
const target = (text = "fd07::5:6", ...options: number[]) => [0x20, 0, 0, 0, ...v6(text), ...options];
const linkLayer = [2, 1, 2, 0, 0, 0, 0, 9];

test("a solicitation goes to the solicited-node group, from nobody, without an option", () => {
  const frame = nd.frame(question);
  const nobody = "0".repeat(32);
  const head = `3333ff050006 020000000001 86dd 60000000 0018 3a ff ${nobody} ff0200000000000000000001ff050006`;
  expect(frame.subarray(0, 54)).toEqual(hex(head));
  expect(frame.subarray(62)).toEqual(hex("fd070000000000000000000000050006"));
  const pseudo = Uint8Array.of(...frame.subarray(22, 54), 0, 0, 0, 24, 0, 0, 0, 58, ...frame.subarray(54));
  expect(sum(pseudo) % 0xffff).toBe(0);
  expect(nd.groups(question.address)).toEqual(["33:33:00:00:00:01", "33:33:ff:05:00:06"]);
});

test.each<[string, Uint8Array, Mac | undefined]>([
  ["an advertisement", message(), theirs],
  [
    "with the address of whom it speaks for",
    message({ body: target("fd07::5:6", ...linkLayer) }),
    parseMac("02:00:00:00:00:09"),
  ],
  [
    "behind another option",
    message({ body: target("fd07::5:6", 14, 1, 1, 2, 3, 4, 5, 6, ...linkLayer) }),
    parseMac("02:00:00:00:00:09"),
  ],
  ["with an option of no length", message({ body: target("fd07::5:6", 2, 0, 2, 0, 0, 0, 0, 9) }), theirs],
  ["another's probe for it", message({ type: 135, source: "::" }), theirs],
  ["somebody who looks for it", message({ type: 135, source: "fd07::1" }), undefined],
  ["an advertisement of another", message({ body: target("fd07::5:7") }), undefined],
  ["our own frame, come back", message({ type: 135, source: "::", from: ours }), undefined],
  ["through a router", message({ hops: 254 }), undefined],
  ["another code", message({ code: 1 }), undefined],
  ["a redirect", message({ type: 137 }), undefined],
  ["cut off", message().subarray(0, 77), undefined],
  ["padded", Uint8Array.of(...message(), 1, 2, 3), theirs],
  ["nothing", new Uint8Array(), undefined],
])("%s", (_, frame, mac) => {
  expect(nd.conflict(frame, question)).toBe(mac);
});

test("one wrong bit anywhere behind the IPv6 header's lengths and it does not count", () => {
  const good = message({ body: target("fd07::5:6", ...linkLayer) });
  fc.assert(
    fc.property(fc.integer({ min: 22, max: good.length - 1 }), fc.integer({ min: 0, max: 7 }), (index, bit) => {
      const bad = Uint8Array.from(good);
      bad[index]! ^= 1 << bit;
      expect(nd.conflict(bad, question)).toBeUndefined();
    }),
  );
});

const word = fc.integer({ min: 0, max: 0xffff_ffff });
const address = fc.tuple(word, word, word, word).map((words) => new V6Address(...words));
const mac = fc
  .uint8Array({ minLength: 6, maxLength: 6 })
  .filter((bytes) => bytes.some((byte) => byte > 0))
  .map(macFromBytes);

test("two that probe conflict exactly when they ask for the same address with different MACs", () => {
  fc.assert(
    fc.property(address, address, mac, mac, fc.boolean(), (one, other, a, b, same) => {
      const asked = same ? one : other;
      const found = nd.conflict(nd.frame({ address: asked, mac: b }), { address: one, mac: a });
      expect(found).toBe(asked.toString() === one.toString() && a !== b ? b : undefined);
    }),
  );
});

test("any bytes are judged without a throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), (noise) => {
      expect(nd.conflict(noise, question)).toBeUndefined();
    }),
  );
});
