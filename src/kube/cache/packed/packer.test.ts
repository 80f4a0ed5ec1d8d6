// Packed and unpacked again, against JSON: any value that JSON can say, and the spellings that packing tells apart.
import fc from "fast-check";
import { expect, test } from "vitest";

import { Packer } from "./packer.ts";

const repeats = new Set(["kind", "state", "a"]);
const hex = (digits: number) =>
  fc
    .array(fc.integer({ min: 0, max: 255 }), { minLength: digits / 2, maxLength: digits / 2 })
    .map((bytes) => Buffer.from(bytes).toString("hex"));
const mac = hex(12).map((text) => text.replace(/..(?!$)/g, "$&:"));
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string(),
  fc.ipV4(),
  fc.uuid(),
  mac,
  mac.map((each) => each.toUpperCase()),
  fc.constantFrom("01.2.3.4", "1.2.3.256", "1.2.3", "__proto__", "\ud800", "é", "", "00:00:00:00:00:0g"),
);
const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true }),
  fc.constantFrom(-0, 2 ** 28, 2 ** 28 - 1, 2 ** 53, 127, 128),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    number,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value")),
    fc.dictionary(fc.oneof(fc.constantFrom("kind", "state", "a", "__proto__", "0", "macAddress"), text), tie("value")),
  ),
}));

test("what comes out is what went in, whatever was packed before", () => {
  const packer = new Packer<unknown>(repeats);
  const earlier: { readonly packed: string; readonly json: string }[] = [];
  fc.assert(
    fc.property(value, (given) => {
      const json = JSON.stringify(given);
      const parsed: unknown = JSON.parse(json);
      const packed = packer.pack(parsed);
      expect(/^[\0-\u00ff]*$/.test(packed)).toBe(true);
      const out = packer.unpack(packed);
      expect(JSON.stringify(out)).toBe(json);
      expect(out).toStrictEqual(parsed);
      earlier.push({ packed, json });
    }),
    { numRuns: 500 },
  );
  for (const { packed, json } of earlier) expect(JSON.stringify(packer.unpack(packed))).toBe(json);
});

test("a minus zero, a missing value and a field that is called __proto__ stay what they are", () => {
  const packer = new Packer<unknown>(repeats);
  const again = (given: unknown) => packer.unpack(packer.pack(given));
  expect(Object.is(again(-0), -0)).toBe(true);
  expect(again({ a: undefined })).toStrictEqual({ a: undefined });
  const odd = again(JSON.parse('{"__proto__":{"polluted":1}}')) as object;
  expect(Object.getPrototypeOf(odd)).toBe(Object.prototype);
  expect(Object.keys(odd)).toEqual(["__proto__"]);
  expect("polluted" in odd).toBe(false);
});

test("tables are bounded: more texts, more and longer lists of fields than they take are packed as well", () => {
  const packer = new Packer<unknown>(repeats);
  for (let each = 0; each < 12_000; each++) {
    const given = { state: `state ${each}`, [`field${each}`]: each, ["x".repeat(each % 600)]: null };
    expect(packer.unpack(packer.pack(given))).toStrictEqual(given);
  }
  const long = { state: "s".repeat(100_000), list: Array.from({ length: 300 }, (_, index) => `é${index}ą`) };
  expect(packer.unpack(packer.pack(long))).toStrictEqual(long);
});

test("ten NICs that say the same as others take less than 30 bytes each", () => {
  const packer = new Packer<unknown>(new Set(["networkName", "state"]));
  const config = (at: number) => ({
    nics: Array.from({ length: 10 }, (_, nic) => ({
      networkName: "default/wide",
      macAddress: `02:00:00:00:${10 + at}:${10 + nic}`,
      allocatedIPAddress: `10.20.${at}.${nic}`,
      state: "Allocated",
    })),
  });
  packer.pack(config(0));
  expect(packer.pack(config(1)).length).toBeLessThan(300);
});
